"""Every row of the list of bad input has a test that names its number."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAME = re.compile(r"^(?:async )?def test_bad((?:_[0-9]{2,3})+)_[a-z]", re.M)

# rows of what stands so far; a later part of the product adds its own
ROWS = {
    *range(1, 70), *range(72, 85), 85, 86, 88, *range(91, 101),
}  # fmt: skip


def rows_of(*sources: str) -> set[int]:
    return {
        int(number)
        for source in sources
        for found in NAME.finditer(source)
        for number in found[1].strip("_").split("_")
    }


def test_no_row_of_the_list_of_bad_input_lacks_its_test() -> None:
    files = [*ROOT.glob("tests/**/test_*.py"), *ROOT.glob("protocols/*/tests.py")]

    found = rows_of(*(file.read_text(encoding="utf-8") for file in files))

    assert sorted(ROWS - found) == []


@pytest.mark.parametrize(
    ("source", "rows"),
    [
        ("def test_bad_08_nul_is_refused():", {8}),
        ("def test_bad_22_23_markup_and_formulas():", {22, 23}),
        ("# def test_bad_08_nul_is_refused():", set()),
        ("def check_bad_08_nul():", set()),
        ("def test_bad_8_nul():", set()),
    ],
)
def test_rows_are_read_from_names_of_tests_alone(source: str, rows: set[int]) -> None:
    assert rows_of(source) == rows
