"""What raters wrote and chose is shown in words."""

import json
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.urls import reverse

from evalsite.handout.models import Annotation, Rating, Slot
from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.scales import NA, read_scale
from evalsite.lib.clock import now
from evalsite.results.people.answers import describe_answers, with_items
from evalsite.studies.items import item_keys
from evalsite.studies.models import Batch, Item, Output, Study, System
from tests.support.factories import launch, make_participant
from tests.support.instruments import GALLERY, make_built_study

pytestmark = pytest.mark.django_db

HOSTILE = "<script>alert(1)</script>"
REPLIES = ("**Ship** it within 14 days:\n\n```python\nprint('shipped')\n```", "Send it back.")
TALK = json.dumps(
    [{"role": "user", "content": "Where is it?"}, {"role": "assistant", "content": "On its way."}]
)


def make_study_of(instrument: str, *texts: str, **inputs: str) -> tuple[Study, Item]:
    """A live study of an instrument of the gallery, with one item by as many systems as texts."""
    content = json.loads((GALLERY / f"{instrument}.json").read_bytes())
    study = make_built_study(content, is_practice_on=False)
    batch = Batch.objects.create(study=study, file_name="a.csv", sha256="0" * 64, rows=len(texts))
    item = Item.objects.create(
        study=study, batch=batch, inputs=inputs, **item_keys(study, key="i1", group="g1")
    )
    for position, text in enumerate(texts):
        system = System.objects.create(study=study, name=f"v{position + 1}")
        Output.objects.create(study=study, item=item, system=system, position=position, text=text)
    return launch(study), item


def make_row(
    output: int | None,
    value: float | None,
    part: str = "",
    text: str = "",
    detail: dict[str, Any] | None = None,
) -> AnswerRow:
    return AnswerRow(0, output, "", part=part, value=value, text=text, detail=detail)


def answer(
    study: Study, item: Item, *rows: tuple[str, AnswerRow], order=(0, 1), note: str = ""
) -> Annotation:
    """An answer by somebody new that counts, with these rows; their first field: the criterion."""
    me, no = make_participant(study), Slot.objects.filter(item=item).count()
    slot = Slot.objects.create(
        study=study, item=item, no=no, pos=no, arrangement=no, state=2, participant=me
    )
    annotation = Annotation.objects.create(
        study=study, item=item, participant=me, slot=slot, key=uuid4(), note=note, status="counted",
        started_at=now() - timedelta(seconds=30), submitted_at=now(), order_shown=list(order),
    )  # fmt: skip
    for criterion, row in rows:
        Rating.objects.create(
            study=study, annotation=annotation, criterion=criterion, output_id=row.output,
            value=row.value, part=row.part, text=row.text, detail=row.detail, turn=row.turn,
        )  # fmt: skip
    return annotation


def describe(study: Study, annotation: Annotation, **how):
    [given] = describe_answers(
        study, with_items(Annotation.objects.filter(pk=annotation.pk)), **how
    )
    return given


@pytest.fixture
def arena() -> tuple[Study, Item]:
    return make_study_of("arena_preference", *REPLIES, prompt="**Where** is my parcel?")


def prefer(item: Item, number: int, strength: int, **detail) -> tuple[str, AnswerRow]:
    """A grade for the output of this number in the order of the file; 0: for neither."""
    pk = item.outputs.get(position=number - 1).pk if number else None
    return "preference", make_row(pk, strength, detail=detail or None)


# --- comparisons ------------------------------------------------------------------------------


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_strength_is_named_with_the_system_whichever_side_it_was_on(arena, order):
    study, item = arena
    given = describe(study, answer(study, item, prefer(item, 2, 2), order=order))

    assert given.lines == [("Preference", "v2 is much better")]


def test_reasons_both_and_comments_are_shown(arena):
    study, item = arena
    first, second = (str(output.pk) for output in item.outputs.order_by("position"))
    reasons = {first: ["incorrect"], second: ["useful", "complete"]}
    comment = ("preference", make_row(None, None, part="comment", text="Clearer steps"))
    wrong = ("what_is_bad", make_row(None, None, text="Nothing works"))
    better = describe(
        study, answer(study, item, prefer(item, 2, 1, reasons=reasons), comment, note="Hm")
    )
    bad = describe(study, answer(study, item, prefer(item, 0, 0, both="bad"), wrong))

    assert better.lines == [
        ("Preference", "v2 is better (v1: Incorrect; v2: Useful, Complete)"),
    ]
    assert better.written == [("Comment on Preference", "Clearer steps")]
    assert bad.lines == [("Preference", "Both are bad")]
    assert bad.written == [("What is wrong with both", "Nothing works")]


def test_hidden_systems_have_the_names_of_the_page(arena):
    study, item = arena
    given = answer(study, item, prefer(item, 2, 2), order=(1, 0))

    assert describe(study, given, is_blind=True).lines == [("Preference", "Reply A is much better")]


POINTS = [{"value": value, "label": f"{abs(value)} better"} for value in (-2, -1, 1, 2)]
TAGS = {
    "label": "Why?", "about": "comparison", "options": [
        {"key": "steps", "label": "Clearer steps"}, {"key": "short", "label": "Shorter"},
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("labels", "shown", "words"),
    [
        (("A much better", "B much better"), {1: "A", 2: "B"}, "v2 much better"),
        (("A much better", "B much better"), {2: "A", 1: "B"}, "v2 much better"),
        (
            ("Response 1 beats Response 2", "Response 2 beats Response 1"),
            {1: "Response 1", 2: "Response 2"},
            "v2 beats v1",
        ),
        # labels that name no output, or that don't mirror each other
        (("Left, by far", "Right, by far"), {1: "A", 2: "B"}, "v2 preferred (Right, by far)"),
        (("A lot worse", "A lot better"), {1: "A", 2: "B"}, "v2 preferred (A lot better)"),
        # an imported answer has no page
        (("A much better", "B much better"), {}, "v2 preferred, 2 of 2"),
    ],
)  # fmt: skip
def test_grade_is_said_in_the_words_that_were_chosen(labels, shown, words):
    left, right = labels
    points = [
        {"value": -2, "label": left}, {"value": -1, "label": "C"},
        {"value": 1, "label": "D"}, {"value": 2, "label": right},
    ]  # fmt: skip
    data = {"kind": "preference", "points": points, "tags": TAGS}
    scale = read_scale(data)
    row = make_row(2, 2, detail={"reasons": {"all": ["steps"]}})

    assert scale.describe_comparison(row, {1: "v1", 2: "v2"}, shown) == f"{words}: Clearer steps"


@pytest.mark.parametrize(
    ("value", "words"), [(86, "Score 86"), (0, "Score 0 (Broken/poor translation)")]
)
def test_a_number_follows_its_question_whether_it_has_a_label_or_not(value, words):
    study, item = make_study_of("esa", "Der Hund", source="The dog")
    output = item.outputs.get().pk
    given = [("errors", make_row(output, 1, part="none")), ("score", make_row(output, value))]

    lines = describe(study, answer(study, item, *given)).lines
    assert [said for _, said in lines] == [f"Errors: No errors, {words}"]


# --- every other kind ---------------------------------------------------------------------------

OPTIONS = [{"key": "fact", "label": "Wrong fact"}, {"key": "else", "label": "Else", "other": True}]
STATEMENTS = [{"key": "s1", "text": "Names the price"}, {"key": "s2", "text": "Names the day"}]
FIVE = [{"value": value, "label": label} for value, label in enumerate(("Bad", "", "Good"), 1)]


@pytest.mark.parametrize(
    ("data", "rows", "words"),
    [
        ({"kind": "likert", "points": FIVE}, [make_row(1, 3)], "3 (Good)"),
        ({"kind": "likert", "points": FIVE}, [make_row(1, 2)], "2"),
        ({"kind": "likert", "points": FIVE, "not_applicable": "No price"},
         [make_row(1, None, detail={NA: True})], "No price"),
        ({"kind": "decision", "yes": "Accept", "no": "Reject"}, [make_row(1, 0)], "Reject"),
        ({"kind": "text"}, [make_row(1, None, text="Too long")], "Too long"),
        ({"kind": "choice", "options": OPTIONS}, [make_row(1, 1, detail={"option": "fact"})],
         "Wrong fact"),
        ({"kind": "choice", "options": OPTIONS},
         [make_row(1, 2, text="Rude", detail={"option": "else"})], "Else: Rude"),
        ({"kind": "choices", "options": OPTIONS},
         [make_row(1, 1, "fact"), make_row(1, 1, "else", "Rude")], "Wrong fact, Else: Rude"),
        ({"kind": "choices", "options": OPTIONS},
         [make_row(1, 0, "fact"), make_row(1, 0, "else")], "none"),
        ({"kind": "checklist", "yes": "Yes", "no": "No", "statements": STATEMENTS},
         [make_row(1, 1, "s1"), make_row(1, 0, "s2")], "Names the price: Yes; Names the day: No"),
        ({"kind": "preference", "points": [{"value": value, "label": str(value)} for value in
         (-1, 0, 1)]}, [make_row(None, 0)], "tie"),
    ],
)  # fmt: skip
def test_every_kind_of_answer_is_said_in_words(data, rows, words):
    scale = read_scale(data)
    said = (
        scale.describe_comparison(rows[0], {}, {})
        if scale.compares
        else scale.describe_answer(rows)
    )

    assert said == words


# --- pages --------------------------------------------------------------------------------------


def test_person_page_shows_words_as_text(staff_client, arena):
    study, item = arena
    comment = ("preference", make_row(None, None, part="comment", text=HOSTILE))
    given = answer(study, item, prefer(item, 1, 2), comment)

    page = staff_client.get(
        reverse("admin:study-person", args=[study.pk, given.participant.pseudonym])
    ).text

    assert "v1 is much better" in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert HOSTILE not in page
