"""A study's own examples, which people read beside or instead of those of its instrument."""

import json
from copy import deepcopy
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from evalsite.builder.instrument_change import list_losses
from evalsite.data.bundle.format import BUILT
from evalsite.data.bundle.read import BadBundle, check_instrument_of
from evalsite.fieldwork.previews import make_previews
from evalsite.instruments.schema import Instrument
from evalsite.results.report.files import read_document
from evalsite.studies.models import Output, Study
from evalsite.studies.questions import EXAMPLES, check_own_questions
from tests.builder.test_choosing import TRANSLATIONS, create, keep
from tests.support.factories import launch, make_study
from tests.support.instruments import read_instrument
from tests.support.reported import keep_report, make_reported_study

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def data_dir(settings: Any, tmp_path: Any) -> None:
    settings.DATA_DIR = tmp_path


@pytest.fixture
def study(staff: Client, jane: Any) -> Study:
    """Translations that are rated for adequacy and fluency, an instrument without examples."""
    create(staff, keep(TRANSLATIONS, jane))
    return Study.objects.get()


def address(study: Study, number: int) -> str:
    return reverse("admin:study-example", args=[study.pk, number])


def fill(study: Study, **changes: Any) -> dict[str, Any]:
    """Return an example as the page of one sends it."""
    study.refresh_from_db()
    answers = {f"ratings-{criterion.key}": "4" for criterion in study.config.criteria}
    return {
        "revision": study.revision,
        "inputs-reference": "The cat is asleep.",
        "outputs-0": "The cat sleeps soundly.",
        "why": "Nothing is **lost**.",
        **answers,
        **changes,
    }


def list_texts(study: Study) -> list[str]:
    study = Study.objects.get(pk=study.pk)
    return [example.texts[0] for example in study.config.examples]


def test_example_is_shown_with_the_instructions_and_listed_on_its_page(
    staff: Client, study: Study
) -> None:
    saved = staff.post(address(study, 1), fill(study))

    assert saved.url == reverse("admin:setup-read", args=[study.pk])
    study = Study.objects.get()
    (example,) = study.config.examples
    assert example.inputs == {"reference": "The cat is asleep."}
    assert set(example.ratings) == {criterion.key for criterion in study.config.criteria}
    assert all(answer == [4] for answer in example.ratings.values())
    page = staff.get(saved.url)
    assert f'href="{address(study, 1)}"' in page.text
    assert f'href="{address(study, 2)}"' in page.text
    (preview,) = make_previews(study, ["instructions"])
    assert "The cat sleeps soundly." in preview.html
    assert "<strong>lost</strong>" in preview.html
    assert not check_own_questions(study.questions)


def test_examples_of_the_instrument_stay_beside_it_until_they_are_removed(
    staff: Client, jane: Any
) -> None:
    study = make_study(protocol="magnitude", by=jane)
    count = len(study.config.examples)
    known = list_texts(study)
    assert count

    page = staff.get(address(study, 1)).context["form"]
    shown = {name: page[name].value() for name in page.fields}
    first = next(name for name in shown if name.startswith("outputs-"))
    staff.post(address(study, 1), shown | {first: "Another text."})
    assert list_texts(study) == ["Another text.", *known[1:]]
    revision = Study.objects.get().revision
    staff.post(address(study, 1), {"do": "remove", "revision": revision})
    assert list_texts(study) == known[1:]
    staff.post(address(study, 1), {"do": "reset", "revision": revision + 1})

    assert list_texts(study) == known
    assert EXAMPLES not in Study.objects.get().questions


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"outputs-0": ""}, "outputs-0"),
        ({"inputs-reference": " "}, "inputs-reference"),
        ({"ratings-fluency": "9"}, "ratings-fluency"),
        ({"ratings-fluency": "", "ratings-adequacy": "", "why": ""}, "why"),
    ],
)
def test_what_is_missing_or_no_answer_is_said_at_its_field(
    staff: Client, study: Study, changes: dict[str, str], field: str
) -> None:
    page = staff.post(address(study, 1), fill(study, **changes))

    assert page.status_code == 422
    assert [*page.context["form"].errors] == [field]
    assert list_texts(study) == []


def test_example_that_is_also_an_item_is_warned_about(staff: Client, study: Study) -> None:
    text = Output.objects.filter(study=study, item__kind="main").first()
    assert text is not None

    Study.objects.update(
        organisation="Lab", contact_email="a@example.org", answers_kept_for="1 year"
    )
    page = staff.post(address(study, 1), fill(study, **{"outputs-0": text.text}), follow=True)

    assert page.context["headline"] == "An example is also one of your items"


def test_second_of_two_people_overwrites_nothing_and_a_second_click_adds_nothing(
    staff: Client, study: Study
) -> None:
    sent = fill(study)
    staff.post(address(study, 1), sent)
    again = staff.post(address(study, 1), sent)
    late = staff.post(address(study, 1), sent | {"outputs-0": "Late."})
    removed = staff.post(address(study, 1), {"do": "remove", "revision": sent["revision"]})

    assert [again.status_code, late.status_code, removed.status_code] == [302, 409, 409]
    assert list_texts(study) == ["The cat sleeps soundly."]


def test_people_read_it_from_launch_on_and_then_it_is_fixed(
    staff: Client, study: Study, client: Client
) -> None:
    staff.post(address(study, 1), fill(study))
    study = launch(Study.objects.get())

    refused = staff.post(address(study, 1), fill(study, why="Another reason."))
    page = staff.get(address(study, 1))

    assert refused.status_code == 422
    assert "Save example" not in page.text
    assert list_texts(study) == ["The cat sleeps soundly."]
    version = study.version
    assert version is not None
    (frozen,) = version.content["instrument"]["examples"]
    assert frozen["outputs"] == ["The cat sleeps soundly."]


def test_no_further_page_than_one_new_example(staff: Client, study: Study) -> None:
    assert staff.get(address(study, 2)).url == reverse("admin:setup-read", args=[study.pk])
    assert staff.get(address(study, 0)).status_code == 302


def test_change_of_the_instrument_keeps_examples_that_fit_and_names_others(
    staff: Client, study: Study
) -> None:
    staff.post(address(study, 1), fill(study))
    study = Study.objects.get()

    assert list_losses(study, study.config) == [[]]
    fitting = Instrument.model_validate(study.config.to_data() | {"key": "other"})
    assert list_losses(study, fitting) == [[]]
    [lost] = list_losses(study, Instrument.model_validate(read_instrument("da_sqm")))
    assert len(lost) == 1


def test_examples_of_a_pair_have_two_outputs(staff: Client, jane: Any) -> None:
    create(staff, keep(TRANSLATIONS, jane), instrument="gallery:which_is_better")
    study = Study.objects.get()
    form = staff.get(address(study, 1)).context["form"]

    assert [name for name in form.fields if name.startswith("outputs")] == [
        "outputs-0", "outputs-1",
    ]  # fmt: skip


def test_conversation_of_an_example_is_kept_as_its_turns(staff: Client, jane: Any) -> None:
    turns = [{"role": "user", "content": "Is it open?"}]
    chats = "".join(
        json.dumps({"id": "c", "messages": turns, "model": model, "response": model}) + "\n"
        for model in ("alpha", "beta")
    )
    create(staff, keep(chats, jane, "chats.jsonl"))
    study = Study.objects.get()
    form = staff.get(address(study, 1)).context["form"]
    sent = {name: "Yes." for name in form.fields if name.startswith("outputs")}
    sent |= {"inputs-prompt": json.dumps(turns), "why": "It is.", "revision": study.revision}

    staff.post(address(study, 1), sent)

    (example,) = Study.objects.get().config.examples
    assert example.inputs["prompt"] == turns


def test_report_says_that_examples_are_those_of_the_study() -> None:
    study = make_reported_study()
    report = keep_report(study)
    assert "own_examples" not in read_document(study, report).codes

    study.questions = {EXAMPLES: [example.to_data() for example in study.config.examples] * 2}

    blocks = read_document(study, report).blocks
    (sentence,) = [block for block in blocks if getattr(block, "code", "") == "own_examples"]
    assert "2 examples" in sentence.text


def test_bundle_keeps_the_examples_and_refuses_those_that_do_not_fit(
    staff: Client, study: Study, jane: Any
) -> None:
    staff.post(address(study, 1), fill(study))
    study = Study.objects.get()
    plain = {"protocol": study.protocol, BUILT: {}, "questions": study.questions}
    check_instrument_of(study.config.to_data(), plain)

    foreign = deepcopy(plain)
    foreign["questions"][EXAMPLES][0]["inputs"] = {"unknown": "x"}
    with pytest.raises(BadBundle) as refused:
        check_instrument_of(study.config.to_data(), foreign)

    assert refused.value.fault.code == "instrument_invalid"
