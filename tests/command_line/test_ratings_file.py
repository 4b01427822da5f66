"""evalsite report takes ratings in the forms that people have them."""

from pathlib import Path
from typing import Any

import pytest

from evalsite.command_line.main import run_command
from tests.command_line.test_results import run_json
from tests.support.published import published_file

ROWS = [
    ("w1", "a", "x", "3,5", "4"), ("w1", "a", "y", "2,0", "3"), ("w1", "b", "x", "4,0", "NA"),
    ("w1", "b", "y", "1,5", "2"), ("w2", "a", "x", "3,0", "4"), ("w2", "a", "y", "2,5", "3"),
    ("w2", "b", "x", "4,5", "5"), ("w2", "b", "y", "1,0", "2"),
]  # fmt: skip
HEADER = ("Prüfer", "item", "system", "fluency", "adequacy")


def find_means(report: dict[str, Any], criterion: str) -> dict[str, float]:
    """Return the mean of each system."""
    (of_criterion,) = [part for part in report["criteria"] if part["key"] == criterion]
    return {system["system"]: system["headline"]["value"] for system in of_criterion["systems"]}


def write(path: Path, separator: str, encoding: str) -> Path:
    lines = [separator.join(cells) for cells in (HEADER, *ROWS)]
    path.write_bytes("\n".join(lines).encode(encoding))
    return path


@pytest.mark.parametrize(
    ("separator", "encoding"), [(";", "utf-8"), (";", "cp1252"), ("\t", "utf-16")]
)
def test_a_file_with_decimal_commas_is_read(tmp_path, capsys, separator, encoding):
    path = write(tmp_path / "ratings.csv", separator, encoding)

    code, document = run_json(capsys, "report", path, "--map", "Prüfer=participant")

    assert code == 0
    # by hand: (3.5 + 4 + 3 + 4.5) / 4 and (2 + 1.5 + 2.5 + 1) / 4
    assert find_means(document["report"], "fluency") == {"x": 3.75, "y": 1.75}
    # of x one rating is NA: (4 + 4 + 5) / 3
    assert find_means(document["report"], "adequacy")["x"] == pytest.approx(13 / 3)


def test_reviews_nested_in_stories_give_the_published_means(tmp_path, capsys):
    """SQuALITY prints 18.1, 27.9 and 91.3; its file has the means of all 900 reviews."""
    path = tmp_path / "all-responses.jsonl"
    path.write_bytes(published_file("squality/all-responses.jsonl").read_bytes())
    reviews = "questions.{item}.{system}.reviews[*]"

    code, document = run_json(
        capsys, "report", path, "--independent", "--map", "passage-id=item",
        "--map", f"{reviews}.worker_id=participant",
        "--map", f"{reviews}.overall-rating=value:overall",
    )  # fmt: skip

    assert code == 0
    means = {key: round(mean, 3) for key, mean in find_means(document["report"], "overall").items()}
    assert means == {"bart": 18.137, "bart-dpr": 27.913, "human": 91.26}


@pytest.mark.parametrize("content", [b"<?xml version='1.0'?><a/>", b"\x80\x04\x95abc", b"%PDF-1.7"])
def test_what_is_no_table_is_named(tmp_path, content):
    path = tmp_path / "ratings.csv"
    path.write_bytes(content)

    assert run_command(["report", str(path)]) == 3


def test_a_column_that_the_file_lacks_is_named(tmp_path, capsys):
    path = tmp_path / "ratings.csv"
    path.write_text("participant,item,value\np,a,1\np,b,2\n")

    assert run_command(["report", str(path), "--map", "score=value"]) == 3
    assert "score" in capsys.readouterr().err


def test_missing_ratings_are_counted_in_a_plain_file(tmp_path, capsys):
    rows = [f"{p},{i},{s},{v}" for p in "pq" for i in "ab" for s, v in (("x", "4"), ("y", "2"))]
    path = tmp_path / "ratings.csv"
    path.write_text(
        "\n".join(["participant,item,system,value", *rows]).replace("p,b,y,2", "p,b,y,NA")
    )

    code, document = run_json(capsys, "report", path)

    assert code == 0
    assert find_means(document["report"], "rating") == {"x": 4, "y": 2}
