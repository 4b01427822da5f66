"""Twenty studies and what their reports hold: `python -m tests.support.stored_reports FOLDER`.

The six demo studies, the five kinds of `STUDIES` that scripts are compared with, and nine that are
hard to report. Of each: `figures.jsonl`, one figure a line, and the plain text of the pages, of the
stand-alone HTML and of the LaTeX. The same code makes the same bytes.
"""

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

from tests.support.keep import FixedBytes, PageText, fixed_site

PAIRED = "pairwise"
# English, Arabic and what LaTeX, Markdown, HTML or Excel would run
NAMES = (
    "a_b & 100 % {$x^2$} #~--\\input{/etc/passwd}",
    '<script>alert(1)</script><b>"bold" \'</b>',
    '=HYPERLINK("x") [x] * `c` | \N{RIGHT-TO-LEFT OVERRIDE}نظام العربية',
)
TITLE = "Hostile </title> \\end{document} % & _ # **bold** نظام"


@dataclass(frozen=True, kw_only=True)
class Rated:
    """A study to be filled: what its systems are worth, and who rates how many items."""

    instrument: Any
    worth: dict[str, float]
    people: int = 4
    items: int = 6
    plan: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)
    origin: str = "own"
    noise: float = 0.8
    spread: float = 0.4


def ask(key: str, label: str, scale: dict[str, Any]) -> dict[str, Any]:
    return {
        "key": key, "label": label, "per": "output", "question": f"{label}?", "scale": scale,
    }  # fmt: skip


def make_instrument(*criteria: dict[str, Any]) -> dict[str, Any]:
    """Return an instrument of one output an item, with these questions."""
    from tests.support.instruments import GALLERY

    content = json.loads((GALLERY / "adequacy_fluency.json").read_bytes())
    kept = {name: content[name] for name in ("format", "language", "item", "layout", "source")}
    return kept | {
        "key": "asked", "version": 1, "title": "Asked", "summary": "Some questions.",
        "instructions_title": "Rate", "instructions": "Rate each translation.",
        "criteria": list(criteria),
    }  # fmt: skip


LIKERT = {
    "kind": "likert",
    "points": [{"value": value, "label": f"Point {value}"} for value in range(1, 6)],
}
DECISION = {"kind": "decision", "yes": "Acceptable", "no": "Not acceptable"}
THREE = {"A": 0.0, "B": 0.4, "C": 1.0}


def list_rated() -> dict[str, Rated]:
    two = make_instrument(ask("fluency", "Fluency", LIKERT), ask("adequacy", "Adequacy", LIKERT))
    one = make_instrument(ask("quality", "Quality", LIKERT))
    margins = [
        {"criterion": "adequacy", "system": "B", "relation": "not_worse", "other": "A",
         "margin": 0.9},
        {"criterion": "adequacy", "system": "C", "relation": "equivalent", "other": "B",
         "margin": 0.4},
        {"criterion": "fluency", "system": "A", "relation": "equivalent", "other": "B",
         "margin": 1.5},
        {"criterion": "fluency", "system": "A", "relation": "not_worse", "other": "B",
         "margin": 9},
    ]  # fmt: skip
    decision = make_instrument(ask("acceptable", "Acceptable", DECISION))
    return {
        "five-points": Rated(instrument=two, worth=THREE),
        "five-preferences": Rated(instrument=PAIRED, worth=THREE, items=9),
        "five-decisions": Rated(
            instrument=decision, worth={"A": 0.0, "B": 0.8, "C": -0.6},
        ),
        "five-magnitudes": Rated(instrument="magnitude", worth=THREE),
        "five-margins": Rated(
            instrument=two, worth=THREE, people=6,
            plan={"primary": "adequacy", "margins": margins},
        ),
        "nine-ties": Rated(
            instrument=PAIRED, worth={"A": 0.0, "B": 0.02}, items=12, noise=0.2, spread=0.02,
        ),
        "nine-one-rater": Rated(instrument=two, worth=THREE, people=1),
        "nine-one-item": Rated(instrument=two, worth=THREE, items=1, people=5),
        "nine-forty-systems": Rated(
            instrument=one, worth={f"system-{n:02}": n / 20 for n in range(40)}, items=4, people=3,
        ),
        "nine-hostile": Rated(
            instrument="magnitude", worth=dict(zip(NAMES, (0.0, 0.5, 1.0), strict=True)),
            fields={"title": TITLE},
        ),
        "nine-simulated": Rated(instrument=two, worth=THREE, origin="simulated"),
        "nine-excluded": Rated(
            instrument=two,
            worth=THREE,
            plan={
                "primary": "fluency",
                "hypotheses": [
                    {"criterion": "fluency", "system": "C", "relation": "better", "other": other}
                    for other in ("A", "B")
                ],
            },
        ),
        "nine-imported": Rated(instrument=two, worth=THREE, people=0),
        "nine-not-sharing": Rated(
            instrument=two, worth=THREE, people=6, fields={"asks_to_share": True},
        ),
    }  # fmt: skip


# --- filling studies ----------------------------------------------------------------------------


class NamedBytes(FixedBytes):
    """A sequence for each study, so that each can be made without the others."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def __call__(self, size: int) -> bytes:
        content = super().__call__(size)
        return b"".join(
            sha256(self.name.encode() + content[start : start + 32]).digest()
            for start in range(0, size, 32)
        )[:size]


def make_rated(name: str, rated: Rated) -> Any:
    """Return a live study whose people have answered everything."""
    from evalsite.decisions.models import AnalysisPlan
    from evalsite.studies.models import Study
    from tests.support.factories import launch, make_study, make_user
    from tests.support.instruments import make_built_study

    # whoever owns all of them is made before the sequence begins
    owner = make_user()
    os.urandom = random._urandom = NamedBytes(name)  # type: ignore[attr-defined]
    fields = {"by": owner, "title": name, "set_size": 4, "k": max(rated.people, 1), **rated.fields}
    if isinstance(rated.instrument, str):
        study = make_study(protocol=rated.instrument, items=0, **fields)
    else:
        study = make_built_study(rated.instrument | {"key": name.replace("-", "_")}, **fields)
    add_items(study, list(rated.worth), rated.items)
    if rated.plan:
        AnalysisPlan.objects.create(study=study, **rated.plan)
    study = launch(study)
    for number in range(rated.people):
        answer_all(study, rated, number)
    if rated.people:
        study.refresh_from_db()
    special = SPECIAL.get(name)
    if special:
        special(study)
    Study.objects.filter(pk=study.pk).update(state="closed", closed_at=study.launched_at)
    return Study.objects.get(pk=study.pk)


def add_items(study: Any, systems: Sequence[str], count: int) -> None:
    """Add so many inputs, each with an output of every system (of two in turn, for pairs)."""
    from itertools import combinations, cycle

    from evalsite.studies.models import Batch, Item, Output, System
    from evalsite.studies.services import item_keys
    from tests.support.batches import sample_of

    known = {name: System.objects.create(study=study, name=name) for name in systems}
    batch = Batch.objects.create(study=study, file_name="batch.csv", sha256="b" * 64, rows=count)
    config = study.config
    pairs = cycle(combinations(systems, 2))
    for number in range(1, count + 1):
        if config.item.outputs.most == 1:
            screens = [[name] for name in systems]
        elif config.item.outputs.most == 2:
            screens = [list(next(pairs))]
        else:
            screens = [list(systems)]
        for place, shown in enumerate(screens, start=1):
            item = Item.objects.create(
                study=study, batch=batch,
                inputs={column.name: sample_of(column, number) for column in config.columns},
                **item_keys(study, key=f"item-{number:03}-{place:02}", group=f"g{number:03}"),
            )  # fmt: skip
            Output.objects.bulk_create(
                Output(
                    study=study, item=item, system=known[name], position=position,
                    text=f"Text {number} in version {systems.index(name) + 1}.",
                )
                for position, name in enumerate(shown)
            )  # fmt: skip


def answer_all(study: Any, rated: Rated, number: int) -> Any:
    """Let one more person answer every item."""
    from evalsite.handout.models import Annotation, Rating, Slot
    from evalsite.instruments.answer import AnswerRow
    from evalsite.instruments.questions import list_questions
    from evalsite.studies.models import Item
    from tests.support.factories import make_annotator

    fields = {"origin": rated.origin} if rated.origin != "own" else {}
    me = make_annotator(study, **fields)
    draw = Random(f"{study.title}/{number}")
    strict = draw.gauss(0, rated.spread)
    started = study.launched_at
    for item in Item.objects.main().filter(study=study).order_by("pk"):
        outputs = list(item.outputs.order_by("position").select_related("system"))
        shown = draw.sample(range(len(outputs)), len(outputs))
        hard = Random(f"{study.title}/{item.group}").gauss(0, rated.spread)
        felt = {
            output.pk: rated.worth[output.system.name] + strict + hard + draw.gauss(0, rated.noise)
            for output in outputs
        }
        started += timedelta(seconds=draw.randrange(15, 90))
        slot = Slot.objects.create(
            study=study, item=item, no=100 + number, pos=100 + number, arrangement=number,
            state=Slot.State.DONE, participant=me,
        ) if not item.slots.filter(participant=None).exists() else take_slot(item, me)  # fmt: skip
        answer = Annotation.objects.create(
            study=study, item=item, participant=me, slot=slot, key=UUID(int=draw.getrandbits(128)),
            status="counted", version_id=study.version_id, order_shown=shown, started_at=started,
            submitted_at=started + timedelta(seconds=draw.randrange(8, 40)), **fields,
        )  # fmt: skip
        on_page = [outputs[place] for place in shown]
        for question in list_questions(study.config, item.inputs, on_page):
            tastes = [
                felt[output.pk]
                + Random(f"{question.criterion.key}/{output.system.name}").gauss(0, 0.2)
                + draw.gauss(0, rated.noise / 2)
                for output in on_page
            ]
            entry = question.scale.answer_as_bot(tastes, question.place)
            value = question.make_field(is_one_of_several=False).clean(entry)
            about = AnswerRow(item.pk, question.output, question.criterion.key, question.turn)
            Rating.objects.bulk_create(
                Rating(
                    study=study, annotation=answer, output_id=row.output, criterion=row.criterion,
                    turn=row.turn, part=row.part, value=row.value, text=row.text, detail=row.detail,
                )
                for row in question.make_rows(value, about)
            )  # fmt: skip
    return me


def take_slot(item: Any, me: Any) -> Any:
    slot = item.slots.filter(participant=None).order_by("no").first()
    slot.participant, slot.state = me, slot.State.DONE
    slot.save()
    return slot


def exclude_one(study: Any) -> None:
    """Leave a person out by hand, and change a frozen plan: deviations."""
    from evalsite.decisions.exclusion_rules import list_conditions
    from evalsite.decisions.frozen_plans import freeze_plan, plan_of
    from evalsite.decisions.models import Exclusion
    from evalsite.results.analysis_plan.stored import change_plan, mark_plan
    from tests.support.factories import make_user

    freeze_plan(study, make_user("planner"), "")
    person = study.participants.order_by("pk").first()
    Exclusion.objects.create(study=study, participant=person, reason="Slipped & said so <b>")
    plan = plan_of(study)
    change_plan(
        study=study, values={"exclusion_rule": "Under 2 s & 50%."},
        seen=mark_plan(plan, list_conditions(study)), by=make_user("planner"),
        reason="We forgot the rule",
    )  # fmt: skip


def import_answers(study: Any) -> None:
    from tests.support.imported import load, rows_for

    load(study, rows_for(study, people=("w1", "w2", "w3")))


def keep_half(study: Any) -> None:
    for number, person in enumerate(study.participants.order_by("pk")):
        person.may_share = number % 2 == 0
        person.save()


SPECIAL = {
    "nine-excluded": exclude_one,
    "nine-imported": import_answers,
    "nine-not-sharing": keep_half,
}


# --- what is stored -----------------------------------------------------------------------------

GROUPS = ("criterion", "system", "system_1", "system_2", "participant", "item", "metric", "code")


def list_figures(found: Any, place: tuple[Any, ...] = ()) -> Iterator[dict[str, Any]]:
    """Yield every figure of a report with the place where it was found."""
    if isinstance(found, dict):
        if {"name", "value", "low", "high", "method"} <= set(found):
            yield {"place": "/".join(map(str, place)), **found}
            return
        for name, part in found.items():
            yield from list_figures(part, (*place, name))
    elif isinstance(found, list):
        for number, part in enumerate(found):
            yield from list_figures(part, (*place, name_part(part, number)))


def name_part(part: Any, number: int) -> Any:
    """Return what the part is of, or else its number."""
    if isinstance(part, dict):
        named = [part[key] for key in GROUPS if isinstance(part.get(key), str)]
        if "key" in part and "label" in part:
            named = [part["key"]]
        if named:
            return "+".join(named)
        if "name" in part and "method" in part:
            return number
    return number


def write_figures(content: dict[str, Any]) -> str:
    lines = [json.dumps(figure, ensure_ascii=False) for figure in list_figures(content)]
    return "\n".join(lines) + "\n"


def keep_report(study: Any, folder: Path, client: Any) -> None:
    """Write figures, pages, HTML and LaTeX of the study's report."""
    from django.urls import reverse

    from evalsite.results.report.computation import compute_report
    from evalsite.results.report.files import list_files, write_page

    report = compute_report(study)
    folder.mkdir(parents=True)
    (folder / "figures.jsonl").write_text(write_figures(report.content))
    (folder / "report.json").write_text(
        json.dumps(report.content, indent=1, ensure_ascii=False, default=str)
    )
    questions = [criterion.key for criterion in study.config.criteria]
    pages = {
        name: reverse(f"admin:results-{name}", args=[study.pk]) for name in ("raters", "design")
    }
    pages |= {key: reverse("admin:results-question", args=[study.pk, key]) for key in questions}
    pages["summary"] = reverse("admin:study-results", args=[study.pk])
    for name, address in pages.items():
        page = client.get(address).content.decode()
        (folder / f"page-{name}.txt").write_text(PageText(page).text)
    for name, is_further in (("report", False), ("further", True)):
        page = write_page(study, report, is_further=is_further)
        (folder / f"{name}.html.txt").write_text(PageText(page).text)
    for name, content in list_files(study, report).items():
        if name.endswith(".tex"):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(content)


def make_studies() -> Iterator[tuple[str, Any]]:
    from evalsite.core.accounts.researchers import find_or_make_first
    from evalsite.data.demo import add_demo_crowds, make_demo_studies
    from evalsite.studies.models import Study
    from tests.support.keep import name_folder

    user, _ = find_or_make_first()
    make_demo_studies(by=user)
    add_demo_crowds()
    for study in Study.objects.select_related("instrument").order_by("created_at", "pk"):
        yield f"demo-{name_folder(study)}", study
    for name, rated in list_rated().items():
        yield name, make_rated(name, rated)


def store(folder: Path, only: Sequence[str]) -> None:
    from django.contrib.auth.models import User
    from django.test import Client

    client = Client(HTTP_HOST="localhost")
    for name, study in make_studies() if not only else make_chosen(only):
        client.force_login(User.objects.get_or_create(username="root", is_superuser=True,
                                                      is_staff=True)[0])  # fmt: skip
        begun = time.perf_counter()
        keep_report(study, folder / name, client)
        figures = (folder / name / "figures.jsonl").read_text().count("\n")
        seconds = time.perf_counter() - begun
        sys.stdout.write(f"{name}: {figures:,} figures, {seconds:.1f} s\n")
        sys.stdout.flush()


def make_chosen(names: Sequence[str]) -> Iterator[tuple[str, Any]]:
    for name, rated in list_rated().items():
        if name in names:
            yield name, make_rated(name, rated)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.support.stored_reports")
    parser.add_argument("folder", type=Path, help="a new or empty folder")
    parser.add_argument("--only", nargs="*", default=[], help="some studies of the last fourteen")
    chosen = parser.parse_args()
    folder = chosen.folder.resolve()
    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f"{folder} isn't empty. Name a new folder.")
    with fixed_site():
        store(folder, chosen.only)


if __name__ == "__main__":
    main()
