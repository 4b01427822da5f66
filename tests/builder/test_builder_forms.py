"""The builder's form is made from the model, shows all of it, and changes nothing by itself."""

import json
from copy import deepcopy
from typing import Any, get_args

import pytest
from django.http import QueryDict
from django.template.loader import render_to_string
from django.urls import reverse
from hypothesis import HealthCheck, Phase, given, settings

from evalsite.builder.builder_page import build_page
from evalsite.builder.controls import LEFT_OUT, SPECIAL, list_controls
from evalsite.builder.drafts import read_draft
from evalsite.builder.posts import Post
from evalsite.instruments.installed import installed_protocols
from evalsite.instruments.parts import Part
from evalsite.instruments.scales import KINDS, Scale
from evalsite.instruments.schema import (
    Aid,
    BasedOn,
    Condition,
    Hooks,
    Instrument,
    NoneOf,
    NumberRange,
)
from evalsite.studies.models import Instrument as BuiltInstrument
from tests.support.drawn_instruments import instruments
from tests.support.forms import read_form
from tests.support.instruments import GALLERY


def render(draft, **context):
    page = build_page(draft) | {"can_edit": True, "instrument": FakeInstrument(), "revision": 1}
    return render_to_string("builder/builder.html", page | context)


class FakeInstrument:
    pk = "00000000-0000-0000-0000-000000000000"
    is_visible = False


def fill(draft, **changes):
    """What a browser posts of the form of a draft, with these changes."""
    post = QueryDict(mutable=True)
    for name, text in (read_form(render(draft), "builder") | changes).items():
        post[name] = text
    return Post(post)


FILES = sorted(GALLERY.glob("*.json"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_gallery_file_opens_and_saves_back_without_a_change(path):
    content = json.loads(path.read_bytes())

    assert read_draft(fill(content), content) == content


def test_protocols_open_and_save_back_without_a_change():
    for protocol in installed_protocols().values():
        content = protocol.to_data()

        assert read_draft(fill(content), content) == content


@settings(
    max_examples=20,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(instruments())
def test_drawn_instrument_opens_and_saves_back_without_a_change(content):
    assert read_draft(fill(content), content) == content


# --- every field is in the form, or named with the reason why not ---------------------


def list_parts() -> set[type[Part]]:
    """Return every part that an instrument can have, as its fields' types name them."""
    waiting: list[Any] = [Instrument, *KINDS.values()]
    parts: set[type[Part]] = set()
    while waiting:
        kind = waiting.pop()
        if not isinstance(kind, type):
            waiting += get_args(kind)
        elif issubclass(kind, Part) and kind not in parts:
            parts.add(kind)
            waiting += [field.annotation for field in kind.model_fields.values()]
    # what `accept` may hold is read by a function
    return parts - {Scale} | {NoneOf, NumberRange}


# parts whose fields are in a form of their own
IN_OWN_FORMS = {Condition, NoneOf, NumberRange}


def test_each_field_of_each_part_has_a_control_or_a_reason():
    parts = list_parts()

    assert len(parts) >= 47, parts
    for part in parts - IN_OWN_FORMS - {Hooks, BasedOn, Aid}:
        controls = {control.name: control for control in list_controls(part)}
        for name, field in part.model_fields.items():
            place = (part.__name__, field.alias or name)
            if name == "extras" or (name == "kind" and issubclass(part, Scale)):
                continue
            assert place in SPECIAL or LEFT_OUT.get(place) or controls[place[1]].title, place
            assert field.title or place in SPECIAL or place in LEFT_OUT
    tests = {
        "criterion", "is", "includes", "at_least", "at_most", "answered", "has", "changed",
        "outputs", "not",
    }  # fmt: skip
    shown_in_words = {name for part, name in LEFT_OUT if part == "Condition"}
    names = {field.alias or name for name, field in Condition.model_fields.items()}
    assert names - {"x_"} == tests | shown_in_words


def test_fields_of_conditions_rules_and_examples_are_in_their_own_forms():
    content = json.loads((GALLERY / "helpsteer2_preference.json").read_bytes())
    question, second = deepcopy(content["criteria"][0]), {
        "key": "why", "label": "Why", "per": "item", "question": "Why?",
        "scale": {"kind": "text"}, "ask_if": {"criterion": "preference", "answered": True},
    }  # fmt: skip
    content |= {
        "criteria": [question, second],
        "eligibility": {
            "questions": [{"key": "age", "label": "Age", "kind": "number"}], "rule": "Adults.",
            "refusal": "Sorry.", "accept": {"age": {"least": 18}},
        },
    }  # fmt: skip
    names = read_form(render(content), "builder").keys()

    conditions = {"criterion", "test", "answers", "outputs"}
    assert {f"criteria-1-ask_if-{name}" for name in conditions} <= names
    assert {f"criteria-0-comment-if-{name}" for name in conditions} <= names
    rules = {"rule", "answers", "least", "most"}
    assert {f"eligibility-questions-0-accept-{name}" for name in rules} <= names
    example = {"in-0", "out-0", "out-1", "answer-0", "why", "label", "criterion"}
    assert {f"practice-0-{name}" for name in example} <= names
    assert "criteria-0-kind" in names


# --- posts that no page sends ---------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda post: post.pop("title"),
        lambda post: post.pop("criteria-0-was"),
        lambda post: post.setlist("title", ["One", "Two"]),
        lambda post: post.update({"criteria-0-scale-unknown": "1"}),
        lambda post: post.update({"criteria-1-label": "Of no row"}),
        lambda post: post.update({"criteria-rows": "10000"}),
        lambda post: post.update({"criteria-rows": "300"}),
        lambda post: post.update({"criteria-rows": "-1"}),
        lambda post: post.update({"criteria-rows": "²"}),
        lambda post: post.update({"practice-rows": "1"}),
        lambda post: post.update({"practice-0-outs": "10000"}),
        lambda post: post.update({"criteria-0-as": "slider"}),
        lambda post: post.update({"do": "remove:criteria-7"}),
        lambda post: post.update({"do": "remove:criteria-x-y"}),
        lambda post: post.update({"do": "add:criteria-0-scale-points"}),
        lambda post: post.update({"do": "add:nothing"}),
        lambda post: post.update({"do": "up:title-0"}),
    ],
    ids=range(17),
)
@pytest.mark.django_db
def test_post_that_is_not_the_form_of_the_page_is_refused_and_changes_nothing(staff, change):
    staff.post(reverse("admin:instrument-new"), {"title": "Replies"})
    instrument = BuiltInstrument.objects.get()
    address = reverse("admin:instrument", args=[instrument.pk])
    post = QueryDict(mutable=True)
    post.update(read_form(staff.get(address).text, "builder"))
    change(post)

    page = staff.post(address, post.urlencode(), content_type="application/x-www-form-urlencoded")

    assert page.status_code == 400
    again = BuiltInstrument.objects.get()
    assert (again.draft, again.revision) == (instrument.draft, instrument.revision)


@pytest.mark.django_db
def test_post_that_is_too_large_is_refused_before_it_is_read(staff):
    staff.post(reverse("admin:instrument-new"), {"title": "Replies"})
    instrument = BuiltInstrument.objects.get()
    address = reverse("admin:instrument", args=[instrument.pk])
    shown = read_form(staff.get(address).text, "builder")

    large = staff.post(address, shown | {"summary": "x" * 5_000_000})
    many = staff.post(address, shown | {f"practice-{n}-why": "x" for n in range(10_000)})

    assert (large.status_code, many.status_code) == (413, 400)
    assert BuiltInstrument.objects.get().revision == instrument.revision
