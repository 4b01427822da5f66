"""Scores that go back to tools: what the import kept joins them, and the files say what to set."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import CommandError
from django.urls import reverse

from evalsite.data.files.ways_back import WAYS
from evalsite.data.files.ways_back.scores import write_scores
from evalsite.data.management.commands.export_bundle import export_scores
from evalsite.decisions.models import Exclusion
from evalsite.people.models import Participant
from evalsite.studies.models import Item, Study
from tests.site.test_staff_pages import member
from tests.support.datasets import (
    GIVING_OUT,
    Row,
    import_from_tool,
    make_compared,
    make_rated,
    rate_as_in_the_example,
    read_lines,
)
from tests.support.factories import FIXTURES, make_annotator
from tests.support.spans import answer_spans, make_spans_study

pytestmark = pytest.mark.django_db
INSPECT = [GIVING_OUT / f"inspect/{name}.json" for name in ("alpha", "beta")]
OF_INSPECT = {"mockllm/alpha": "alpha", "mockllm/beta": "beta"}


@pytest.fixture(autouse=True)
def data(settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path


def write(study: Study, file: str, pass_from: float = 0.5) -> str:
    target = io.BytesIO()
    written = write_scores(study, WAYS[file], target, pass_from=pass_from)
    text = target.getvalue().decode()
    assert written.rows == text.count("\n") - (WAYS[file].ending == "csv")
    return text


def read_rows(study: Study, file: str, **options: Any) -> list[Row]:
    return list(csv.DictReader(io.StringIO(write(study, file, **options), newline="")))


def read_expected(name: str) -> list[Row]:
    with (GIVING_OUT / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def make_inspected() -> Study:
    study = import_from_tool(*INSPECT)
    rate_as_in_the_example(study, OF_INSPECT)
    return study


@pytest.mark.both_databases
def test_edits_for_inspect_are_those_of_the_example() -> None:
    study = make_inspected()

    rows = [json.loads(line) for line in write(study, "inspect_scores").splitlines()]

    expected = read_lines(GIVING_OUT / "inspect_scores.jsonl")
    for row in [*rows, *expected]:
        del row["edit"]["metadata"]["study"], row["edit"]["provenance"]["metadata"]
        del row["edit"]["provenance"]["timestamp"]
    by_sample = lambda row: (row["model"], row["sample_id"])  # noqa: E731
    assert sorted(rows, key=by_sample) == sorted(expected, key=by_sample)


@pytest.mark.parametrize("sample_id", [1, "1", "001", "s 1", "null"])
def test_ids_of_samples_stay_numbers_or_texts(sample_id: int | str, tmp_path: Path) -> None:
    log = json.loads(INSPECT[0].read_bytes())
    log["samples"] = log["samples"][:1]
    log["samples"][0]["id"] = sample_id
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log), encoding="utf-8")
    study = import_from_tool(path)
    rate_as_in_the_example(study, OF_INSPECT)

    (row,) = [json.loads(line) for line in write(study, "inspect_scores").splitlines()]

    assert row["sample_id"] == sample_id
    assert type(row["sample_id"]) is type(sample_id)


def test_an_epoch_that_is_no_number_counts_as_the_first() -> None:
    study = make_inspected()
    for item in study.items.main():
        item.extra["epoch"] = "last"
        item.save(update_fields=["extra"])

    rows = [json.loads(line) for line in write(study, "inspect_scores").splitlines()]

    assert {row["epoch"] for row in rows} == {1}


def test_scores_for_promptfoo_are_those_of_the_example() -> None:
    study = import_from_tool(GIVING_OUT / "promptfoo/results.json")
    rate_as_in_the_example(study, {"alpha": "alpha", "beta": "beta"})

    rows = read_rows(study, "promptfoo_scores", pass_from=0.7)

    by_place = lambda row: (row["promptIdx"], row["testIdx"])  # noqa: E731
    expected = read_expected("promptfoo_scores.csv")
    assert sorted(rows, key=by_place) == sorted(expected, key=by_place)
    passed = [row["pass"] for row in read_rows(study, "promptfoo_scores", pass_from=0.9)]
    assert passed.count("true") == 2


def test_lower_scores_are_turned_for_promptfoo() -> None:
    study = import_from_tool(GIVING_OUT / "promptfoo/results.json", better="lower")
    rate_as_in_the_example(study, {"alpha": "alpha"})

    scores = [float(row["score"]) for row in read_rows(study, "promptfoo_scores")]

    assert scores == [0.1667, 0.1667, 0.4167]


def test_penalties_go_back_to_tools_whose_scores_have_no_upper_bound() -> None:
    study = make_spans_study(items=1, systems="D")
    ids = {"trace_id": "t1", "eval_id": "e1", "id": "1", "testIdx": "0", "promptIdx": "0"}
    study.items.update(extra=ids)
    for severity in ("major", "minor"):
        mark = {"start": 0, "end": 3, "category": "style", "severity": severity}
        answer_spans(make_annotator(study), study.items.get(), [mark])

    rows = read_rows(study, "langfuse_scores")
    edit = json.loads(write(study, "inspect_scores"))["edit"]
    with pytest.raises(ValidationError) as refused:
        write(study, "promptfoo_scores")

    assert [(row["name"], row["value"]) for row in rows] == [
        ("human_errors", "5"), ("human_errors", "1"),
    ]  # fmt: skip
    assert (edit["value"], edit["metadata"]["scale_max"]) == (3, None)
    assert refused.value.code == "no_scores"
    assert "promptfoo" in refused.value.message


def test_scores_beside_samples_of_the_harness(tmp_path: Path) -> None:
    harness = FIXTURES / "tool_outputs/lm_eval"
    study = import_from_tool(harness)
    systems = sorted(study.systems.values_list("name", flat=True))
    rate_as_in_the_example(study, dict(zip(systems, ("alpha", "beta"), strict=True)))

    rows = [json.loads(line) for line in write(study, "lm_eval_scores").splitlines()]

    assert [*rows[0]] == [*read_lines(GIVING_OUT / "lm_eval_scores.jsonl")[0]]
    assert {row["task"] for row in rows} == {"reading_shared"}
    samples = {
        (path.parent.name.replace("__", "/"), sample["doc_id"]): sample["doc_hash"]
        for path in harness.rglob("samples_*.jsonl")
        for sample in read_lines(path)
    }
    for row in rows:
        assert row["doc_hash"] == samples[row["model"], row["doc_id"]]
    assert sorted(row["human_fluency"] for row in rows) == [
        3.3333,
        3.6667,
        *[4.3333] * 2,
        *[4.6667] * 2,
    ]


def make_traced(name: str, trace: str) -> Study:
    """A study with one conversation in it, rated by three."""
    study = import_from_tool(FIXTURES / "getting_in" / name / trace)
    rate_as_in_the_example(study, {"alpha": "alpha", "beta": "beta"})
    return study


def test_every_rating_is_a_score_of_its_trace_in_langfuse() -> None:
    study = make_traced("t_langfuse_observations", "langfuse_observations.json")

    rows = read_rows(study, "langfuse_scores")

    observations = json.loads(
        (FIXTURES / "getting_in/t_langfuse_observations/langfuse_observations.json").read_bytes()
    )
    systems = {step["traceId"]: step["metadata"]["system"] for step in observations}
    assert [*rows[0]] == [*read_expected("langfuse_scores.csv")[0]]
    assert {row["trace_id"] for row in rows} <= systems.keys()
    assert {row["observation_id"] for row in rows} == {""}
    values = [float(row["value"]) for row in rows if systems[row["trace_id"]] == "alpha"]
    assert values[:3] == [4, 4, 5]
    assert len({row["score_id"] for row in rows}) == len(rows)
    assert {json.loads(row["metadata"])["rater"] for row in rows} == {"P7KQ", "P9MX", "PB3T"}
    # sent twice, they are the same scores
    assert read_rows(study, "langfuse_scores") == rows


def test_every_rating_is_feedback_on_the_root_run_in_langsmith() -> None:
    study = make_traced("t_langsmith_runs", "langsmith_runs.jsonl")

    rows = read_rows(study, "langsmith_feedback")

    runs = read_lines(FIXTURES / "getting_in/t_langsmith_runs/langsmith_runs.jsonl")
    roots = {run["id"] for run in runs if not run.get("parent_run_id")}
    assert [*rows[0]] == [*read_expected("langsmith_feedback.csv")[0]]
    assert {row["run_id"] for row in rows} <= roots
    assert {row["key"] for row in rows} == {"human_fluency"}
    assert len({row["feedback_id"] for row in rows}) == len(rows)
    assert read_rows(study, "langsmith_feedback") == rows


def test_a_column_of_ids_serves_as_well_as_a_file_of_the_tool() -> None:
    study = make_rated()
    for item in Item.objects.main().filter(study=study):
        item.extra |= {"observation_id": f"o-{item.pk}"}
        item.save()

    rows = read_rows(study, "langfuse_scores")

    assert len(rows) == 26
    assert {row["trace_id"] for row in rows} == {""}
    assert all(row["observation_id"].startswith("o-") for row in rows)


def test_excluded_answers_and_people_who_do_not_share_are_in_no_score() -> None:
    study = make_inspected()
    study.asks_to_share = True
    Participant.objects.filter(study=study, pseudonym="P7KQ").update(may_share=False)
    rater = study.participants.get(pseudonym="P9MX")
    Exclusion.objects.create(study=study, participant=rater, reason="too fast")

    rows = [json.loads(line) for line in write(study, "inspect_scores").splitlines()]

    assert {row["edit"]["metadata"]["n"] for row in rows} == {1}
    assert {row["edit"]["value"] for row in rows} == {4, 5}


@pytest.mark.parametrize("file", WAYS)
def test_a_batch_from_no_tool_has_no_file_and_the_page_says_so(file: str) -> None:
    study = make_rated()
    client = member(study, "owner")

    page = client.get(reverse("admin:files-all", args=[study.pk]))
    posted = client.post(reverse("admin:export-scores", args=[study.pk, file]))

    assert page.context["ways"] == []
    assert all(way.tool in page.context["without"] for way in WAYS.values())
    assert posted.status_code == 302
    with pytest.raises(ValidationError) as error:
        write(study, file)
    assert error.value.code == "no_scores"


def test_a_study_without_a_number_for_one_output_says_so() -> None:
    page = member(study := make_compared(), "owner").get(
        reverse("admin:files-all", args=[study.pk])
    )

    assert page.context["no_scores"]
    assert page.context["no_scores"] in page.text


@pytest.mark.both_databases
@pytest.mark.parametrize("role", ["viewer", "editor", "owner"])
def test_page_offers_the_file_of_the_tool_and_the_script(role: str) -> None:
    study = make_inspected()
    client = member(study, role)

    page = client.get(reverse("admin:files-all", args=[study.pk]))
    sent = client.post(reverse("admin:export-scores", args=[study.pk, "inspect_scores"]))
    script = client.get(reverse("admin:export-scores-script", args=[study.pk]))

    assert [(way.file, items) for way, items in page.context["ways"]] == [("inspect_scores", 6)]
    assert len(sent.getvalue().splitlines()) == 6
    assert sent["Content-Disposition"] == 'attachment; filename="a-study_inspect_scores.jsonl"'
    compile(script.text, "scores_back.py", "exec")


def test_command_writes_the_scores_and_leaves_no_half_a_file(tmp_path: Path) -> None:
    study = make_inspected()

    path, written = export_scores(study, "inspect_scores", tmp_path / "scores.jsonl", 0.5)

    assert written.rows == len(read_lines(path)) == 6
    for file in ("promptfoo_scores", "unknown"):
        with pytest.raises(CommandError):
            export_scores(study, file, tmp_path / "other", 0.5)
    assert not (tmp_path / "other").exists()
