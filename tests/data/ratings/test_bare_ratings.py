"""Ratings that somebody has already: read, shown, and made a closed study."""

import gzip
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.core.exceptions import ValidationError

from evalsite.command_line.main import run_command
from evalsite.core.jobs.models import Job
from evalsite.data.models import KEEP_FOR, Upload
from evalsite.data.ratings.new_study import (
    CREATE_KIND,
    READ_KIND,
    TEXTS,
    begin_reading,
    create_study_of_ratings,
)
from evalsite.data.tables.reader import FileMapping
from evalsite.data.uploads import begin_check, keep_upload, prune_uploads
from evalsite.handout.models import Annotation, Rating
from evalsite.lib.clock import now
from evalsite.people.models import Origin, Participant
from evalsite.results.documents.datasheet import make_datasheet
from evalsite.results.models import Report
from evalsite.results.progress import count_edge
from evalsite.results.report.computation import start_analysis
from evalsite.studies.models import Batch, InstrumentVersion, Item, Output, Study
from tests.support.factories import make_user
from tests.support.queues import run_waiting_jobs
from tests.support.races import at_once
from tests.support.reported import list_answers

pytestmark = pytest.mark.django_db

FIXTURES = Path(__file__).parents[3] / "fixtures"
GERMAN = FIXTURES / "ratings" / "bewertungen.csv"
RANKME = FIXTURES / "ratings" / "stp1_rankME.csv"
SQUALITY = FIXTURES / "published" / "squality" / "all-responses.jsonl.gz"
HEADER = "participant,item,system,fluency\n"


def write_ratings(*items: str) -> str:
    return HEADER + "".join(
        f"{person},{item},{system},{value}\n"
        for person, shift in (("p", 0), ("q", 1))
        for item in items
        for system, value in (("x", 4 + shift), ("y", 2 - shift))
    )


RATED = write_ratings("a b", "ä")


@pytest.fixture(autouse=True)
def data_dir(settings: Any, tmp_path: Path) -> Path:
    settings.DATA_DIR = tmp_path
    return tmp_path


def upload(content: bytes | str, file_name: str = "ratings.csv", **mapping: Any) -> Upload:
    content = content.encode() if isinstance(content, str) else content
    by = make_user()
    kept = keep_upload(
        study=None, file_name=file_name, chunks=[content], by=by, purpose=Upload.Purpose.RATINGS
    )
    kept.mapping = FileMapping(**mapping)
    kept.save()
    begin_reading(kept, by=by)
    kept.refresh_from_db()
    return kept


def create(kept: Upload, **fields: Any) -> Study:
    fields = {"title": "Ratings", "has_persons": True, **fields}
    study = create_study_of_ratings(kept, by=kept.created_by, **fields)
    assert study is not None
    study.refresh_from_db()
    return study


def list_codes(kept: Upload, name: str = "faults") -> list[str]:
    return [part[0] for part in kept.report[name]]


def list_uses(kept: Upload) -> dict[str, str]:
    return {column["name"]: column["use"] for column in kept.report["columns"] if column["use"]}


def list_means(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        criterion["label"]: {
            system["system"]: pytest.approx(system["headline"]["value"], abs=1e-12)
            for system in criterion["systems"]
        }
        for criterion in report["criteria"]
    }


def list_agreement(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {
        criterion["label"]: {
            figure["name"]: None if figure["value"] is None else pytest.approx(figure["value"])
            for figure in criterion["agreement"]
        }
        for criterion in report["criteria"]
    }


# --- what is found --------------------------------------------------------------------------


def test_german_file_is_understood_without_a_choice() -> None:
    kept = upload(GERMAN.read_bytes(), "bewertungen.csv")

    report = kept.report
    assert report["faults"] == []
    assert (report["encoding"], report["delimiter"]) == ("Windows-1252", "semicolon")
    assert report["has_commas"]
    assert (report["ratings"], report["people"], report["systems"]) == (507, 3, ["A", "B"])
    assert list_uses(kept) == {
        "Satz": "item", "System": "system", "Bewerterin": "participant",
        "Flüssigkeit": "scale", "Bemerkung": "note",
    }  # fmt: skip
    # 85 items of two systems for three people, but for three cells
    assert report["missing"] == 3
    notes = {column["name"]: column["note"] for column in report["columns"]}
    assert notes["Flüssigkeit"].startswith("1 to 5 in steps of 0.5")
    assert not Study.objects.exists()


def test_file_is_read_in_another_way_if_somebody_says_so() -> None:
    kept = upload(GERMAN.read_bytes(), decisions={"decimal": "point"}, fields={"Bemerkung": ""})

    # “4,5” is a text then
    assert list_codes(kept) == []
    assert kept.report["has_commas"] is False
    assert list_uses(kept)["Flüssigkeit"] == "categories"
    assert "Bemerkung" not in list_uses(kept)


def test_separator_is_taken_as_it_was_chosen() -> None:
    kept = upload("rater;item;system;fluency\np;a,b;x;4\nq;a,b;x;5\n")
    wrong = upload("rater;item;system;fluency\np;a,b;x;4\n", decisions={"separator": "comma"})

    assert kept.report["items"] == 1
    assert kept.report["delimiter"] == "semicolon"
    assert wrong.report["delimiter"] == "comma"
    assert wrong.report["faults"]


PEOPLE = "Satz,System,Anna,Ben\n1,x,4,5\n1,y,2,1\n2,x,4,5\n2,y,2,1\n"
ITEMS_ACROSS = "Bewerterin,System,Satz 1,Satz 2\nAnna,x,4,4\nAnna,y,2,2\nBen,x,5,5\nBen,y,1,1\n"


@pytest.mark.parametrize(("text", "turn"), [(PEOPLE, "people"), (ITEMS_ACROSS, "items")])
def test_table_can_be_turned(text: str, turn: str) -> None:
    kept = upload(text, decisions={"turn": turn})

    assert kept.report["faults"] == []
    assert (kept.report["people"], kept.report["items"], kept.report["ratings"]) == (2, 2, 8)
    start_analysis(study=create(kept), by=None)
    run_waiting_jobs()
    # by hand: (4 + 5) / 2 and (2 + 1) / 2
    means = list_means(Report.objects.get().content["kept"])
    assert means == {"Rating": {"x": 4.5, "y": 1.5}}


# --- the study ------------------------------------------------------------------------------


def test_closed_study_is_made_with_half_points_as_a_scale_and_ids_as_they_are() -> None:
    study = create(upload(GERMAN.read_bytes(), "bewertungen.csv"))

    assert study.state == Study.State.CLOSED
    assert study.closed_at is not None
    (criterion,) = study.config.criteria
    assert criterion.label == "Flüssigkeit"
    assert criterion.scale.kind == "likert"
    values = [value for value, _label in criterion.scale.list_answers()]
    assert values == [1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5]
    assert Rating.objects.filter(criterion=criterion.key).count() == 507
    assert Annotation.objects.exclude(status=Annotation.Status.COUNTED).count() == 0
    assert Annotation.objects.exclude(note="").count() == 61
    people = Participant.objects.filter(study=study)
    assert {person.origin for person in people} == {Origin.IMPORTED}
    assert people.count() == 3
    assert Item.objects.filter(extra__source_id="Satz 1").count() == 2
    assert {*Output.objects.values_list("text", flat=True)} == {""}
    assert study.k == 3
    # three are missing, and none of them was planned
    edge = count_edge(study)
    assert (edge.done, edge.target) == (507, 507)


def test_results_are_computed_without_being_asked_for() -> None:
    study = create(upload(write_ratings("a b", "ä", "c", "d", "e")))
    run_waiting_jobs()

    report = Report.objects.get(study=study).content["kept"]
    # by hand: (4 + 5) / 2 and (2 + 1) / 2
    assert list_means(report) == {"fluency": {"x": 4.5, "y": 1.5}}
    sheet = make_datasheet(study, Report.objects.get())
    answers = {topic: text for part in list_answers(sheet).values() for topic, text in part.items()}
    # what nobody here can know stays open
    for topic in ("Question put to evaluators", "Consent text given to evaluators", "Payment"):
        assert answers[topic] is None


def run_report(capsys: Any, path: Path, *words: str) -> dict[str, Any]:
    assert run_command(["report", str(path), *words, "--json"]) == 0
    report: dict[str, Any] = json.loads(capsys.readouterr().out)["report"]
    return report


GERMAN_MAP = [
    word
    for pair in ("Satz=item", "Bewerterin=participant", "Flüssigkeit=value:Flüssigkeit")
    for word in ("--map", pair)
]


@pytest.mark.parametrize(
    ("source", "name", "words"),
    [
        (GERMAN, "bewertungen.csv", GERMAN_MAP),
        (RANKME, "stp1_rankME.csv", []),
        (SQUALITY, "all-responses.jsonl", []),
    ],
    ids=["german", "rankme", "squality"],
)
def test_figures_are_those_of_the_report_command(
    capsys: Any, settings: Any, tmp_path: Path, source: Path, name: str, words: list[str]
) -> None:
    settings.UPLOAD_JOB_BYTES = 10_000_000
    path = tmp_path / name
    content = source.read_bytes()
    path.write_bytes(gzip.decompress(content) if source.suffix == ".gz" else content)
    expected = run_report(capsys, path, *words)

    study = create(upload(path.read_bytes(), name))
    run_waiting_jobs()

    report = Report.objects.get(study=study).content["kept"]
    assert list_means(report) == list_means(expected)
    assert list_agreement(report) == list_agreement(expected)
    assert report["data"]["ratings"] == expected["data"]["ratings"]


def test_same_file_makes_one_study_however_often_it_is_asked_for() -> None:
    kept = upload(RATED)
    stale = Upload.objects.get(pk=kept.pk)

    first, again, late = create(kept), create(Upload.objects.get(pk=kept.pk)), create(stale)

    assert first == again == late
    assert Study.objects.count() == 1
    assert Rating.objects.count() == 8
    assert not kept.path.exists()


@pytest.mark.both_databases
@pytest.mark.django_db(transaction=True)
def test_two_clicks_at_one_moment_make_one_study() -> None:
    kept = upload(RATED)

    studies = at_once([partial(create, Upload.objects.get(pk=kept.pk)) for _ in range(2)])

    assert studies[0] == studies[1]
    assert Study.objects.count() == Batch.objects.count() == InstrumentVersion.objects.count() == 1
    assert Rating.objects.count() == 8


def test_nothing_is_kept_of_a_study_that_fails(monkeypatch: Any) -> None:
    kept = upload(RATED)

    def fail(**kwargs: Any) -> None:
        raise ValidationError("The disk is full.")

    monkeypatch.setattr("evalsite.data.ratings.new_study.close_as_collected", fail)
    with pytest.raises(ValidationError):
        create(kept)

    assert not Study.objects.exists()
    assert not Item.objects.exists()
    assert kept.path.exists()


def test_large_file_is_read_and_imported_by_jobs(settings: Any) -> None:
    settings.UPLOAD_JOB_BYTES = 10
    kept = upload(RATED)
    assert kept.report == {}

    run_waiting_jobs()
    kept.refresh_from_db()
    assert kept.report["ratings"] == 8
    by = kept.created_by
    assert create_study_of_ratings(kept, by=by, title="R", has_persons=True) is None
    assert create_study_of_ratings(kept, by=by, title="R", has_persons=True) is None
    run_waiting_jobs()

    kinds = {*Job.objects.filter(study_id=None).values_list("kind", flat=True)}
    assert kinds == {READ_KIND, CREATE_KIND}
    kept.refresh_from_db()
    assert kept.study == Study.objects.get()
    assert kept.study.state == Study.State.CLOSED


def test_file_is_kept_for_a_day() -> None:
    kept = upload(RATED)

    with time_machine.travel(now() + KEEP_FOR * 2):
        prune_uploads()

    assert not Upload.objects.filter(pk=kept.pk).exists()


# --- other kinds of answers -----------------------------------------------------------------


def test_categories_and_decisions_are_questions_of_their_own() -> None:
    rows = "".join(
        f"{person},{item},{system},{tone},{right}\n"
        for person in "pq"
        for item, tone, right in (("a", "warm", "yes"), ("b", "cold", "no"))
        for system in "xy"
    )
    kept = upload(
        f"participant,item,system,tone,right\n{rows}",
        fields={"tone": "value:tone", "right": "value:right"},
    )

    kinds = {asked.label: asked.scale.kind for asked in create(kept).config.criteria}
    assert kinds == {"tone": "choice", "right": "decision"}


def test_scale_can_be_called_a_number_or_categories() -> None:
    number = upload(RATED, decisions={"kind:fluency": "number"})
    categories = upload(RATED, decisions={"kind:fluency": "categories"})

    assert create(number).config.criteria[0].scale.kind == "number"
    assert create(categories).config.criteria[0].scale.kind == "choice"


def test_preferences_become_pairs() -> None:
    rows = "".join(
        f"{person},{item},{better}\n"
        for person in "pq"
        for item, better in (("a", "x"), ("b", "y"), ("c", "tie"))
    )
    study = create(upload(f"participant,item,preferred\n{rows}"))

    assert study.config.item.outputs.most == 2
    assert Item.objects.filter(study=study).count() == 3
    assert Rating.objects.filter(study=study).count() == 6
    assert Rating.objects.filter(study=study, output=None).count() == 2


def test_battles_name_both_systems() -> None:
    rows = "".join(
        f"{question},x,y,{winner},{judge}\n"
        for judge in "pq"
        for question, winner in (("a", "model_a"), ("b", "model_b"), ("c", "tie"))
    )
    kept = upload(f"question_id,model_a,model_b,winner,judge\n{rows}")

    study = create(kept)
    assert {*study.systems.values_list("name", flat=True)} == {"x", "y"}
    assert Rating.objects.filter(study=study, output=None).count() == 2


def test_words_for_how_good_something_is_are_categories() -> None:
    kept = upload(f"{HEADER}p,a,x,good\np,a,y,bad\nq,a,x,good\nq,a,y,good\n")

    assert list_uses(kept)["fluency"] == "categories"
    assert create(kept).config.criteria[0].scale.kind == "choice"


def test_kind_of_a_column_of_values_holds_for_all_questions() -> None:
    rows = "".join(
        f"{person},{item},{system},{criterion},{value}\n"
        for person, value in (("p", 4), ("q", 2))
        for item in "ab"
        for system in "xy"
        for criterion in ("fluency", "style")
    )
    kept = upload(
        f"participant,item,system,criterion,value\n{rows}", decisions={"kind:rating": "number"}
    )

    assert list_uses(kept)["value"] == "number"
    kinds = [asked.scale.kind for asked in create(kept).config.criteria]
    assert kinds == ["number", "number"]


# --- texts ----------------------------------------------------------------------------------

TEXTS_OF_RATED = (
    "id,source,system,translation\n"
    "a b,Der Hund.,x,The dog.\na b,Der Hund.,y,A dog.\nä,Die Katze.,x,The cat.\n"
)


def add_texts(kept: Upload, text: str) -> None:
    texts = keep_upload(
        study=None, file_name="texts.csv", chunks=[text.encode()], by=kept.created_by
    )
    begin_check(texts, by=kept.created_by)
    kept.mapping = kept.mapping.change(decisions={TEXTS: str(texts.pk)})
    kept.save()


def test_texts_are_shown_beside_their_ratings() -> None:
    kept = upload(RATED)
    add_texts(kept, TEXTS_OF_RATED)

    study = create(kept)

    outputs = Output.objects.filter(study=study).select_related("item", "system")
    texts = {
        (str(output.item.extra["source_id"]), str(output.system)): output.text for output in outputs
    }
    # of one there is no text
    assert texts == {
        ("a b", "x"): "The dog.", ("a b", "y"): "A dog.", ("ä", "x"): "The cat.", ("ä", "y"): "",
    }  # fmt: skip
    assert [*outputs[0].item.inputs.values()] == ["Der Hund."]
    assert not Upload.objects.filter(file_name="texts.csv").exists()


def test_texts_of_other_items_are_refused() -> None:
    kept = upload(RATED)
    add_texts(kept, TEXTS_OF_RATED.replace(",x,", ",u,").replace(",y,", ",v,"))

    with pytest.raises(ValidationError) as refused:
        create(kept)

    assert refused.value.code == "texts_of_others"
    assert not Study.objects.exists()


# --- bad input ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "empty_file"),
        (HEADER, "no_rows"),
        ("participant,system,fluency\np,x,4\nq,x,5\n", "item_missing"),
        ("item,system,fluency\na,x,4\nb,x,5\n", "participant_missing"),
        ("participant,item,system\np,a,x\n", "no_ratings"),
        (f"{HEADER}p,a,x,\n", "no_ratings"),
        (f"{HEADER}p,a,x,4\np,a,x,5\n", "rating_twice"),
        (f"{HEADER},a,x,4\n", "participant_empty"),
        (
            "id,source,system,output\n1,Der Hund schläft heute auf dem Sofa.,x,The dog sleeps.\n",
            "looks_like_items",
        ),
        ("participant,item,preferred\np,a,x\np,b,y\np,c,z\n", "pair_unknown"),
        (f"{HEADER}p,a,x,4\np,a,y\nq,a,x,1,9\n", "row_length"),
        # who rated what in which column isn't known
        (
            "item,system,annotator1,fluency1,annotator2,fluency2\na,x,p,4,q,5\n",
            "participant_missing",
        ),
    ],
)
def test_what_is_missing_is_named(text: str, code: str) -> None:
    kept = upload(text)

    assert code in list_codes(kept)
    with pytest.raises(ValidationError):
        create(kept)
    assert not Study.objects.exists()


@pytest.mark.both_databases
def test_control_characters_are_named() -> None:
    kept = upload(f"{HEADER}p\0,a,x,4\nq,a,x,5\n")

    assert "\0" not in json.dumps(kept.report, ensure_ascii=False)
    with pytest.raises(ValidationError):
        create(kept)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (f"{HEADER}p,a,x,4\np,a,y,5\n", "one_person"),
        (f"{HEADER}p,a,x,4\nq,a,x,5\n", "one_system"),
        ("participant,item,fluency\np,a,4\nq,a,5\n", "one_system"),
        (f"{HEADER}p,a,x,0.12345\np,a,y,5\nq,a,x,1.5\nq,a,y,2\n", "rounded"),
    ],
)
def test_little_is_said_and_taken(text: str, code: str) -> None:
    kept = upload(text)

    assert list_codes(kept, "notes") == [code]
    study = create(kept)
    start_analysis(study=study, by=None)
    run_waiting_jobs()
    assert Report.objects.filter(study=study).exists()
