"""Small studies that hold every kind of stored row between them, to be kept as bundles.

One for each way in which a study may treat groups. `python -m tests.support.keep --bundles FOLDER`
packs them. Those in `fixtures/bundle` are never made again: later code writes another format.
"""

import json
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from django.test import Client

from evalsite.core.jobs.services import run_job
from evalsite.data.models import MetricFile, MetricScore
from evalsite.decisions.models import Exclusion
from evalsite.fieldwork.launch import launch_study
from evalsite.fieldwork.simulation import simulate_crowd
from evalsite.handout.claims import claim_set
from evalsite.lib.clock import now
from evalsite.participation.consent import withdraw
from evalsite.participation.saving import Submission, submit_annotation
from evalsite.people.models import Answer, Participant
from evalsite.people.recruiting import store_open_link, turn_on
from evalsite.studies.models import Item, Output, Study
from tests.support.answering import Entered
from tests.support.batches import import_rows
from tests.support.factories import make_annotator, make_user, mint_link
from tests.support.imported import load
from tests.support.instruments import GALLERY, make_built_study
from tests.support.kinds import DATA
from tests.support.sheet_pages import Sheet

# by the names of a rating page's fields
Answers = dict[str, str]
Row = dict[str, str]

# --- free: every kind of question about an output, passages, checks, other people's ratings ------

FREE_TEXT = "The ferry 👩‍🔬 leaves at nine, they say — “daily”."
FREE_MARKS = json.dumps([
    [start, start + len(quote), quote]
    for quote in ("ferry", "👩‍🔬", "daily")
    for start in [FREE_TEXT.index(quote)]
])  # fmt: skip
FREE_ANSWERS: Sequence[Answers] = (
    {
        "quality": "0", "quality.comment": "Half of it\nis missing.", "clear": "1", "score": "35",
        "slips": "2", "support": "part", "support.comment": "“daily”?", "problems.fact": "1",
        "problems.more": "1", "problems.more-text": "Sounds like gossip",
        "said.1": "1", "said.2": "0", "style.plain": "1", "style.short": "0",
        "advice": "Say when.\n=1+1", "highlights": FREE_MARKS,
        "note": "The source is old.",
    },
    {
        "quality": "na", "quality.comment": "Not English.", "clear": "na", "support": "na",
        "said.1": "na", "said.2": "na", "style.plain": "0", "style.short": "1",
        "problems.nothing": "1", "highlights": '[[0,3,"The"]]',
    },
    {
        "quality": "2", "clear": "1", "score": "na", "support": "all_of_it", "said.1": "1",
        "said.2": "1", "style.plain": "1", "style.short": "1", "note": "The source is old.",
    },
)  # fmt: skip


def make_free() -> Study:
    content = read_data(DATA / "kinds_of_one.json") | {
        "x_highlight": "Mark what is wrong.",
        "note": "What else?",
        "aids": [{"key": "dictionary", "label": "A dictionary"}],
        "ignore": {"reasons": [{"key": "broken", "label": "It can’t be read"}]},
    }
    rows = [
        {
            "item": f"item-{number}", "group": f"group-{(number + 1) // 2}", "kind": "main",
            "source": f"Day {number}: a ferry.", "facts": "The ferry leaves.\nAt nine.",
            "system": "alpha" if number % 2 else "β-system, “2”", "output": FREE_TEXT,
        }
        for number in range(1, 5)
    ]  # fmt: skip
    gold = {"gold_quality": "1..2", "gold_support": "all_of_it", "gold_why": "It is all there."}
    rows += [
        {
            **rows[0], **gold, "item": kind, "group": kind, "kind": kind,
            "source": f"A check of the kind {kind}.",
        }
        for kind in ("gold", "attention")
    ]  # fmt: skip
    study = launch(content, rows, k=5, set_size=4, checks_per_person=1, is_aided=True)
    people = [answer_set(study, FREE_ANSWERS, first) for first in range(3)]
    report_and_skip(study)
    main = list(study.items.main().order_by("pk"))
    values = {"quality": ("2", "na"), "clear": ("1", "0"), "support": ("part", "none_of_it")}
    load(study, [
        {
            "participant": f"w{person}", "item": item.key, "system": item.outputs.get().system.name,
            "criterion": criterion, "value": value, "submitted_at": "2026-08-30 10:00 CET",
        }
        for item in main[:2]
        for criterion, words in values.items()
        for person, value in enumerate(words)
    ], keeps_incomplete=True)  # fmt: skip
    exclude(study, people)
    score(study)
    return study


# --- together: comparisons with reasons, magnitudes, repeats -------------------------------------

TOGETHER_ANSWERS: Sequence[Answers] = (
    {
        "better": "-2", "better.1-useful": "1", "better.2-wrong": "1",
        "better.comment": "The second is made up.", "plain": "first", "topic": "fact",
        "safe-1": "4", "safe-2": "1", "tone-1.kind": "1", "size-1": "150", "size-2": " 70 ",
    },
    {
        "better": "both_bad", "better.1-wrong": "1", "what_is_bad": "Name a time.",
        "plain": "tie", "topic": "advice", "safe-1": "2", "safe-2": "3", "tone-1.kind": "1",
        "tone-1.rude": "1", "size-1": "1", "size-2": "999999",
    },
    {
        "better": "both_good", "plain": "second", "topic": "fact", "safe-1": "1", "safe-2": "2",
        "size-1": "80", "size-2": "80",
    },
)  # fmt: skip


def make_together() -> Study:
    content = read_data(DATA / "kinds_of_pairs.json")
    points = [{"value": -1, "label": "A"}, {"value": 0, "label": "Tie"}, {"value": 1, "label": "B"}]
    content["criteria"] += [
        {
            "key": "plain", "label": "Choice", "per": "item", "question": "Which one?",
            "scale": {"kind": "preference", "points": points},
        },
        {
            "key": "size", "label": "Size", "per": "output", "question": "How large is it?",
            "scale": {"kind": "magnitude"},
        },
    ]  # fmt: skip
    rows = [
        {
            "item": f"item-{number:02}", "group": f"group-{(number + 1) // 2:02}",
            "prompt": f"When does ferry {number} leave?", "system": system, "output": output,
        }
        for number in range(1, 25)
        for system, output in (("alpha", f"At {number} o’clock."), ("beta", "Soon."))
    ]  # fmt: skip
    study = launch(content, rows, k=2, set_size=24, groups="together", repeat_percent=5)
    people = [answer_set(study, TOGETHER_ANSWERS, 0)]
    exclude(study, people)
    return study


# --- once: turns of conversations, all items of a set on one page --------------------------------

ONCE_ANSWERS: Sequence[Answers] = (
    {
        "turn_quality-2": "4", "turn_quality-4": "1", "turn_problems-4.repeats": "1",
        "turn_problems-4.other": "1", "turn_problems-4.other-text": "Ends too soon",
        "turn_habits-2.greets": "1", "turn_habits-2.asks": "0", "turn_habits-4.greets": "0",
        "turn_habits-4.asks": "1", "goal_reached": "0", "overall": "2",
        "overall.comment": "The last turn.",
    },
    {
        "turn_quality-2": "5", "turn_quality-4": "3", "turn_habits-2.greets": "1",
        "turn_habits-2.asks": "1", "turn_habits-4.greets": "1", "turn_habits-4.asks": "1",
        "goal_reached": "na", "overall": "5",
    },
)  # fmt: skip


def make_once() -> Study:
    content = read_data(GALLERY / "conversation_turns.json")
    content["layout"] |= {"screen": "sheet"}
    content["criteria"].insert(2, {
        "key": "turn_habits", "label": "Habits", "per": "turn", "question": "What does it do?",
        "turns": content["criteria"][0]["turns"],
        "scale": {
            "kind": "checklist", "yes": "Yes", "no": "No",
            "statements": [
                {"key": "greets", "text": "It greets."}, {"key": "asks", "text": "It asks."},
            ],
        },
    })  # fmt: skip
    for example in content["practice"]:
        example["gold"].pop("turn_problems")
    turns = [
        {"role": role, "content": text}
        for role, text in (
            ("user", "Is it open?"), ("assistant", "Yes, since Sunday."),
            ("user", "Until when?"), ("assistant", "Until <b>six</b>."),
        )
    ]  # fmt: skip
    rows = [
        {
            "item": f"item-{number}", "group": f"group-{(number + 1) // 2}", "goal": "Know",
            "rated_turns": "4" if number == 3 else "", "system": f"system-{number % 2}",
            "output": json.dumps(turns, ensure_ascii=False),
        }
        for number in range(1, 9)
    ]  # fmt: skip
    study = launch(content, rows, k=2, set_size=4, groups="once")
    people = [answer_sheet(study, ONCE_ANSWERS), answer_sheet(study, ONCE_ANSWERS[::-1])]
    exclude(study, people)
    return study


# --- what they share ------------------------------------------------------------------------------


def read_data(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_bytes())
    return content


def launch(content: dict[str, Any], rows: Sequence[Row], **fields: Any) -> Study:
    """Return a live study of this instrument and batch, to which a simulated person came."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    study = make_built_study(content, is_demo=True, **fields)
    import_rows(study, [{name: row.get(name, "") for name in names} for row in rows])
    job = run_job(launch_study(study=study, by=make_user()))
    assert job.state == "done", job.message
    study.refresh_from_db()
    turn_on(recruitment=store_open_link(study), by=make_user())
    list(simulate_crowd(study, participants=1, seed="kept"))
    return study


def make_person(study: Study) -> Participant:
    person = make_annotator(study, origin="simulated")
    Answer.objects.create(
        study=study, participant=person, question="feedback", value="Went well,\n“thanks”."
    )
    return person


def answer_set(study: Study, answers: Sequence[Answers], first: int) -> Participant:
    """Let a person answer a whole set with these answers in turn, and change the first answer."""
    person = make_person(study)
    client, home = Client(), mint_link(person)
    client.post(f"{home}start/")
    places = range(1, len(person.item_sets.get().item_ids) + 1)
    for place, number in [*zip(places, count(first), strict=False), (1, first + 1)]:
        address = f"{home}sets/1/items/{place}/"
        state = Entered(client.get(address).content.decode()).values["state"]
        page = client.post(address, {"state": state, "go": "next"} | answers[number % len(answers)])
        assert page.status_code == 302, page.context["errors"]
    client.post(f"{home}sets/1/review/")
    return person


def answer_sheet(study: Study, answers: Sequence[Answers]) -> Participant:
    """Let a person answer all items of a set on one page, and change the first answer."""
    sheet = Sheet(me=make_person(study))
    places = range(1, len(sheet.me.item_sets.get().item_ids) + 1)
    for first in (0, 1):
        page = sheet.open().save(*(
            {f"q{place}-{name}": value for name, value in answers[(place + first) % 2].items()}
            for place in places
        ))  # fmt: skip
        assert page.status_code == 302, page.context["errors"]
    sheet.client.post(f"{sheet.home}sets/1/review/")
    return sheet.me


def report_and_skip(study: Study) -> None:
    """Let one person report an item, skip another and ignore a third, and one leave with all."""
    person = make_person(study)
    item_set = claim_set(person)
    assert item_set is not None
    items = Item.objects.in_bulk(item_set.item_ids)
    mains = [pk for pk in item_set.item_ids if items[pk].kind == Item.Kind.MAIN]
    outcomes = (("reported", "missing"), ("skipped", ""), ("ignored", "broken"))
    for pk, (outcome, reason) in zip(mains, outcomes, strict=False):
        submission = Submission(
            item=items[pk], outcome=outcome, reason=reason, item_set_id=item_set.pk,
            place=item_set.item_ids.index(pk) + 1, version_id=study.version_id,
        )  # fmt: skip
        submit_annotation(participant=person, submission=submission)
    withdraw(participant=answer_set(study, FREE_ANSWERS, 0), is_kept=False)


def exclude(study: Study, people: Sequence[Participant]) -> None:
    """Leave out the last person, and answers of the first, one of which was taken back."""
    decided = {"study": study, "decided_by": make_user()}
    first, second = people[0].annotations.order_by("pk")[:2]  # type: ignore[attr-defined]
    Exclusion.objects.create(
        participant=people[-1], reason="=1+1, too fast", rule="pace", **decided
    )
    Exclusion.objects.create(annotation=first, reason="odd", revoked_at=now(), **decided)
    Exclusion.objects.create(annotation=second, reason="odd", **decided)


def score(study: Study) -> None:
    """Store the scores of two metrics, with more digits than a table of six would keep."""
    file = MetricFile.objects.create(study=study, file_name="scores.csv", sha256="0" * 64)
    outputs = Output.objects.filter(item__study=study, item__kind="main").order_by("pk")
    for metric in ("BLEU", "=β, “2”"):
        for number, output in enumerate(outputs):
            MetricScore.objects.create(
                file=file, output=output, metric=metric, value=number / 7 - 1e-17
            )


MAKERS: dict[str, Callable[[], Study]] = {
    "free": make_free,
    "together": make_together,
    "once": make_once,
}
