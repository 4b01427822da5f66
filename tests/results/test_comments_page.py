"""Comments: every text that a person wrote, beside its answer, reasons and output."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.urls import reverse

from evalsite.decisions.exclusions import exclude
from evalsite.handout.models import Annotation
from evalsite.results.comments.views import read_reasons
from evalsite.results.models import Report
from evalsite.results.navigation import count_evidence
from evalsite.studies.items import item_keys
from evalsite.studies.models import Batch, Item, Output, Study, System
from tests.results.test_answer_words import (
    HOSTILE,
    REPLIES,
    answer,
    make_row,
    make_study_of,
    prefer,
)
from tests.site.test_staff_pages import url
from tests.support.factories import launch, make_annotator, make_study, make_user
from tests.support.instruments import make_built_study, read_instrument
from tests.support.planned import add_person, make_planned_study
from tests.support.reports import keep_report, make_content, make_figure, make_points
from tests.support.spans import answer_spans, make_spans_study

pytestmark = pytest.mark.django_db

START = datetime(2026, 11, 26, 9, 0, tzinfo=UTC)


def comment(text: str) -> tuple[str, Any]:
    return "preference", make_row(None, None, part="comment", text=text)


def place(annotation: Annotation, hours: int) -> Annotation:
    at = START + timedelta(hours=hours)
    Annotation.objects.filter(pk=annotation.pk).update(submitted_at=at)
    return annotation


@pytest.fixture
def study() -> Study:
    """A comparison of two replies: five texts by four people, an hour apart."""
    study, item = make_study_of("arena_preference", *REPLIES, prompt="Where is my parcel?")
    first, second = (str(output.pk) for output in item.outputs.order_by("position"))
    useful = prefer(item, 2, 2, reasons={second: ["useful"]})
    place(answer(study, item, useful, comment("Clear steps")), 1)
    complete = prefer(item, 1, 1, reasons={first: ["complete"]})
    place(answer(study, item, complete, comment("Too long"), note="The parcel is odd"), 2)
    bad = ("what_is_bad", make_row(None, None, text="Neither works"))
    place(answer(study, item, prefer(item, 0, 0, both="bad"), bad), 3)
    skipped = place(answer(study, item, note="No idea"), 4)
    Annotation.objects.filter(pk=skipped.pk).update(slot=None, status="skipped", outcome="skipped")
    return study


def read(page: Any) -> list[str]:
    return [entry["text"] for entry in page.context["comments"]]


def test_every_text_is_beside_its_answer_its_reasons_and_its_output(study, staff_client):
    page = staff_client.get(url("results-comments", study))

    assert [
        (
            entry["text"], entry["question"], entry["answer"], entry["reasons"], entry["name"],
            entry["beside"],
        )
        for entry in page.context["comments"]
    ] == [
        ("Clear steps", "Preference", "v2 is much better", [("v2", "Useful")], "v2", REPLIES[1]),
        ("The parcel is odd", "", "v1 is better", [("v1", "Complete")], "v1", REPLIES[0]),
        ("Too long", "Preference", "v1 is better", [("v1", "Complete")], "v1", REPLIES[0]),
        ("Neither works", "What is wrong with both", "", [], "", "Where is my parcel?"),
        ("No idea", "", "Skipped", [], "", "Where is my parcel?"),
    ]  # fmt: skip
    assert (page.context["total"], page.context["writers"]) == (5, 4)


@pytest.mark.both_databases
@pytest.mark.parametrize(
    ("query", "texts"),
    [
        ({"q": "TOO"}, ["Too long"]),
        ({"question": "preference"}, ["Clear steps", "Too long"]),
        ({"question": "what_is_bad"}, ["Neither works"]),
        ({"question": "other"}, ["The parcel is odd", "No idea"]),
        ({"answer": "v2"}, ["Clear steps"]),
        ({"answer": "v1"}, ["The parcel is odd", "Too long"]),
        ({"answer": "both_bad"}, []),
        ({"reason": "complete"}, ["The parcel is odd", "Too long"]),
        ({"reason": "useful", "q": "steps"}, ["Clear steps"]),
        ({"order": "person"}, None),
        ({"order": "item"}, None),
        ({"q": "%"}, []),
        ({"answer": "s999999"}, None),
        ({"answer": "s1 or 1"}, None),
        ({"question": "items", "order": "../", "page": "99999"}, None),
    ],
)
def test_comments_can_be_filtered_and_ordered(study, staff_client, query, texts):
    for system in study.systems.all():
        if query.get("answer") == system.name:
            query = query | {"answer": f"s{system.pk}"}

    page = staff_client.get(url("results-comments", study), query)

    assert page.status_code == 200
    if texts is None:
        assert len(read(page)) == 5
    else:
        assert sorted(read(page)) == sorted(texts)
        assert (page.context["rows"].paginator.count, page.context["total"]) == (len(texts), 5)


def test_comments_of_one_person_can_be_read(study, staff_client):
    author = Annotation.objects.get(note="No idea").participant.pseudonym

    page = staff_client.get(url("results-comments", study), {"person": author})

    assert read(page) == ["No idea"]
    assert f'<option value="{author}" selected>' in page.text


def test_a_comment_on_both_bad_is_found_by_the_answer(study, staff_client):
    item = study.items.main().get()
    answer(study, item, prefer(item, 0, 0, both="bad"), comment("Both loop"))
    answer(study, item, prefer(item, 0, 0, both="good"), comment("Both fine"))

    bad = staff_client.get(url("results-comments", study), {"answer": "both_bad"})
    good = staff_client.get(url("results-comments", study), {"answer": "both_good"})

    assert (read(bad), read(good)) == (["Both loop"], ["Both fine"])


def test_a_comment_on_a_tie_is_found_by_the_answer(staff_client):
    study = make_study(items=1, protocol="pairwise")
    item = study.items.main().get()
    key = study.config.criteria[0].key
    for output, text in ((None, "No difference"), (item.outputs.first().pk, "Better")):
        value = (key, make_row(output, 0 if output is None else 1))
        why = (key, make_row(None, None, part="comment", text=text))
        answer(study, item, value, why)

    page = staff_client.get(url("results-comments", study), {"answer": "tie"})

    assert read(page) == ["No difference"]


def test_comments_on_outputs_stand_beside_their_own_answer(staff_client):
    content = read_instrument("quality")
    content["criteria"][0]["comment"] = {"ask": "optional", "label": "Why?"}
    study = make_built_study(content, is_practice_on=False)
    key = content["criteria"][0]["key"]
    batch = Batch.objects.create(study=study, file_name="a.csv", sha256="0" * 64, rows=2)
    outputs = []
    for name in ("v1", "v2"):
        system = System.objects.create(study=study, name=name)
        keys = item_keys(study, key=f"1-{name}", group="talk 1")
        item = Item.objects.create(study=study, batch=batch, **keys)
        output = Output.objects.create(
            study=study, item=item, system=system, position=0, text=f"By {name}"
        )
        outputs.append(output)
    launch(study)
    for output, value in zip(outputs, (1, 2), strict=True):
        why = make_row(output.pk, None, part="comment", text=f"Of {output.text}")
        answer(study, output.item, (key, make_row(output.pk, value)), (key, why), order=(0,))

    system = outputs[1].system.pk
    found = staff_client.get(url("results-comments", study), {"answer": f"s{system}"})
    low = staff_client.get(url("results-comments", study), {"answer": "v1"})
    page = staff_client.get(url("results-comments", study))

    assert (read(found), read(low)) == (["Of By v2"], ["Of By v1"])
    assert {(entry["title"], entry["name"], entry["beside"]) for entry in page.context["comments"]
            } == {("talk 1", "v1", "By v1"), ("talk 1", "v2", "By v2")}  # fmt: skip
    # both lead to the page of the item, which has both outputs
    assert {entry["record"] for entry in page.context["comments"]} == {outputs[0].item_id}


def test_comments_of_excluded_people_follow_the_switch_and_are_marked(study, staff_client):
    author = Annotation.objects.get(note="No idea").participant
    exclude(study=study, participants=[author], reason="Too fast", by=make_user())

    without = staff_client.get(url("results-comments", study))
    everyone = staff_client.get(url("results-comments", study), {"people": "everyone"})

    assert "No idea" not in read(without)
    assert (without.context["total"], everyone.context["total"]) == (4, 5)
    marks = {entry["text"]: entry["is_excluded"] for entry in everyone.context["comments"]}
    assert [text for text, is_excluded in marks.items() if is_excluded] == ["No idea"]


def test_texts_that_never_count_are_left_out(study, staff_client):
    item = study.items.main().get()
    for status, waits in (("pilot", False), ("withdrawn", False), ("surplus", True)):
        annotation = answer(study, item, note="Hidden")
        Annotation.objects.filter(pk=annotation.pk).update(
            slot=None, status=status, awaits_consent=waits
        )

    assert "Hidden" not in read(staff_client.get(url("results-comments", study)))


def test_hostile_and_long_texts_are_text_and_whole(study, staff_client):
    item = study.items.main().get()
    long_text = "\N{RIGHT-TO-LEFT OVERRIDE}مرحبا " + "word " * 4_000
    answer(study, item, prefer(item, 2, 2), comment(HOSTILE))
    answer(study, item, prefer(item, 2, 2), comment(long_text))
    Item.objects.filter(pk=item.pk).update(key="</script><b>", inputs={"prompt": HOSTILE})

    page = staff_client.get(url("results-comments", study)).text

    assert HOSTILE not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<b>" not in page.partition("<main")[2]
    assert page.count("word ") >= 4_000
    assert 'dir="auto"' in page


def test_thirty_comments_are_on_a_page_and_the_newest_is_last(study, staff_client):
    item = study.items.main().get()
    for number in range(30):
        place(answer(study, item, note=f"Note {number}"), 10 + number)

    first = staff_client.get(url("results-comments", study))
    second = staff_client.get(url("results-comments", study), {"page": 2})

    assert (len(read(first)), len(read(second))) == (30, 5)
    assert read(first)[0] == "Clear steps"
    assert read(second)[-1] == "Note 29"


def test_without_a_comment_the_page_says_so(staff_client):
    page = staff_client.get(url("results-comments", make_study(items=1)))

    assert (page.status_code, page.context["total"]) == (200, 0)
    assert "comments.csv" not in page.text


# --- counted reasons --------------------------------------------------------------------------


def make_shares(**named: tuple[int, int]) -> list[dict[str, Any]]:
    """Return how many of 40 answers for v1, and for v2, name each reason."""
    return [
        make_figure(
            "reason", number / 40, low=max(0, number / 40 - 0.1), high=min(1, number / 40 + 0.1),
            n={"named": number, "answers": 40}, group=[["reason", key], ["system", system]],
        )
        for key, numbers in named.items()
        for system, number in zip(("v1", "v2"), numbers, strict=True)
    ]  # fmt: skip


def keep_reasons(study: Study, shares: list[dict[str, Any]]) -> Report:
    labels = {dict(share["group"])["reason"]: dict(share["group"])["reason"] for share in shares}
    points = make_points(reasons={"labels": labels, "shares": shares})
    return keep_report(study, criteria=[points | {"key": "preference"}])


@pytest.mark.parametrize(
    ("shares", "headline"),
    [
        # both are named by most: “short” tells v1 from v2 more
        ({"useful": (12, 28), "short": (26, 3)}, {"system": "v1", "label": "short"}),
        # half isn't most
        ({"useful": (20, 3), "short": (3, 20)}, None),
    ],
)
def test_the_headline_names_the_reason_that_most_wins_of_a_system_have(
    study, staff_client, shares, headline
):
    report = keep_reasons(study, make_shares(**shares))

    reasons = read_reasons(report, is_everyone=False)

    assert reasons["headline"] == headline
    assert reasons["systems"] == ["v1", "v2"]
    page = staff_client.get(url("results-comments", study))
    assert page.context["reasons"]["headline"] == headline
    first = reasons["rows"][0]["cells"][0]
    assert (first["named"], first["answers"]) == (shares["useful"][0], 40)


def test_reasons_of_few_answers_are_counts_and_make_no_headline(study):
    share = make_figure(
        "reason", 1.0, n={"named": 3, "answers": 3}, group=[["reason", "short"], ["system", "v1"]]
    )
    report = keep_reasons(study, [share])

    reasons = read_reasons(report, is_everyone=False)

    (row,) = reasons["rows"]
    assert (row["cells"][0]["interval"], row["cells"][0]["mark"]) == ("", None)
    assert reasons["headline"] is None


def test_a_report_without_reasons_has_no_table_of_them(study):
    report = keep_report(study, criteria=[make_content()["criteria"][0]])

    assert read_reasons(report, is_everyone=True) is None
    assert read_reasons(None, is_everyone=False) is None


# --- hidden results ---------------------------------------------------------------------------


def test_no_filter_tells_systems_apart_while_they_are_hidden(staff_client):
    study = make_planned_study()
    add_person(study)
    Annotation.objects.update(note="Odd")
    systems = [f"s{system.pk}" for system in study.systems.all()]

    page = staff_client.get(url("results-comments", study))
    choices = [key for key, _label in page.context["form"].fields["answer"].choices]
    filtered = [
        staff_client.get(url("results-comments", study), {"answer": system}) for system in systems
    ]

    assert not set(choices) & set(systems)
    assert {found.context["rows"].paginator.count for found in filtered} == {3}
    assert "Download without systems" in page.text


def test_words_of_ids_find_no_items_while_systems_are_hidden(staff_client):
    study = make_planned_study()
    item = study.items.main()[0]
    Item.objects.filter(pk=item.pk).update(key="1 by baseline")

    hidden = staff_client.get(url("results-items", study), {"q": "baseline"})
    Study.objects.update(hides_results=False)
    shown = staff_client.get(url("results-items", study), {"q": "baseline"})

    assert len(hidden.context["items"]) == 0
    assert len(shown.context["items"]) == 1


@pytest.mark.both_databases
def test_a_note_on_a_passage_is_a_comment_beside_the_passage(staff_client, researcher):
    study = make_spans_study(items=1, systems="D", by=researcher)
    marks = [
        {"start": 3, "end": 10, "category": "style", "severity": "major", "note": "Say Halt"},
        {"start": 0, "end": 3, "category": "style", "severity": "minor"},
    ]
    answer_spans(make_annotator(study), study.items.get(), marks)

    page = staff_client.get(url("results-comments", study), {"q": "halt", "question": "errors"})
    asked = staff_client.get(reverse("admin:results-question", args=[study.pk, "errors"]))

    (entry,) = page.context["comments"]
    assert (entry["text"], entry["answer"]) == ("Say Halt", "“Bahnhof”: Style, Major")
    assert (page.context["total"], page.context["rows"].paginator.count) == (1, 1)
    assert count_evidence(study)["comments"] == 1
    assert [comment["text"] for comment in asked.context["comments"]] == ["Say Halt"]
