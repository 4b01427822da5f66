"""What the site answers is the same for a check, a repeat and an item that counts.

Items with equal texts, each of another kind: whatever a person does with their places, every page,
redirect and JSON answer is equal once the place and what is encrypted or derived are masked.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from itertools import islice, product, zip_longest
from urllib.parse import urljoin

import pytest
import time_machine
from django.db import transaction
from django.test import Client
from django.urls import reverse

from evalsite.handout.claims import claim_set
from evalsite.handout.leases import find_end
from evalsite.lib.clock import now
from evalsite.studies.models import Item, Output, Study
from evalsite.urls import urlpatterns
from tests.support.annotators import read_fields
from tests.support.checks import add_checks, kinds_of
from tests.support.factories import launch, make_annotator, make_study, mint_link
from tests.support.tabs import Tab

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

MINUTE = timedelta(minutes=1)
KINDS = ("main", "gold", "repeat")
# every address below a personal link: a new page is covered
PATTERNS = {
    pattern.name: pattern.pattern
    for pattern in urlpatterns
    if str(pattern.pattern).startswith("p/<token>/")
}


class Person:
    """Somebody with a set in which items of all kinds look alike; each place can be tried again."""

    def __init__(self, **fields) -> None:
        study = make_study(
            items=60, k=1, set_size=30, repeat_percent=10, checks_per_person=6, **fields
        )
        add_checks(study, 8)
        Item.objects.filter(study=study).update(inputs={"mr": "name[Blue Spice]"})
        Output.objects.filter(study=study).update(text="Blue Spice is a pub.")
        self.me = make_annotator(launch(study))
        self.item_ids = claim_set(self.me).item_ids
        self.home = mint_link(self.me)
        self.client = Client()
        kinds = kinds_of(self.item_ids)
        # neither at the ends nor before a break
        usual = [place for place in range(3, len(kinds)) if place % 20 > 1]
        self.places = {kind: _first(usual, kinds, kind) for kind in KINDS}

    def address(self, name: str, place: int) -> str:
        given = {"place": place, "number": 1}
        token = self.home.strip("/").split("/")[-1]
        return reverse(name, args=[given.get(key, token) for key in PATTERNS[name].converters])

    def form_of(self, place: int) -> dict[str, str]:
        """Return what the page of this place sends, with every score filled in."""
        page = self.client.get(f"{self.address('rating-page', place)}?shown")
        fields = read_fields(page.text)
        scores = {name: "70" for name in fields if name[-2:-1] == "-"}
        return {**fields, **scores, "go": "next"}

    def save(self, place: int, **changes: str) -> None:
        form = self.form_of(place) | changes
        assert self.client.post(self.address("rating-page", place), form).status_code == 302

    def save_others(self, place: int) -> None:
        for other in range(1, len(self.item_ids) + 1):
            if other != place:
                self.save(other)


def _first(usual: list[int], kinds: list[str], kind: str) -> int:
    return next(place for place in usual if kinds[place - 1] == kind)


# --- states -------------------------------------------------------------------------------


def stay_open(person: Person, place: int) -> None:
    """The item has no answer."""


def send_draft(person: Person, place: int) -> None:
    person.client.post(person.address("rating-draft", place), person.form_of(place))


def save(person: Person, place: int) -> None:
    person.save(place)


def change(person: Person, place: int) -> None:
    person.save(place)
    person.save(place, **{"informativeness-1": "75"})


def report(person: Person, place: int) -> None:
    form = person.form_of(place) | {"reason": "missing", "note": ""}
    person.client.post(person.address("rating-report", place), form)


def skip(person: Person, place: int) -> None:
    person.client.post(person.address("rating-skip", place))


def save_all_others(person: Person, place: int) -> None:
    person.save_others(place)


def finish(person: Person, place: int) -> None:
    person.save_others(place)
    person.save(place)
    person.client.post(person.address("set-review", place))


def pause(person: Person, place: int) -> None:
    Study.objects.filter(pk=person.me.study_id).update(state="paused")


STATES = {
    one.__name__: one
    for one in (
        stay_open,
        send_draft,
        save,
        change,
        report,
        skip,
        save_all_others,
        finish,
        pause,
    )
}
# when the person looks again after that: at once, before the end of the lease, and after it
LATER = (0, 7, 180)
# what scripts ask, too
SCRIPTED = ("rating-page", "rating-draft", "rating-report", "set-sheet", "sheet-draft")


# --- what is compared ---------------------------------------------------------------------


def standing_still(moment: datetime) -> time_machine.travel:
    return time_machine.travel(moment, tick=False)


@contextmanager
def undone() -> Iterator[None]:
    """Undo what is written inside the block."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def mask(text: str, person: Person) -> str:
    """Return this text without place numbers, encrypted states and marks of orders."""
    near = {place + step for place in person.places.values() for step in (-1, 0, 1, 2)}
    text = re.sub(r"[\w-]{100,}={0,2}(%3D)*(:|%3A)[\w-]{40,}", "STATE", text)
    # made at random when a set is finished
    text = re.sub(r"\b[A-Z]{4}-[A-Z]{4}\b", "CODE", text)
    text = re.sub(r"data-arranged=\"[0-9a-f]+\"", "ORDER", text)
    return re.sub(r"(?<![\w:.])\d+(?![\w:.])", lambda n: "N" if int(n[0]) in near else n[0], text)


def describe(response, person: Person) -> tuple[int, dict[str, str], str]:
    headers = {name: value for name, value in response.headers.items() if name != "Date"}
    headers.pop("Content-Length", None)
    headers["Location"] = mask(headers.get("Location", ""), person)
    text = mask(response.text, person)
    if response.request["PATH_INFO"].endswith("/review/"):
        # its rows are in the order of the places
        text = "\n".join(sorted(text.split("\n")))
    return response.status_code, headers, text


def ask(person: Person, name: str, method: str, place: int, form: dict[str, str]) -> list:
    """Return the answer, and the page to which it redirects."""
    address = person.address(name, place)
    sent = form | {"reason": "missing", "keep": "keep", "ignore": "hard"}
    headers = {"accept": "application/json"} if method == "JSON" else {}
    with undone():
        if method == "GET":
            response = person.client.get(address)
        else:
            response = person.client.post(address, sent, headers=headers)
        answers = [describe(response, person)]
        if response.status_code == 302:
            target = urljoin(address, response.headers["Location"])
            answers.append(describe(person.client.get(target), person))
    return answers


def list_answers(person: Person, state: str, place: int, start: datetime, minutes: int) -> dict:
    """Return the answers of every address so many minutes after the item got into this state."""
    answers = {}
    with undone():
        with standing_still(start + 2 * MINUTE):
            form = person.form_of(place)
            STATES[state](person, place)
        with standing_still(start + (2 + minutes) * MINUTE):
            for name in PATTERNS:
                methods = ("GET", "POST", "JSON") if name in SCRIPTED else ("GET", "POST")
                for method in methods:
                    answers[name, method] = ask(person, name, method, place, form)
    return answers


@pytest.mark.one_case
@pytest.mark.parametrize("minutes", LATER)
@pytest.mark.parametrize("state", STATES)
def test_every_answer_is_alike_for_every_kind_of_item(state, minutes):
    person = Person(content_warning="War", is_practice_on=False)
    start = now().replace(microsecond=0)
    with standing_still(start):
        person.save(1)

    answers = {
        kind: list_answers(person, state, place, start, minutes)
        for kind, place in person.places.items()
    }

    assert list_differences(answers) == []


def list_differences(answers: dict) -> list[tuple]:
    """Return each answer that isn't that of a main item, with the first line that differs."""
    differences = []
    for kind, (key, expected) in product(("gold", "repeat"), answers["main"].items()):
        lines = [str(answer).split("\\n") for answer in (expected, answers[kind][key])]
        differing = (pair for pair in zip_longest(*lines) if len({*pair}) > 1)
        differences += [(kind, *key, *pair) for pair in islice(differing, 1)]
    return differences


def test_a_draft_right_after_a_save_is_answered_alike_for_every_kind_of_item():
    person = Person()
    person.save(1)
    kinds = kinds_of(person.item_ids)

    answers = defaultdict(set)
    for place, kind in enumerate(kinds[1:], start=2):
        form = person.form_of(place)
        address = person.address("rating-draft", place)
        response = person.client.post(address, form, headers={"accept": "application/json"})
        answers[kind].add((response.status_code, response.json()["is_final"]))

    assert answers == {kind: {(200, False)} for kind in KINDS}


@pytest.mark.one_case
@pytest.mark.parametrize("acts", [(save,), (report,), (skip,), (save, report), (save, skip)])
def test_checks_are_kept_as_long_once_the_last_ordinary_place_is_gone(acts):
    person = Person(content_warning="War", is_practice_on=False)
    kinds = kinds_of(person.item_ids)
    *others, last = [place for place, kind in enumerate(kinds, start=1) if kind == "main"]
    start = now()
    with time_machine.travel(start, tick=False) as clock:
        for place in others:
            person.save(place)
        # by then an answer keeps everything for an hour, and within a minute of it nothing more
        clock.shift(2 * MINUTE)
        person.save(person.places["gold"])
        clock.shift(MINUTE / 2)
        for act in acts:
            act(person, last)

        assert not person.me.slots.leased().exists()
        assert find_end(person.me, person.me.study) == start + 62 * MINUTE


@pytest.mark.both_databases
def test_checks_are_kept_for_what_the_last_ordinary_answer_has_earned():
    study = make_study(items=6, set_size=4, checks_per_person=1)
    add_checks(study, 4)
    me = make_annotator(launch(study))
    tab = Tab(me).start()
    kinds = kinds_of(me.item_sets.get().item_ids)
    start = now()
    with time_machine.travel(start, tick=False) as clock:
        for place in (place for place, kind in enumerate(kinds, start=1) if kind == "main"):
            clock.shift(MINUTE / 6)
            tab.open(place).save()

        assert "gold" in kinds
        assert not me.slots.leased().exists()
        # four answers, a sixth of a minute apart, keep what is left for an hour
        assert find_end(me, study) == start + 4 * MINUTE / 6 + 60 * MINUTE
