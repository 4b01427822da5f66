"""Simulated participants: they go through the real pages, in this process, on a clock of their own.

Their rows say `simulated` for ever. Only demo studies and pilots may have them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from html.parser import HTMLParser
from random import Random
from statistics import mean
from typing import Any
from urllib.parse import urljoin, urlsplit

from django.conf import settings
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import resolve, reverse

from evalsite.core.rate_limits import lifted
from evalsite.handout.claims import has_free_place
from evalsite.handout.models import Slot
from evalsite.instruments.questions import Question
from evalsite.lib.clock import now, standing_at
from evalsite.lib.passages import Span
from evalsite.lib.seeds import make_random
from evalsite.participation.feedback import right_entries
from evalsite.participation.highlights import marks_fields, write_marks
from evalsite.participation.screens import Screen, load_screen
from evalsite.participation.shown_screens import read_shown
from evalsite.people.joins import unlimited_joins
from evalsite.people.models import Origin, Participant, ParticipantLink
from evalsite.people.random_codes import hash_token
from evalsite.people.services import admit_participant
from evalsite.studies.bonus import promises_bonus
from evalsite.studies.models import Item, Output, Study
from evalsite.studies.set_size import mains_per_set

_MOST_PAGES = 20_000
_SHARE_LEAVING = 0.04
_SHARE_IGNORED = 0.03
# how often a practice item, or a question on the instructions, is answered rightly
_SHARE_BY_GOLD = 0.85
# how often words are written about an answer, and which
_SHARE_COMMENTING = 0.2
_COMMENTS = ("The second half is wrong.", "Reads well.", "Not sure what it means.")
# how often a passage of an output is marked, where that can be done
_SHARE_MARKING = 0.4
_SETS = (1, 1, 1, 1, 2, 2, 3)
SETS_A_PERSON = mean(_SETS)


# The tags that _Form reads: to parse only these takes a quarter of the time.
_READ = re.compile(r"""<(?:form|a|input)\s(?:[^"'<>]|"[^"]*"|'[^']*')*>""")


class _Form(HTMLParser):
    """The forms of a page that post: where all of them lead, and the last one's hidden fields.

    Beside them the links that have an id, by it.
    """

    def __init__(self, html: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self.action = ""
        self.actions: list[str] = []
        self.links: dict[str, str] = {}
        self.is_posting = False
        self.feed("".join(_READ.findall(html)))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.is_posting = values.get("method", "").lower() == "post"
            if self.is_posting:
                self.fields, self.action = {}, values.get("action", "")
                self.actions.append(self.action)
        elif tag == "a" and "id" in values:
            self.links[values["id"]] = values.get("href", "")
        elif tag == "input" and self.is_posting and values.get("type") == "hidden":
            self.fields[values.get("name", "")] = values.get("value", "")


@dataclass
class Crowd:
    """How simulated people rate: what systems are worth to them, and how much they differ."""

    study: Study
    seed: str

    def worth_of(self, output: Output, item: Item) -> float:
        """Return how good this output is, around 0: the system's part, and the output's own."""
        system = make_random(self.seed, "system", output.system_id).gauss(0, 0.5)
        # the same text is worth the same when it is shown again
        first = item.repeat_of_id or item.pk
        text = make_random(self.seed, "text", first, output.text).gauss(0, 0.5)
        return system + text


def simulate_crowd(
    study: Study, *, participants: int, seed: str, skip: int = 0, sets_kept: int = 0
) -> Iterator[Participant]:
    """Let each participant in turn come, work and leave; mark their rows as simulated.

    The first `skip` of them are passed over: they came in an earlier run with this seed. Nobody
    takes a set if fewer than `sets_kept` would be free after that.
    """
    is_pilot = not study.is_launched
    if not (study.is_demo or is_pilot):
        raise ValidationError("Only demo studies and pilots may have simulated people.")
    crowd = Crowd(study, seed)
    end = now()
    draw = make_random(seed, "arrivals")
    ages = sorted((draw.random() for _ in range(participants)), reverse=True)
    for number, age in list(enumerate(ages))[skip:]:
        arrival = end - timedelta(hours=1 + 40 * age)
        visitor = Visitor(crowd, Random(f"{seed}/{number}"), arrival, latest=end)  # noqa: S311
        visitor.sets_kept = sets_kept
        with standing_at(arrival):
            may_join = is_pilot or (has_free_place(study) and visitor.leaves_enough)
        # without a free place, the first page lets nobody in
        if may_join:
            yield visitor.take_part(is_pilot=is_pilot)


class Visitor:
    """One simulated participant: a browser without scripts, and a mind of its own."""

    def __init__(self, crowd: Crowd, draw: Random, moment: datetime, latest: datetime) -> None:
        self.crowd = crowd
        self.study = crowd.study
        self.draw = draw
        self.moment = moment
        self.latest = latest
        self.bias = draw.gauss(0, 0.15)
        self.noise = draw.uniform(0.1, 0.5)
        # where there is a bonus, some are out for it
        bonus = (self.study.max_sets or 1,) if promises_bonus(self.study) else ()
        self.sets_wanted = draw.choice(_SETS + bonus)
        self.sets_kept = 0
        host = next(iter(settings.ALLOWED_HOSTS), "localhost")
        self.client = Client(HTTP_HOST=host, HTTP_ACCEPT_LANGUAGE="en-GB,en")
        self.secure = settings.SECURE_SSL_REDIRECT

    def take_part(self, *, is_pilot: bool) -> Participant:
        """Go from the link to the code, or to where this person loses interest."""
        participant, address = self._arrive(is_pilot=is_pilot)
        for _ in range(_MOST_PAGES):
            page, address = self._get(address)
            answer = self._answer(page, address)
            if answer is None or self._walks_away(address):
                return participant
            address = self._post(*answer)
        raise ValidationError("A simulated person never came to an end.")

    def _arrive(self, *, is_pilot: bool) -> tuple[Participant, str]:
        if is_pilot:
            with standing_at(self.moment):
                participant, token = admit_participant(study=self.study, is_pilot=True)
        else:
            with unlimited_joins():
                home = self._post(reverse("study-join", args=[self.study.pk]), {})
            token = resolve(urlsplit(home).path).kwargs["token"]
            participant = ParticipantLink.objects.get(token_hash=hash_token(token)).participant
        Participant.objects.filter(pk=participant.pk).update(origin=Origin.SIMULATED)
        return participant, reverse("participant-home", args=[token])

    def _get(self, address: str) -> tuple[Any, str]:
        """Return the page at the end of this address's redirects."""
        with lifted(), standing_at(self.moment):
            page = self.client.get(address, follow=True, secure=self.secure)
        chain = getattr(page, "redirect_chain", [])
        address = chain[-1][0] if chain else address
        # a break asks nothing: the work goes on behind its link
        following = _Form(page.content.decode()).links.get("continue")
        return self._get(urljoin(address, following)) if following else (page, address)

    def _post(self, address: str, data: dict[str, str]) -> str:
        """Return the address that this post leads to."""
        self.moment = min(self.moment, self.latest)
        with lifted(), standing_at(self.moment):
            page = self.client.post(address, data, secure=self.secure)
        if page.status_code != 302:
            raise ValidationError(f"{urlsplit(address).path}: answered {page.status_code}.")
        return urljoin(address, page.headers["Location"])

    # --- what to answer on each page ------------------------------------------------

    def _answer(self, page: Any, address: str) -> tuple[str, dict[str, str]] | None:
        """Return where to post what from this page; None when there is nothing more to do."""
        match = resolve(urlsplit(address).path)
        form = _Form(page.content.decode())
        to = urljoin(address, form.action) if form.action else address
        start = reverse("participant-start", args=[match.kwargs["token"]])
        self._spend(4, 20)
        if form.fields.get("state"):
            if match.url_name == "rating-page" and self._ignores():
                return self._ignore(urljoin(address, form.links["ignore"]))
            return to, self._rate(form.fields)
        if match.url_name in ("participant-start", "rating-page"):
            return start, {}
        if match.url_name == "participant-finish":
            return (start, {}) if start in form.actions and self._wants_more() else None
        answers = self._answer_other(match.url_name)
        return None if answers is None else (to, form.fields | answers)

    def _ignores(self) -> bool:
        return self.study.config.has_ignore and self.draw.random() < _SHARE_IGNORED

    def _ignore(self, address: str) -> tuple[str, dict[str, str]]:
        """Return where to post that an item is ignored, and why, as the page asks it."""
        page, address = self._get(address)
        self._spend(6, 30)
        reason = self.draw.choice(self.study.config.ignore_reasons)
        return address, _Form(page.content.decode()).fields | {"ignore": reason.key}

    def _answer_other(self, page_name: str | None) -> dict[str, str] | None:
        """Return what to post from a page that asks no ratings; None: it asks nothing."""
        if page_name == "participant-instructions":
            self._spend(30, 150)
        if page_name in ("qualification-questions", "instructions-check"):
            return self._on_instructions()
        return {
            "participant-consent": {"go": "agree", "age": "yes", "share": "yes"},
            "participant-entry": self._entry(),
            "participant-instructions": {},
            "participant-practice": {"go": "next"},
            "participant-qualification": {},
            "qualification-suggestions": {},
            "set-review": {},
        }.get(page_name or "")

    def _entry(self) -> dict[str, str]:
        """Return entry answers that qualify, or the first choices if none do."""
        eligibility = self.study.config.eligibility
        if eligibility is None:
            return {}
        return {
            question.key: question.find_accepted(eligibility.find_rule(question.key))
            for question in eligibility.questions
        }

    def _on_instructions(self) -> dict[str, str]:
        """Return the right answer to each question on the instructions, by most people."""
        questions = enumerate(self.study.config.comprehension, start=1)
        return {
            f"question-{number}": str(
                1 + question.choices.index(question.right) if self._answers_rightly() else 1
            )
            for number, question in questions
        }

    def _answers_rightly(self) -> bool:
        return self.draw.random() < _SHARE_BY_GOLD

    def _wants_more(self) -> bool:
        self.sets_wanted -= 1
        return self.sets_wanted > 0 and self.leaves_enough

    @property
    def leaves_enough(self) -> bool:
        """Return whether a set more leaves as many free as are to be kept."""
        needed = (self.sets_kept + 1) * mains_per_set(self.study)
        return not self.sets_kept or Slot.objects.free().filter(study=self.study).count() >= needed

    def _walks_away(self, address: str) -> bool:
        is_working = "/items/" in address
        return is_working and self.draw.random() < _SHARE_LEAVING / self.study.set_size

    def _rate(self, hidden: dict[str, str]) -> dict[str, str]:
        shown = read_shown(hidden["state"])
        if shown is None:
            raise ValidationError("A page showed a state that it doesn't read back.")
        item = Item.objects.get(pk=shown.item_id)
        slot = Slot.objects.get(pk=shown.slot_id) if shown.slot_id else None
        participant = Participant.objects.get(pk=shown.participant_id)
        screen = load_screen(participant, item, slot)
        outputs = screen.outputs
        self._spend(12, 90)
        values = {
            question.name: self._value(question, item, outputs) for question in screen.questions
        }
        if item.kind == Item.Kind.PRACTICE and self._answers_rightly():
            values |= right_entries(screen)
        values |= self._comments(screen)
        if item.kind != Item.Kind.PRACTICE:
            values |= self._marks(outputs)
        circumstances = {"device": self.draw.choice(["wide-landscape", "narrow-portrait"])}
        return {**hidden, **values, **circumstances, "go": "next"}

    def _comments(self, screen: Screen) -> dict[str, str]:
        """Return words on the answers: where they are asked for, and else now and then."""
        return {
            question.comment_name: self.draw.choice(_COMMENTS)
            for question in screen.questions
            if (comment := question.criterion.comment)
            and (comment.is_required or self.draw.random() < _SHARE_COMMENTING)
        }

    def _marks(self, outputs: list[Output]) -> dict[str, str]:
        """Mark a few words of an output now and then, where that can be done."""
        marks = {}
        for field in marks_fields(self.study.config, len(outputs)):
            text = outputs[field.number - 1].text
            words = list(re.finditer(r"\S+", text))
            if not words or self.draw.random() > _SHARE_MARKING:
                continue
            first = self.draw.randrange(len(words))
            last = min(first + self.draw.randrange(6), len(words) - 1)
            span = Span(words[first].start(), words[last].end())
            marks[field.name] = write_marks([span], text)
        return marks

    def _value(self, question: Question, item: Item, outputs: list[Output]) -> str:
        """Return an answer as this person would give it to this question."""
        felt = [
            self.crowd.worth_of(output, item) + self.bias + self.draw.gauss(0, self.noise)
            for output in outputs
        ]
        return question.scale.answer_as_bot(felt, question.place)

    def _spend(self, least: float, most: float) -> None:
        self.moment += timedelta(seconds=self.draw.triangular(least, most, least * 1.6))
