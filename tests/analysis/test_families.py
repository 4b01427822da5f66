"""A kind of question that the analysis never heard of is analysed as the family it names."""

import csv
import json
import random
from pathlib import Path
from typing import Any

import pytest

from evalsite.analysis.__main__ import main
from evalsite.analysis.families import FAMILIES, find_family, get_numbers
from evalsite.analysis.report import Settings, make_reports
from evalsite.analysis.report.replication import make_repetition, read_side
from evalsite.results.replication.tables import write_note

Row = dict[str, Any]

EFFORT = {
    "key": "effort", "label": "Effort", "kind": "slider", "family": "points", "answers": [],
    "reserved": [], "minimum": 0, "maximum": 100,
}  # fmt: skip
POINTS = [{"value": value, "label": ""} for value in range(1, 8)]
QUALITY = {"key": "quality", "label": "Quality", "kind": "likert", "answers": POINTS}
DECISION = {
    "key": "decision", "label": "Decision", "kind": "decision",
    "answers": [{"value": 0, "label": "no"}, {"value": 1, "label": "yes"}],
}  # fmt: skip


def slide(criterion: str = "effort", scale: str = "slider", **more: Any) -> list[Row]:
    """Ratings from 0 to 100 of two systems, of which A is the better one."""
    chance = random.Random(4)
    return [
        {
            "participant": f"p{rater}", "item": f"i{item}", "system": system,
            "annotation": f"{rater}-{item}", "output_id": f"i{item}#{system}",
            "criterion": criterion, "scale": scale, "scale_min": 0, "scale_max": 100,
            "value": min(100, max(1, round(better + chance.gauss(50, 15)))), **more,
        }
        for rater in range(6)
        for item in range(12)
        for system, better in (("A", 20), ("B", 0))
    ]  # fmt: skip


def write(folder: Path, rows: list[Row]) -> Path:
    path = folder / "ratings.csv"
    names = dict.fromkeys(name for row in rows for name in row)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(names), restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    """The report of the bare command."""
    assert main(["report", *map(str, arguments), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    return found


def codes(report: dict[str, Any]) -> list[str]:
    return [one["code"] for one in report["warnings"]]


# --- what the caller names ----------------------------------------------------------------


def test_a_slider_is_analysed_as_points_between_its_ends(tmp_path):
    path = write(tmp_path, slide())

    made = make_reports({"ratings": path}, Settings(instrument=[EFFORT], seed=3))

    (criterion,) = made["kept"]["criteria"]
    assert (criterion["kind"], criterion["family"]) == ("slider", "points")
    assert (criterion["answers"], criterion["range"]) == ([], [0, 100])
    assert [one["headline"]["name"] for one in criterion["systems"]] == ["mean", "mean"]
    names = [one["name"] for one in criterion["agreement"]]
    assert names[0] == "alpha_interval"
    assert not {"alpha_ordinal", "ac2"} & set(names)
    shown = {one["name"] for one in criterion["systems"][0]["others"]}
    assert shown == {"median", "first_quartile", "third_quartile", "share_at_low", "share_at_high"}
    assert criterion["histogram"]["edges"] == [10 * edge for edge in range(11)]
    (pair,) = criterion["pairs"]
    assert (pair["effect"]["name"], pair["finding"]["code"]) == ("difference", "higher")
    assert json.loads(json.dumps(made, allow_nan=False)) == made


@pytest.mark.torture
def test_means_of_a_slider_stay_between_its_ends(tmp_path):
    rows = [row | {"value": 100 if row["item"] < "i3" else 97} for row in slide()]

    made = make_reports({"ratings": write(tmp_path, rows)}, Settings(instrument=[EFFORT], seed=3))

    (criterion,) = made["kept"]["criteria"]
    ends = [one["high"] for system in criterion["systems"] for one in system["averages"]
            if one["name"] == "model_mean" and one["high"] is not None]  # fmt: skip
    assert all(high <= 100 for high in ends)


@pytest.mark.one_case
@pytest.mark.parametrize(("rise", "flagged"), [(4, set()), (30, {"p0"})])
def test_drift_on_a_slider_is_measured_by_its_width(tmp_path, rise, flagged):
    rows = [
        row | {"trial": trial, "value": 30 + trial % 2 + round(rise * trial / 24 * (rater == 0))}
        for rater in range(6)
        for trial, row in enumerate(slide()[rater * 24 : (rater + 1) * 24])
    ]

    made = make_reports({"ratings": write(tmp_path, rows)}, Settings(instrument=[EFFORT], seed=3))

    found = made["kept"]["raters"]["rows"]
    drifting = {row["participant"] for row in found for flag in row["flags"]
                if flag["code"] == "drift_trial"}  # fmt: skip
    assert drifting == flagged


@pytest.mark.torture
@pytest.mark.slow
def test_a_slider_is_set_beside_points_and_decisions(tmp_path):
    quality = [row | {"value": 1 + row["value"] // 17, "scale_min": 1, "scale_max": 7}
               for row in slide("quality", "likert")]  # fmt: skip
    accept = [row | {"value": int(row["value"] > 55), "scale_max": 1}
              for row in slide("decision", "decision")]  # fmt: skip
    path = write(tmp_path, [*slide(), *quality, *accept])

    made = make_reports({"ratings": path}, Settings(instrument=[EFFORT, QUALITY, DECISION], seed=3))

    together = made["kept"]["together"]
    assert [one["details"]["criteria"] for one in together["correlations"]] == [
        ["effort", "quality"]
    ]
    assert together["decision"]


@pytest.mark.torture
def test_two_studies_with_a_slider_are_compared(tmp_path):
    path = write(tmp_path, slide())
    annotations = tmp_path / "annotations.csv"
    annotations.write_text(
        "item,participant,kind,status,outcome,excluded,gold_agrees\n", encoding="utf-8"
    )
    paths = {"ratings": path, "annotations": annotations}
    report = make_reports(paths, Settings(instrument=[EFFORT], seed=3))["kept"]

    side = read_side(paths, report)
    found = make_repetition((side, side), instrument=[EFFORT], seed=3)

    (criterion,) = found["criteria"]
    assert criterion["upheld"]["value"] == 1
    assert "begins at 0 already" in " ".join(map(write_note, criterion["notes"]))


def test_an_unknown_kind_without_a_family_is_refused():
    with pytest.raises(LookupError, match="dial"):
        find_family({"key": "effort", "kind": "dial"})


def test_a_family_nobody_has_is_refused():
    with pytest.raises(LookupError, match="points, magnitude"):
        find_family({"kind": "slider", "family": "colours"})


@pytest.mark.parametrize("kind", ["likert", "slider", "magnitude", "decision", "preference"])
def test_usual_kinds_need_no_family(kind):
    assert find_family({"kind": kind}) is find_family({"kind": kind, "family": ""})


@pytest.mark.parametrize(
    "name", [one.name for one in FAMILIES.values() if one.is_analysed and not one.splits]
)
def test_every_family_has_numbers_of_its_own(name):
    assert get_numbers(FAMILIES[name]).family is FAMILIES[name]


# --- what the bare command takes it for -----------------------------------------------------


def test_the_command_takes_unknown_numbers_for_points_and_says_so(tmp_path, capsys):
    report = run(capsys, write(tmp_path, slide(scale="dial")))

    (criterion,) = report["criteria"]
    assert (criterion["kind"], criterion["family"]) == ("dial", "points")
    assert criterion["range"] == [0, 100]
    assert codes(report)[0] == "unknown_kind"


@pytest.mark.torture
@pytest.mark.slow
def test_the_command_finds_what_the_site_would_find(tmp_path, capsys):
    path = write(tmp_path, slide())
    site = make_reports({"ratings": path}, Settings(instrument=[EFFORT], seed=3))["kept"][
        "criteria"
    ][0]

    (bare,) = run(capsys, path, "--seed", 3)["criteria"]

    assert bare | {"label": "Effort"} == site


def test_unknown_numbers_with_a_standard_are_magnitudes(tmp_path, capsys):
    report = run(capsys, write(tmp_path, slide(scale="dial", standard=100)))

    assert report["criteria"][0]["family"] == "magnitude"
    assert codes(report)[0] == "unknown_kind"


def test_numbers_that_have_no_logarithm_are_no_magnitudes(tmp_path, capsys):
    rows = slide(scale="dial", standard=100)
    rows[0]["value"] = 0

    assert run(capsys, write(tmp_path, rows))["criteria"][0]["family"] == "points"


def test_unknown_comparisons_are_preferences(tmp_path, capsys):
    rows = [
        {
            "participant": f"p{rater}", "item": f"i{item}", "criterion": "best", "scale": "graded",
            "value": 1, "system_1": "A", "system_2": "B", "outcome": "1" if item % 3 else "2",
            "preferred": "A" if item % 3 else "B",
        }
        for rater in range(5)
        for item in range(9)
    ]  # fmt: skip

    report = run(capsys, write(tmp_path, rows))

    assert report["criteria"][0]["family"] == "preference"
    assert report["criteria"][0]["pairs"][0]["counts"] == {"wins": 30, "ties": 0, "losses": 15}


def test_what_the_command_is_told_is_no_guess(tmp_path, capsys):
    report = run(capsys, write(tmp_path, slide(scale="dial")), "--protocol", "magnitude")

    assert report["criteria"][0]["family"] == "magnitude"
    assert "unknown_kind" not in codes(report)
