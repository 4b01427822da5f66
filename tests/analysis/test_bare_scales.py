"""The values of a bare file say what they are; none is refused for its decimals."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from evalsite.analysis.__main__ import main
from evalsite.lib.bare_scales import read_scale

HEADER = ("participant", "item", "system", "value")


def write(folder: Path, values: list[Any], *, separator: str = ",") -> Path:
    """A file in which each of 4 raters gives two systems values, drawn from the list."""
    chance = random.Random(11)
    path = folder / "ratings.csv"
    lines = [HEADER] + [
        (f"r{rater}", f"i{item}", system, str(chance.choice(values)))
        for rater in range(4) for item in range(12) for system in "AB"
    ]  # fmt: skip
    path.write_text("\n".join(separator.join(line) for line in lines), encoding="utf-8")
    return path


def report(capsys: pytest.CaptureFixture[str], path: Path, *options: str) -> dict[str, Any]:
    assert main(["report", str(path), *options, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    return found


@pytest.mark.parametrize(
    ("values", "ends", "kind", "facts"),
    [
        ([1, 2, 5], None, "likert", ((1, 5), 1.0, True)),
        ([1, 2, 5], (1, 7), "likert", ((1, 7), 1.0, False)),
        ([1, 1.5, 5], None, "likert", ((1, 5), 0.5, True)),
        ([0, 10.5], None, "likert", ((0, 10.5), 0.5, True)),
        ([0, 11.5], None, "number", (None, 1.0, False)),
        ([1.25, 3], None, "number", (None, 1.0, False)),
        ([1.25, 3], (1, 5), "slider", ((1, 5), 1.0, False)),
        ([-1, 0, 1], None, "number", (None, 1.0, False)),
        ([-1, 0, 1], (-3, 3), "likert", ((-3, 3), 1.0, False)),
        (list(range(1, 12)), None, "likert", ((1, 11), 1.0, True)),
        (list(range(1, 13)), None, "number", (None, 1.0, False)),
        (list(range(1, 13)), (0, 100), "slider", ((0, 100), 1.0, False)),
        ([0, 50, 100], None, "number", (None, 1.0, False)),
        ([0, 1], None, "decision", ((0, 1), 1.0, False)),
        ([0, 1], (0, 5), "likert", ((0, 5), 1.0, False)),
    ],
)
def test_values_say_what_they_are(values, ends, kind, facts):
    scale = read_scale("style", values, ends=ends)

    assert (scale.kind, (scale.ends, scale.step, scale.is_range_found)) == (kind, facts)


def test_values_outside_the_scale_are_refused():
    with pytest.raises(ValueError, match="from 1 to 9, outside the scale from 1 to 7"):
        read_scale("style", [1, 9], ends=(1, 7))


def test_half_points_are_points(tmp_path, capsys):
    path = write(tmp_path, [1, 1.5, 2, 3.5, 5])

    (criterion,) = report(capsys, path)["criteria"]

    assert [answer["value"] for answer in criterion["answers"]] == [
        1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5
    ]  # fmt: skip
    counts = criterion["systems"][0]["counts"]
    assert list(counts) == ["1", "1.5", "2", "2.5", "3", "3.5", "4", "4.5", "5"]
    assert sum(counts.values()) == 48
    assert {"alpha_ordinal", "ac2"} <= {figure["name"] for figure in criterion["agreement"]}


def test_decimals_are_numbers_without_bounds(tmp_path, capsys):
    path = write(tmp_path, [0.25, 1.37, 2.8, 3.141])

    found = report(capsys, path)

    (criterion,) = found["criteria"]
    assert (criterion["kind"], criterion["better"]) == ("number", "none")
    assert "no_direction" in [warning["code"] for warning in found["warnings"]]
    assert criterion["agreement"][0]["name"] == "alpha_interval"
    assert "ac2" not in [figure["name"] for figure in criterion["agreement"]]
    first = criterion["systems"][0]
    assert [first["rank"], first["cluster"], first["counts"]] == [None, None, None]
    assert [each["name"] for each in first["others"]] == [
        "median", "first_quartile", "third_quartile"
    ]  # fmt: skip
    edges, counts = criterion["histogram"]["edges"], criterion["histogram"]["counts"]
    assert (edges[0] <= 0.25, edges[-1] >= 3.141) == (True, True)
    assert {system: sum(number) for system, number in counts.items()} == {"A": 48, "B": 48}
    assert criterion["pairs"][0]["effect"]["details"]["p"] is not None


@pytest.mark.torture
def test_numbers_with_bounds_have_the_shares_at_both_ends(tmp_path, capsys):
    path = write(tmp_path, [0, 0, 33.3, 50, 100])

    (criterion,) = report(capsys, path, "--scale", "0-100")["criteria"]

    first = criterion["systems"][0]
    shares = {each["name"]: each["value"] for each in first["others"]}
    rows = [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    own = [float(row[3]) for row in rows if row[2] == first["system"]]
    assert (criterion["kind"], criterion["range"]) == ("slider", [0, 100])
    assert shares["share_at_low"] == pytest.approx(own.count(0) / len(own))
    assert shares["share_at_high"] == pytest.approx(own.count(100) / len(own))


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("values", "family"), [([-2, -1, 0, 2], "points"), (["yes", "No", "no"], "decision")]
)
def test_files_separated_by_tabs_are_read(tmp_path, capsys, values, family):
    path = write(tmp_path, values, separator="\t")

    found = report(capsys, path)

    assert (found["data"]["ratings"], found["criteria"][0]["family"]) == (96, family)


def test_words_among_numbers_are_no_decisions(tmp_path, capsys):
    assert main(["report", str(write(tmp_path, ["yes", 3]))]) == 2
    error = capsys.readouterr().err
    assert "in column value isn't a number" in error
    assert "--protocol choice" in error


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("protocol", "values", "families"),
    [
        ("slider", [0, 20, 45, 100], ["points"]),
        ("number", [1, 2, 3], ["points"]),
        ("choice", ["red", "green", "blue"], ["decision"] * 3),
    ],
)
def test_every_kind_of_the_site_can_be_named(tmp_path, capsys, protocol, values, families):
    found = report(capsys, write(tmp_path, values), "--protocol", protocol)["criteria"]

    assert [criterion["kind"] for criterion in found] == [protocol] * len(families)
    assert [criterion["family"] for criterion in found] == families


def test_options_of_a_choice_have_shares_and_no_ranks(tmp_path, capsys):
    path = write(tmp_path, ["red", "green", "blue"])

    found = report(capsys, path, "--protocol", "choice")["criteria"]

    assert [criterion["key"] for criterion in found] == [
        "rating__blue", "rating__green", "rating__red"
    ]  # fmt: skip
    rows = [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    share = sum(row[2:] == ["A", "blue"] for row in rows) / 48
    by_system = {each["system"]: each for each in found[0]["systems"]}
    assert by_system["A"]["headline"]["value"] == pytest.approx(share)
    assert all(system["rank"] is None for criterion in found for system in criterion["systems"])


@pytest.mark.one_case
@pytest.mark.parametrize(
    ("values", "line"),
    [
        ([1, 2, 5], "Read as points from 1 to 5 (the range found); give --scale if it is wider."),
        (
            [1, 2.5, 5],
            "Read as points from 1 to 5 in steps of 0.5 (the range found); give --scale if "
            "it is wider.",
        ),
        ([1, 2.25], "Read as numbers without bounds; give --scale if the scale has ends."),
    ],
)
def test_the_report_says_how_values_were_read(tmp_path, capsys, values, line):
    assert main(["report", str(write(tmp_path, values))]) == 0

    assert f": {line}" in capsys.readouterr().out
