"""A judge's certificate: made from a study, checked on fresh items, and when it lapses."""

import csv
import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command

from evalsite.command_line.main import run_command
from evalsite.data.files.services import Choice, write_file
from evalsite.data.models import Judge
from evalsite.lib.clock import now
from evalsite.results.judges.certificate import (
    HOLDS_FOR,
    FaultyCertificate,
    find_lapses,
    make_certificate,
    read_certificate,
    write_certificate,
)
from evalsite.results.report.computation import compute_report
from evalsite.studies.models import Study
from tests.support.factories import SYSTEMS, launch, make_study

pytestmark = pytest.mark.django_db
PROMPT = "Score how much of the meaning is in the text."


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def write_files(folder: Path, items: list[str], *, seed: int, noise: float) -> tuple[Path, Path]:
    """Scores of four people and of a judge, whose errors have this spread."""
    draw = np.random.default_rng(seed)
    ratings, labels = [], []
    for item in items:
        for number, system in enumerate(SYSTEMS):
            true = 100 + 15 * number + draw.normal(0, 25)
            ratings += [
                {
                    "participant": f"person {person}", "item": item, "system": system,
                    "criterion": "informativeness",
                    "value": max(1, round(true + draw.normal(0, 12))), "standard": 100,
                }
                for person in range(4)
            ]  # fmt: skip
            labels.append({
                "item": item, "system": system, "criterion": "informativeness",
                "judge": "judge-a", "value": max(1, round(true + draw.normal(0, noise))),
            })  # fmt: skip
    return (
        write_rows(folder / f"ratings-{seed}.csv", ratings),
        write_rows(folder / f"labels-{seed}.csv", labels),
    )


@pytest.fixture
def judged(db: None, tmp_path: Path) -> Study:
    study = launch(make_study(items=30, k=4, language="en"))
    items = [f"item-{number:03}" for number in range(1, 31)]
    ratings, labels = write_files(tmp_path, items, seed=1, noise=12)
    call_command("import_ratings", str(study.pk), str(ratings), "--persons", "yes")
    call_command("import_judges", str(study.pk), str(labels))
    return study


def describe_judge(study: Study) -> Judge:
    judge = study.judges.get()
    judge.version, judge.prompt, judge.settings = "2026-10", PROMPT, "temperature 0"
    judge.prompt_sha256 = "a" * 64
    judge.judged_on = now().date()
    judge.save()
    return judge


def certify(study: Study, path: Path) -> dict[str, Any]:
    content = make_certificate(study, compute_report(study), describe_judge(study))
    path.write_bytes(write_certificate(content))
    return content


def check(path: Path, labels: Path, ratings: Path, *options: str) -> int:
    return run_command(["judge", "check", str(path), str(labels), str(ratings), *options])


def test_a_certificate_says_what_was_found_and_is_sealed(judged, tmp_path):
    path = tmp_path / "certificate.json"
    content = certify(judged, path)
    [question] = content["questions"]

    assert read_certificate(path) == content
    assert question["corrected"]["labelled"] == 30
    assert question["corrected"]["r"] > 0.5
    assert content["population"]["people"] == 4
    assert content["expires_on"] == (now().date() + HOLDS_FOR).isoformat()


def test_without_version_prompt_and_date_there_is_no_certificate(judged):
    report = compute_report(judged)
    with pytest.raises(ValidationError, match="version, prompt, date"):
        make_certificate(judged, report, judged.judges.get())


def test_the_same_judge_holds_on_fresh_items_and_another_lapses(judged, tmp_path, capsys):
    path = tmp_path / "certificate.json"
    certify(judged, path)
    items = [f"fresh-{number}" for number in range(1, 41)]

    ratings, labels = write_files(tmp_path, items, seed=2, noise=12)
    assert check(path, labels, ratings) == 0
    assert capsys.readouterr().out.startswith("Holds.")

    ratings, labels = write_files(tmp_path, items, seed=3, noise=400)
    assert check(path, labels, ratings, "--json") == 1
    told = json.loads(capsys.readouterr().out)
    assert told["outcome"] == "lapsed"
    assert told["reasons"] == ["informativeness"]


def test_too_few_items_decide_nothing(judged, tmp_path):
    path = tmp_path / "certificate.json"
    certify(judged, path)
    items = [f"fresh-{number}" for number in range(29)]
    ratings, labels = write_files(tmp_path, items, seed=2, noise=12)
    assert check(path, labels, ratings) == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("version", "2026-11"), ("settings", "temperature 1"), ("judge", "judge-b"),
        ("prompt_sha256", "b" * 64), ("instrument_sha256", "c" * 64),
    ],
)  # fmt: skip
def test_a_certificate_lapses_with_whatever_changes(judged, tmp_path, name, value):
    content = certify(judged, tmp_path / "certificate.json")
    used = dict(content["identity"])
    assert not list(find_lapses(content, used, today=now().date()))
    lapses = list(find_lapses(content, used | {name: value}, today=now().date()))
    assert [code for code, _ in lapses] == [name]


def test_a_certificate_expires(judged, tmp_path):
    content = certify(judged, tmp_path / "certificate.json")
    last = date.fromisoformat(content["expires_on"])
    assert not list(find_lapses(content, {}, today=last))
    after = list(find_lapses(content, {}, today=last + timedelta(days=1)))
    assert [code for code, _ in after] == ["expired"]


def test_the_labels_of_a_certificate_are_known_as_added_and_as_exported(judged, tmp_path, capsys):
    path, added = tmp_path / "certificate.json", tmp_path / "labels-1.csv"
    certify(judged, path)
    items = [f"fresh-{number}" for number in range(1, 41)]
    ratings, labels = write_files(tmp_path, items, seed=2, noise=12)
    exported, changed = tmp_path / "judge_labels.csv", tmp_path / "changed.csv"
    with exported.open("wb") as file:
        write_file(judged, Choice(file="judge_labels"), file)
    rows = list(csv.DictReader(exported.open(encoding="utf-8", newline="")))
    # another order of rows and another judge in the same file change nothing
    other = {**rows[0], "judge": "judge-b"}
    write_rows(exported, [*reversed(rows), other])
    rows[0]["value"] = str(float(rows[0]["value"]) + 1)
    write_rows(changed, rows)

    for file in (added, exported):
        assert check(path, labels, ratings, "--made-from", str(file)) == 0
        assert "labels that the certificate was made from" in capsys.readouterr().out
    for file in (changed, labels):
        assert check(path, labels, ratings, "--made-from", str(file), "--json") == 1
        assert json.loads(capsys.readouterr().out)["reasons"] == ["labels_sha256"]
    faulty = tmp_path / "picture.csv"
    faulty.write_bytes(b"\xff\xfe\x00")
    assert check(path, labels, ratings, "--made-from", str(faulty)) == 3
    assert check(path, labels, ratings, "--made-from", str(tmp_path / "none.csv")) == 3


def test_a_certificate_that_was_changed_is_refused(judged, tmp_path):
    path = tmp_path / "certificate.json"
    certify(judged, path)
    path.write_text(path.read_text(encoding="utf-8").replace("2026-10", "2026-11"), "utf-8")
    with pytest.raises(FaultyCertificate):
        read_certificate(path)
    ratings, labels = write_files(tmp_path, ["a", "b"], seed=2, noise=12)
    assert check(path, labels, ratings) == 3
