"""comments.csv: every text that a person wrote, beside the answer to the same question."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from evalsite.data.files.pseudonymised import count_pseudonymised, write_pseudonymised
from evalsite.data.files.services import Choice, count_file, name_file
from evalsite.decisions.models import Exclusion
from evalsite.handout.models import Annotation, Rating
from evalsite.people.models import Origin, Participant
from evalsite.results.report.computation import compute_report
from evalsite.results.report.files import make_source
from evalsite.results.report.sections import make_document
from evalsite.studies.models import Item, Output, Study
from tests.support.batches import import_rows, make_rows
from tests.support.exports import START, annotate, export, main_items, read
from tests.support.factories import make_annotator
from tests.support.instruments import make_built_study, read_instrument
from tests.support.spans import answer_spans, make_spans_study

HOSTILE = '=1+1, "two\nlines"; \u202eright to left'


def answer(study: Study, who: Participant, item: Item, **fields: Any) -> Annotation:
    annotation = annotate(study, who, item, order_shown=[1, 0], **fields)
    Rating.objects.filter(annotation=annotation).delete()
    Annotation.objects.filter(pk=annotation.pk).update(submitted_at=START + timedelta(seconds=33))
    return annotation


def rate(annotation: Annotation, criterion: str, output: int | None, **fields: Any) -> None:
    rated = None
    if output is not None:
        rated = Output.objects.get(item=annotation.item, position=output)
    Rating.objects.create(
        study=annotation.study, annotation=annotation, criterion=criterion, output=rated, **fields
    )


@pytest.fixture
def study(db: None, make_participant: Callable[..., Any]) -> Study:
    """A comparison with a comment, reasons and a free text; a note by a person left out."""
    study = make_built_study(read_instrument("arena_preference"))
    import_rows(study, make_rows(study.config, items=3))
    first, second, third = main_items(study)
    me, excluded = make_participant(study), make_participant(study)
    beta = Output.objects.get(item=first, position=1)
    mine = answer(study, me, first)
    rate(mine, "preference", 1, value=2, detail={"reasons": {str(beta.pk): ["useful"]}})
    rate(mine, "preference", None, part="comment", text=HOSTILE)
    rate(mine, "what_is_bad", None, text="It loops")
    rate(answer(study, me, third), "preference", 1, value=1)
    answer(study, excluded, second, note="A note", origin=Origin.SIMULATED)
    Exclusion.objects.create(study=study, participant=excluded, reason="fast")
    return study


def test_each_text_is_beside_the_answer_and_its_reasons(study: Study) -> None:
    rows = read(export(study, "comments"))

    assert list(rows[0]) == [
        "item", "group", "system", "participant", "criterion", "answer", "reasons", "text", "at",
        "excluded",
    ]  # fmt: skip
    names = ("item", "system", "criterion", "answer", "reasons", "text", "excluded")
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("item-1", "", "preference", "beta", "beta: useful", HOSTILE, "no"),
        ("item-1", "", "what_is_bad", "", "", "It loops", "no"),
        ("item-2", "", "", "", "", "A note", "yes"),
    ]
    assert {row["at"] for row in rows} == {"2026-11-21T12:30:33.000000Z"}


@pytest.mark.django_db
def test_a_comment_on_an_output_names_its_system_and_its_rating(
    make_participant: Callable[..., Any],
) -> None:
    content = read_instrument("quality")
    content["criteria"][0]["comment"] = {"ask": "optional", "label": "Why?"}
    study = make_built_study(content)
    import_rows(study, make_rows(study.config, items=1))
    item = main_items(study)[0]
    system = Output.objects.values_list("system__name").get(item=item)[0]
    rated = answer(study, make_participant(study), item, note="A note")
    rate(rated, "quality", 0, value=2)
    rate(rated, "quality", 0, part="comment", text="Too short")

    rows = read(export(study, "comments"))

    assert [(row["system"], row["criterion"], row["text"]) for row in rows] == [
        (system, "quality", "Too short"), (system, "", "A note"),
    ]  # fmt: skip
    assert rows[0]["answer"] == read(export(study, "ratings_simple"))[0]["quality"] != ""


def test_a_spreadsheet_computes_no_comment(study: Study) -> None:
    data = export(study, "comments", for_spreadsheets=True).removeprefix(b"\xef\xbb\xbf")

    assert read(data)[0]["text"] == f"'{HOSTILE}"


@pytest.mark.parametrize(("excluded", "rows"), [("", 3), ("out", 2), ("only", 1)])
def test_people_left_out_follow_the_choice_and_rows_are_counted_as_written(
    study: Study, excluded: str, rows: int
) -> None:
    choice = Choice(file="comments", excluded=excluded)

    assert count_file(study, choice) == rows
    assert len(read(export(study, "comments", excluded=excluded))) == rows
    # only the note is simulated
    assert ("simulated" in name_file(study, choice)) is (excluded != "out")


def test_people_who_didnt_agree_to_share_can_be_left_out(study: Study) -> None:
    assert read(export(study, "comments", only_shared=True)) == []


def test_while_systems_are_hidden_comments_name_none_and_no_item(study: Study) -> None:
    text = "".join(write_pseudonymised(study, "comments"))

    rows = read(text.encode())
    assert sorted((row["criterion"], row["text"], row["excluded"]) for row in rows) == [
        ("", "A note", "yes"), ("preference", HOSTILE, "no"), ("what_is_bad", "It loops", "no"),
    ]  # fmt: skip
    assert not any(name in text for name in ("alpha", "beta", "item-1", "useful"))
    assert count_pseudonymised(study)["comments"] == 3


def test_the_report_of_a_study_counts_its_comments_and_reasons(study: Study) -> None:
    document = make_document(make_source(study, compute_report(study)))

    counts = {
        (figure.name, *dict(figure.group).values()): figure.value
        for figure in document.figures
        if figure.name in ("comments", "people_commenting", "reason")
    }
    assert counts["comments", "preference"] == 1
    assert counts["comments", "what_is_bad"] == 1
    assert counts["people_commenting",] == 1
    assert counts["reason", "preference", "useful", "beta"] == 0.5
    assert document.find_table("preference-reasons") is not None


@pytest.mark.django_db
def test_a_note_on_a_passage_is_beside_its_words_and_the_score_of_the_output(
    make_participant: Callable[..., Any],
) -> None:
    study = make_spans_study(items=1, systems="D")
    marks = [
        {"start": 3, "end": 10, "category": "style", "severity": "major", "note": "I'd say Halt"},
        {"start": 0, "end": 3, "category": "style", "severity": "minor"},
        {"start": 80, "end": 80, "category": "accuracy", "severity": "minor", "note": "The end"},
    ]
    answer_spans(make_annotator(study), study.items.get(), marks)

    rows = read(export(study, "comments"))

    names = ("item", "system", "criterion", "answer", "text", "quote")
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("i01/D", "D", "errors", "7", "I'd say Halt", "Bahnhof"),
        ("i01/D", "D", "errors", "7", "The end", ""),
    ]
    assert list(rows[0])[-1] == "quote"
    assert count_file(study, Choice(file="comments")) == 2
    # without the passage: it would tell the output
    hidden = "".join(write_pseudonymised(study, "comments"))
    assert "I'd say Halt" in hidden
    assert "Bahnhof" not in hidden
    assert count_pseudonymised(study)["comments"] == 2
