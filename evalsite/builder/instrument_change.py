"""Another instrument for a draft: items and what was typed stay, and so does what still fits."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.timezone import now

from evalsite.builder.first_items import Record, list_main, list_records
from evalsite.core.audit.models import AuditEntry
from evalsite.data.items.columns import find_tuple_size, makes_pairs
from evalsite.data.items.importer import check_open_for_items
from evalsite.data.items.item_builder import Pair
from evalsite.data.items.tuples import make_tuples
from evalsite.data.models import MetricFile, MetricScore
from evalsite.decisions.models import AnalysisPlan, Note
from evalsite.fieldwork.pilot import discard_pilots, pilot_answers
from evalsite.handout.models import Annotation
from evalsite.instruments.installed import get_protocol
from evalsite.instruments.schema import KINDS_OF_OUTPUTS, Instrument
from evalsite.lib.counts import count_together
from evalsite.lib.words import count_of
from evalsite.people.models import PilotComment
from evalsite.studies.items import count_words, keep_numbers, number_items
from evalsite.studies.models import InstrumentVersion, Item, Output, Study
from evalsite.studies.questions import EXAMPLES, check_own_examples
from evalsite.studies.services import add_practice_items, list_defaults
from evalsite.studies.version_cache import read_built

_AT_ONCE = 500
# outputs of items that are written again while a page waits
MOST_CHANGED = 20_000
_LONGEST_KEY = 128
_CHECKS = (Item.Kind.GOLD, Item.Kind.ATTENTION, Item.Kind.PRACTICE)


class InstrumentChanged(ValidationError):
    """Somebody else chose another instrument after the page was opened."""


def name_instrument(study: Study) -> str:
    """Return what the instrument of a study is called in forms."""
    return (
        f"version:{study.instrument_id.hex}"
        if study.instrument_id
        else f"protocol:{study.protocol}"
    )


# --- what a change takes away -------------------------------------------------------


def list_losses(study: Study, *configs: Instrument) -> list[list[str]]:
    """Say for each of these instruments what no longer fits it and would be deleted, one thing a
    sentence."""
    counts = count_together(
        pilots=pilot_answers(study),
        checks=_list_checks(study),
        scores=MetricScore.objects.filter(output__study=study),
        notes=Note.objects.filter(study=study, item__isnull=False),
        comments=PilotComment.objects.filter(study=study, item__isnull=False),
    )
    return [_describe_losses(study, config, counts) for config in configs]


def _describe_losses(study: Study, config: Instrument, counts: Mapping[str, int]) -> list[str]:
    losses = []
    if pilots := counts["pilots"]:
        losses.append(f"{count_of(pilots, 'answer')} of people who tried the study.")
    if checks := counts["checks"]:
        losses.append(f"{count_of(checks, 'check')} with right answers to the old questions.")
    if not _keeps_shape(study.config, config):
        if scores := counts["scores"]:
            losses.append(f"{count_of(scores, 'score')} of metrics.")
        if notes := counts["notes"] + counts["comments"]:
            losses.append(f"{count_of(notes, 'note')} about single items.")
    if check_own_examples(config, study.questions):
        losses.append("The examples that were changed for this study.")
    known = {criterion.key for criterion in config.criteria}
    plan = getattr(study, "analysis_plan", None)
    planned = set()
    if plan:
        rows = (*plan.margins, *plan.hypotheses)
        planned = {plan.primary, *(str(row.get("criterion", "")) for row in rows)} - {""}
    if lost := sorted(planned - known):
        losses.append(f"What the plan says of {', '.join(lost)}.")
    return losses


def _list_checks(study: Study) -> Any:
    return Item.objects.filter(study=study, kind__in=_CHECKS, batch__isnull=False) | (
        Item.objects.filter(study=study, kind__in=_CHECKS[:2])
    )


def _keeps_shape(old: Instrument, new: Instrument) -> bool:
    """Tell whether items hold the same outputs with both instruments."""
    if old.item.outputs.most == 1 or new.item.outputs.most == 1:
        return old.item.outputs.most == new.item.outputs.most
    shapes = [(makes_pairs(config), find_tuple_size(config)) for config in (old, new)]
    return shapes[0] == shapes[1]


# --- the change ---------------------------------------------------------------------


@transaction.atomic
def change_instrument(
    *, study: Study, choice: Mapping[str, Any], inputs: Mapping[str, str], was: str, by: Any
) -> Study:
    """Give a draft another instrument; `inputs` are those of its items by the new one's names.

    InstrumentChanged if it isn't the one that the page showed. The same choice again changes
    nothing.
    """
    check_open_for_items(study)
    current = Study.objects.select_for_update(of=("self",)).get(pk=study.pk)
    version: InstrumentVersion | None = choice.get("instrument")
    protocol = str(choice.get("protocol", ""))
    config = get_protocol(protocol) if version is None else read_built(version.pk, "")
    if (version, protocol) == (current.instrument, current.protocol if version is None else ""):
        return current
    if name_instrument(current) != was:
        raise InstrumentChanged(
            f"Meanwhile the instrument was changed to “{current.config.title}”. Nothing was "
            "overwritten. Choose again.",
            code="changed",
        )
    if current.is_launched or current.version_id is not None:
        raise ValidationError("The study is launched, so its instrument is fixed.", code="frozen")
    if Annotation.objects.filter(study=current).exclude(pk__in=pilot_answers(current)).exists():
        raise ValidationError("The study has answers, so its instrument is fixed.", code="answers")
    old = current.config
    before = list_defaults(old, is_built=current.instrument_id is not None)
    _drop_what_does_not_fit(current, config)
    if _keeps_shape(old, config):
        _rename_inputs(current, config, inputs)
    else:
        _regroup(current, config, inputs)
    current.instrument, current.protocol = version, config.key
    after = list_defaults(config, is_built=version is not None)
    for name, value in before.items():
        if getattr(current, name) == value and name in after:
            setattr(current, name, after[name])
    # settings that only the old instrument had
    if current.options.keys() != config.default_options.keys():
        current.options = config.default_options
    current.revision += 1
    current.save()
    count_words(current)
    add_practice_items(current, config)
    AuditEntry.objects.record(
        "instrument changed", by=by, study_id=current.pk, before=old.key, protocol=config.key
    )
    return current


def _drop_what_does_not_fit(study: Study, config: Instrument) -> None:
    discard_pilots(study)
    if check_own_examples(config, study.questions):
        study.questions = {k: kept for k, kept in study.questions.items() if k != EXAMPLES}
    practice = Item.objects.filter(study=study, kind=Item.Kind.PRACTICE)
    going = practice | Item.objects.filter(study=study, kind__in=_CHECKS)
    keep_numbers(study, without=going)
    going.delete()
    plan = AnalysisPlan.objects.filter(study=study).first()
    if plan is not None:
        known = {"", *(criterion.key for criterion in config.criteria)}
        plan.margins = [row for row in plan.margins if row.get("criterion", "") in known]
        plan.hypotheses = [row for row in plan.hypotheses if row.get("criterion", "") in known]
        plan.primary = plan.primary if plan.primary in known else ""
        plan.changed_at = now()
        plan.save()


def _move_inputs(
    config: Instrument, inputs: Mapping[str, str], item: Item
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what an item shows with the new instrument, and what is kept beside it."""
    known = {**item.extra, **item.inputs}
    sources = dict(inputs) | {
        column.name: column.name for column in config.columns if column.kind in KINDS_OF_OUTPUTS
    }
    shown = {name: known[source] for name, source in sources.items() if known.get(source)}
    taken = {*sources.values()}
    return shown, {name: text for name, text in known.items() if name not in taken}


def _check_size(study: Study) -> None:
    outputs = Output.objects.filter(item__in=Item.objects.filter(study=study).main())
    if outputs.count() > MOST_CHANGED:
        raise ValidationError(
            f"The study has more than {MOST_CHANGED:,} outputs, too many to change the instrument "
            "of. Start a new study with your file, and choose the instrument there.",
            code="too_many",
        )


def _rename_inputs(study: Study, config: Instrument, inputs: Mapping[str, str]) -> None:
    names = {column.name for column in study.config.columns}
    if {**inputs} == {name: name for name in names}:
        return
    _check_size(study)
    items = Item.objects.filter(study=study).main().order_by("id").iterator(chunk_size=_AT_ONCE)
    while page := list(islice(items, _AT_ONCE)):
        for item in page:
            item.inputs, item.extra = _move_inputs(config, inputs, item)
        Item.objects.bulk_update(page, ["inputs", "extra"])


def _regroup(study: Study, config: Instrument, inputs: Mapping[str, str]) -> None:
    """Make the items again where another number of the same outputs is shown at a time."""
    main = Item.objects.filter(study=study).main()
    _check_size(study)
    records = list(list_records(study, list_main(study)))
    least = config.item.outputs.least
    if short := sum(len(record.outputs) < least for record in records):
        raise ValidationError(
            f"{count_of(short, 'item')} with fewer than {least} outputs can’t be shown. Remove "
            "the batch, or choose another instrument.",
            code="output_count",
        )
    keep_numbers(study, without=main)
    Output.objects.filter(item__in=main).delete()
    main.delete()
    MetricFile.objects.filter(study=study, scores__isnull=True).delete()
    numbers = number_items(study)
    screens = chain.from_iterable(_make_screens(config, study.seed, record) for record in records)
    taken: set[str] = set()
    while page := list(islice(screens, _AT_ONCE)):
        made = []
        for key, record, outputs in page:
            key = _find_free(key, taken)
            shown, extra = _move_inputs(config, inputs, record.first)
            if key != record.key:
                extra["item"] = record.key
            item_numbers = numbers(key, record.first.group)
            made.append((Item(
                study=study, batch_id=record.first.batch_id, key=key, group=record.first.group,
                cluster=record.first.cluster, inputs=shown, extra={**record.extra, **extra},
                shuffle_key=item_numbers[0], group_shuffle_key=item_numbers[1],
            ), outputs))  # fmt: skip
        Item.objects.bulk_create(item for item, _outputs in made)
        Output.objects.bulk_create(
            Output(
                study=study, item=item, system_id=output.system_id, position=position,
                text=output.text,
            )
            for item, outputs in made
            for position, output in enumerate(outputs)
        )  # fmt: skip


def _make_screens(
    config: Instrument, seed: str, record: Record
) -> Iterator[tuple[str, Record, Sequence[Output]]]:
    """Yield the id and the outputs of each item that shows a part of a record."""
    outputs = record.outputs
    if config.item.outputs.most == 1 and len(outputs) > 1:
        for number, output in enumerate(outputs, start=1):
            yield f"{record.key}/{number}", record, [output]
    elif makes_pairs(config) and len(outputs) > 2:
        for first in range(len(outputs)):
            for second in range(first + 1, len(outputs)):
                pair = Pair(first, second)
                yield f"{record.key}{pair.suffix}", record, [outputs[first], outputs[second]]
    elif 0 < (size := find_tuple_size(config)) < len(outputs):
        for places in make_tuples(len(outputs), size, seed, record.key):
            key = f"{record.key}/{'-'.join(str(place + 1) for place in places)}"
            yield key, record, [outputs[place] for place in places]
    else:
        yield record.key, record, outputs


def _find_free(key: str, taken: set[str]) -> str:
    number, free = 1, key[:_LONGEST_KEY]
    while free in taken:
        number += 1
        free = f"{key[: _LONGEST_KEY - 8]}-{number}"
    taken.add(free)
    return free
