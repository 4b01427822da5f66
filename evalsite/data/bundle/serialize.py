"""What study.json, analysis-plan.json and design/plan.csv say of a study, as plain data.

Pilots are left out, as in every export.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from typing import Any

from evalsite.data.bundle.codec import Writer
from evalsite.data.bundle.format import (
    ANALYSIS_PLAN_FIELDS,
    BUILT,
    FROZEN,
    FROZEN_FIELDS,
    STUDY_FIELDS,
    STUDY_FIELDS_IF_ANY,
    Contents,
    to_plain,
    write_order,
)
from evalsite.data.bundle.read import in_pages
from evalsite.data.bundle.tables import LISTS, LISTS_IF_ANY, PLAN_PARTS, select_annotations
from evalsite.data.files.selection import shared
from evalsite.data.models import MetricScore
from evalsite.decisions.frozen_plans import count_answers_at, has_imported, plan_of
from evalsite.decisions.models import AnalysisPlan, Exclusion
from evalsite.handout.models import Rating, Revision, Slot
from evalsite.handout.slots import count_strays, planned_slots
from evalsite.instruments.schema import Criterion
from evalsite.lib.seeds import arrange
from evalsite.people.models import ItemSet, Participant
from evalsite.studies.models import Item, Output, Study, System

Plain = dict[str, Any]
PAGE = 500
_COUNTED = {
    "outputs": Output, "places": Slot, "participants": Participant, "sets": ItemSet,
    "revisions": Revision, "exclusions": Exclusion, "metrics": MetricScore,
}  # fmt: skip


def read_study(writer: Writer) -> Plain:
    """Return the study itself, its versions, systems, and files of items, ratings and scores."""
    study = writer.study
    settings = {name: to_plain(getattr(study, name)) for name in STUDY_FIELDS}
    has_files = writer.contents.has_data
    lists = {
        name: list(writer.write(rows)) if has_files or name in ("versions", "batches") else []
        for name, rows in LISTS.items()
    }
    return {
        **{
            name: value
            for name, value in settings.items()
            if value or name not in STUDY_FIELDS_IF_ANY
        },
        **{name: rows for name, rows in lists.items() if rows or name not in LISTS_IF_ANY},
        "id": str(study.pk),
        "version": study.version and study.version.number,
        # in the order in which they were made: the plan is drawn again from it
        "systems": list(
            System.objects.filter(study=study).order_by("id").values_list("name", flat=True)
        ),
        # only of an instrument that was built, so that other bundles stay as they were
        **({BUILT: study.instrument.content} if study.instrument else {}),
    }


def read_places(writer: Writer) -> Iterator[list[Any]]:
    """Read the rows of plan.csv: every place in dealing order, or those a launch would make."""
    seed = writer.study.seed
    for page in in_pages(_list_places(writer.study), PAGE):
        ids = {place[0] for place in page}
        keys = dict(Item.objects.filter(pk__in=ids).values_list("pk", "key"))
        outputs = Output.objects.filter(item__in=ids).order_by()
        sizes = Counter(outputs.values_list("item_id", flat=True))
        for item_id, no, pos, arrangement in page:
            writer.counts[Slot] += 1
            order = arrange(sizes[item_id], arrangement, seed, keys[item_id])
            yield [keys[item_id], no + 1, pos, arrangement, write_order(order)]


def _list_places(study: Study) -> Iterator[tuple[int, int, int, int]]:
    """Return the item, number, position and arrangement of each place."""
    # a draft has open batches too, once ratings collected elsewhere were imported
    if study.batches.filter(opened_at__isnull=False).exists():
        slots = Slot.objects.filter(study=study, item__batch__opened_at__isnull=False)
        slots = slots.order_by("pos", "item_id", "no")
        columns = ("item_id", "no", "pos", "arrangement")
        yield from slots.values_list(*columns).iterator(chunk_size=PAGE)
        return
    planned = planned_slots(study, study.batches.all())
    base = 0
    for _, layer in groupby(planned, key=attrgetter("no")):
        places = sorted(layer, key=attrgetter("rank", "item_id"))
        for place in places:
            yield place.item_id, place.no, base + place.rank, place.arrangement
        base += places[-1].rank + 1


def list_counts(writer: Writer) -> Plain:
    """Return how many rows of each kind were written, and places other than the seed gives."""
    names = ("items", "annotations", "origins")
    return {
        **{name: writer.counts[model] for name, model in _COUNTED.items()},
        "ratings": writer.counts[Rating] - writer.marks,
        "highlights": writer.marks,
        **{name: dict(writer.tallies[name]) for name in names},
        "strays": count_strays(writer.study),
    }


def count_left_out(study: Study, contents: Contents) -> dict[str, int] | None:
    """Return how many people and annotations a bundle for the public lacks; else None."""
    if not Writer(study, contents).is_partial:
        return None
    people = Participant.objects.filter(study=study, is_pilot=False)
    answers = select_annotations(Writer(study, Contents()))
    return {
        "participants": people.exclude(shared()).count(),
        "annotations": answers.exclude(shared("participant__")).count(),
    }


# --- the analysis plan --------------------------------------------------------------------


def read_plan(study: Study) -> Plain:
    """Return the analysis plan as plain data; without `changed_at` if there is none."""
    plan = plan_of(study)
    plain = {name: to_plain(getattr(plan, name)) for name in ANALYSIS_PLAN_FIELDS}
    return plain | {
        "changed_at": None if plan.pk is None else plain["changed_at"],
        "repeats": to_plain(plan.repeats_id),
        "answers_before": count_answers_at(plan),
        "has_imported": has_imported(study),
        "criteria": [_describe_criterion(criterion) for criterion in study.config.criteria],
        **_read_frozen(plan),
    }


def _read_frozen(plan: AnalysisPlan) -> Plain:
    """Return what a plan holds beyond its first parts, under their key; {} where there is none."""
    writer, empty = Writer(plan.study, Contents()), AnalysisPlan(study=plan.study)
    parts = {name: list(writer.write(rows)) for name, rows in PLAN_PARTS.items()}
    fields = {name: getattr(plan, name) for name in FROZEN_FIELDS}
    is_empty = all(fields[name] == getattr(empty, name) for name in FROZEN_FIELDS)
    return {} if is_empty and not any(parts.values()) else {FROZEN: {**fields, **parts}}


def _describe_criterion(criterion: Criterion) -> Plain:
    """Return what the scripts need to know of a criterion beside its rows in ratings.csv."""
    options = [key for key, _label in criterion.scale.list_options()]
    is_of_item = not criterion.is_of_outputs and not criterion.scale.compares
    return {
        "key": criterion.key,
        "family": criterion.family,
        "better": criterion.direction,
        **({"options": options} if options else {}),
        **({"per": "item"} if is_of_item else {}),
    }
