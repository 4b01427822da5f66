"""What exported files must hold, worked out slowly from the database: one object for each row."""

import json
from collections import Counter
from datetime import UTC, datetime
from math import log
from typing import Any

from evalsite.data.models import MetricScore
from evalsite.decisions.models import Exclusion
from evalsite.handout.models import Annotation, Rating
from evalsite.participation.bonus import find_earners
from evalsite.people.models import ItemSet, Participant
from evalsite.studies.gold import agrees_with_gold
from evalsite.studies.models import Item, Output, Study

Row = dict[str, str]


def expect(study: Study, file: str) -> list[Row]:
    """The rows of a file with all annotations, pilots among them."""
    return {
        "ratings": _ratings,
        "annotations": _annotations,
        "items": _items,
        "highlights": _highlights,
        "participants": _participants,
        "metrics": _metrics,
    }[file](study)


def _yes(flag: Any) -> str:
    return "yes" if flag else "no"


def _text(cell: Any) -> str:
    return "" if cell is None else str(cell)


def _time(moment: datetime | None) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ") if moment else ""


def _answers(study: Study) -> list[tuple[Annotation, Row]]:
    trials: Counter[int] = Counter()
    places: Counter[tuple[int, str]] = Counter()
    found = []
    for one in Annotation.objects.filter(study=study).order_by("id"):
        trials[one.participant_id] += 1
        places[one.participant_id, one.item.group] += 1
        row = _shared(one)
        row["trial"] = str(trials[one.participant_id])
        row["place_in_group"] = str(places[one.participant_id, one.item.group])
        found.append((one, row))
    return found


def _shared(one: Annotation) -> Row:
    item, who = one.item, one.participant
    standing = Exclusion.objects.active().order_by("id")
    reasons = [each.reason for each in standing.filter(participant=who)]
    reasons += [each.reason for each in standing.filter(annotation=one)]
    is_here = one.origin != "imported"
    spent = (one.submitted_at - one.started_at).total_seconds()
    return {
        "study": str(one.study_id),
        "version": _text(one.version and one.version.number),
        "batch": _text(item.batch_id),
        "item": item.key,
        "group": item.group,
        "cluster": item.cluster,
        "kind": item.kind,
        "annotation": str(one.key),
        "participant": who.pseudonym,
        "person": _yes(who.is_person),
        "set": _text(one.item_set and one.item_set.number),
        "place_in_set": str(one.place) if one.item_set else "",
        "repeat_of": item.repeat_of.key if item.repeat_of else "",
        **_number(item),
        "status": one.status,
        "origin": one.origin,
        "aids": _yes(one.is_aided),
        "device": one.device,
        "language": one.language,
        "excluded": _yes(reasons),
        "exclusion_reason": "; ".join(reasons),
        "revisions": str(one.revisions.count()),  # type: ignore[attr-defined]
        "started_at": _time(one.started_at) if is_here else "",
        "submitted_at": _time(one.submitted_at) if is_here else "",
        "seconds": str(spent) if is_here else "",
        "active_seconds": "" if one.active_ms is None else str(one.active_ms / 1000),
        "time_given": one.time_given,
    }


def _sorted_ratings(one: Annotation) -> list[Rating]:
    order = [criterion.key for criterion in one.study.config.criteria]

    def rank(rating: Rating) -> tuple[Any, ...]:
        position = rating.output.position if rating.output else 0
        return rating.file_row or 0, order.index(rating.criterion), position, rating.pk

    return sorted(Rating.objects.without_marks().filter(annotation=one), key=rank)


def _standard(one: Annotation) -> int | None:
    config = one.study.config
    options = config.default_options | one.study.options
    if one.version:
        options = one.version.content["options"]
    return config.standard_score(options, one.item.inputs)


def _compare(rating: Rating) -> Row:
    one = rating.annotation
    outputs = {output.position: output.system for output in one.item.outputs.all()}  # type: ignore[attr-defined]
    names = sorted(system.name if system else "" for system in outputs.values())
    preferred = rating.output.system.name if rating.output and rating.output.system else ""
    first = outputs[one.order_shown[0]] if one.order_shown else None
    return {
        "system_1": names[0],
        "system_2": names[-1],
        "preferred": preferred,
        "outcome": str(1 + (preferred != names[0])) if rating.output else "tie",
        "shown_first": first.name if first else "",
    }


def _of_output(one: Annotation, output: Output | None) -> Row:
    if output is None:
        return {"system": "", "output_id": "", "place": ""}
    shown = one.order_shown
    is_shown = output.position in shown
    return {
        "system": output.system.name if output.system else "",
        "output_id": f"{one.item.key}#{output.position + 1}",
        "place": str(shown.index(output.position) + 1) if is_shown else "",
    }


# which answers are better, unless a criterion says otherwise; kinds added later say it themselves
_BETTER = {
    **dict.fromkeys(("likert", "slider", "magnitude", "decision", "checklist"), "higher"),
    **dict.fromkeys(("number", "choice", "choices", "preference", "text"), ""),
}
_NO_PREFERENCE = dict.fromkeys(("system_1", "system_2", "preferred", "outcome", "shown_first"), "")


def _ratings(study: Study) -> list[Row]:
    rows = []
    for one, shared in _answers(study):
        for rating in _sorted_ratings(one):
            criterion = study.config.criterion_by_key[rating.criterion]
            scale = criterion.scale
            is_compared = scale.kind == "preference"
            standard = _standard(one) if scale.kind == "magnitude" else None
            rows.append(
                shared
                | _of_output(one, None if is_compared else rating.output)
                | (_compare(rating) if is_compared else _NO_PREFERENCE)
                | {
                    "criterion": rating.criterion,
                    "scale": scale.kind,
                    "scale_min": _text(scale.minimum),
                    "scale_max": _text(scale.maximum),
                    "better": criterion.better or _BETTER.get(scale.kind, scale.better),
                    "value": _text(rating.value),
                    "label": _label(scale, rating),
                    "value_typed": rating.text if _is_typed(scale, rating) else "",
                    "standard": _text(standard),
                    "log_ratio": str(log(rating.value / standard)) if standard else "",
                    "file_row": _text(rating.file_row),
                }
                | _of_kind(scale, rating)
                | _of_order(scale, one)
            )
    return rows


def _label(scale: Any, rating: Rating) -> str:
    if rating.value is None:
        return scale.not_applicable if rating.detail else ""
    if scale.kind == "spans":
        return scale.none if rating.part else ""
    if scale.kind == "choices":
        return next(one.label for one in scale.options if one.key == rating.part)
    return str(scale.label_of(rating.value))


def _is_typed(scale: Any, rating: Rating) -> bool:
    return scale.kind in ("magnitude", "number") and rating.value is not None


def _of_kind(scale: Any, rating: Rating) -> Row:
    """What only some kinds of questions have."""
    detail = rating.detail or {}
    told = []
    for pk, keys in sorted(detail.get("reasons", {}).items()):
        position = rating.annotation.item.outputs.get(pk=pk).position  # type: ignore[attr-defined]
        told.append(f"{rating.annotation.item.key}#{position + 1}: {' '.join(keys)}")
    return {
        "part": rating.part,
        "text": "" if _is_typed(scale, rating) else rating.text,
        "not_applicable": _yes(detail.get("na")),
        "option": detail.get("option", ""),
        "both": detail.get("both", ""),
        "reasons": "; ".join(told),
        **{
            name: _text(detail.get(name))
            for name in ("insertions", "deletions", "substitutions", "words")
        },
    }


def _of_order(scale: Any, one: Annotation) -> Row:
    """What only orders have: which systems were shown together, and how."""
    if scale.kind not in ("ranking", "best_worst"):
        return {"systems_shown": "", "order_shown": ""}
    outputs = one.item.outputs.order_by("position")  # type: ignore[attr-defined]
    names = [output.system.name if output.system else "" for output in outputs]
    return {
        "systems_shown": json.dumps(names, ensure_ascii=False),
        "order_shown": " ".join(str(place + 1) for place in one.order_shown),
    }


def _annotations(study: Study) -> list[Row]:
    rows = []
    for one, shared in _answers(study):
        ratings = _sorted_ratings(one)
        is_reported = one.outcome == "reported"
        rows.append(
            shared
            | {
                "outcome": one.outcome,
                "reason": "" if is_reported else one.reason,
                "problem": one.reason if is_reported else "",
                "note": one.note,
                "order_shown": " ".join(str(place + 1) for place in one.order_shown),
                "ratings": str(len(ratings)),
                "gold_agrees": _judge(one, ratings),
            }
        )
    return rows


def _judge(one: Annotation, ratings: list[Rating]) -> str:
    if one.item.kind not in ("practice", "gold", "attention") or not ratings:
        return ""
    outputs = one.item.outputs.order_by("position")  # type: ignore[attr-defined]
    named = [(output.pk, output.system and output.system.name) for output in outputs]
    rows = one.list_rows()
    agrees = agrees_with_gold(one.study.config, one.item.gold, named, rows, _standard(one))
    return "" if agrees is None else _yes(agrees)


def _highlights(study: Study) -> list[Row]:
    rows = []
    for one, shared in _answers(study):
        marks = Rating.objects.marks().filter(annotation=one).order_by("output__position", "start")
        rows += [
            shared
            | _of_output(one, mark.output)
            | {"start": str(mark.start), "end": str(mark.end), "quote": mark.text}
            | _of_mark(study, mark)
            for mark in marks
        ]
    return rows


def _of_mark(study: Study, mark: Rating) -> Row:
    """What only the marks of a question have."""
    criterion = study.config.criterion_by_key.get(mark.criterion)
    category, _, column = mark.part.partition("@")
    detail = mark.detail or {}
    weights = {one.key: one.weight for one in criterion.scale.severities} if criterion else {}
    return {
        "criterion": mark.criterion,
        "input": column,
        "category": category,
        "severity": detail.get("severity", ""),
        "note": detail.get("note", ""),
        "weight": _text(weights.get(detail.get("severity", ""))),
    }


def _number(item: Item) -> Row:
    items = Item.objects.filter(study=item.study_id)
    first = items.filter(group=item.group).earliest("id")
    numbers = {"item_no": item.pk, "group_no": first.pk}
    return {name: str(items.filter(id__lte=pk).count()) for name, pk in numbers.items()}


def _items(study: Study) -> list[Row]:
    rows = []
    config = study.config
    for output in Output.objects.filter(study=study).order_by("item_id", "position"):
        item = output.item
        inputs = {column.name: item.inputs.get(column.name, "") for column in config.columns}
        gold = {f"gold_{key}": item.gold.get(key, "") for key in (*config.criterion_by_key, "why")}
        rows.append(
            {
                "study": str(study.pk),
                "batch": _text(item.batch_id),
                "item": item.key,
                "group": item.group,
                "cluster": item.cluster,
                "kind": item.kind,
                "repeat_of": item.repeat_of.key if item.repeat_of else "",
                "held": _yes(item.held_at),
                "output_id": f"{item.key}#{output.position + 1}",
                "system": output.system.name if output.system else "",
                "output": output.text,
                "output_is_empty": _yes(not output.text),
                "extra": json.dumps(item.extra, ensure_ascii=False) if item.extra else "",
                **{name: cell if isinstance(cell, str) else json.dumps(cell, ensure_ascii=False)
                   for name, cell in inputs.items()},
                **gold,
                **_number(item),
            }
        )  # fmt: skip
    return rows


def _participants(study: Study) -> list[Row]:
    earners = find_earners(study)
    rows = []
    for who in Participant.objects.filter(study=study).order_by("id"):
        reasons = Exclusion.objects.active().filter(participant=who).order_by("id")
        answers = Annotation.objects.filter(participant=who, item__kind="main")
        finished = ItemSet.objects.filter(participant=who, finished_at__isnull=False)
        rows.append(
            {
                "study": str(study.pk),
                "participant": who.pseudonym,
                "person": _yes(who.is_person),
                "origin": who.origin,
                "pilot": _yes(who.is_pilot),
                "arrived_at": "" if who.origin == "imported" else _time(who.created_at),
                "consent": _yes(who.consented_to),
                "eligible": "" if who.is_eligible is None else _yes(who.is_eligible),
                "tries": str(who.tries),
                "qualified": "" if who.is_qualified is None else _yes(who.is_qualified),
                "sets_finished": str(finished.count()),
                "answers": str(answers.count()),
                "bonus": _yes(who.pk in earners),
                "withdrawn_at": _time(who.withdrawn_at),
                "excluded": _yes(reasons),
                "exclusion_reason": "; ".join(each.reason for each in reasons),
            }
        )
    return rows


def _metrics(study: Study) -> list[Row]:
    scores = MetricScore.objects.filter(file__study=study)
    return [
        {
            "output_id": f"{one.output.item.key}#{one.output.position + 1}",
            "item": one.output.item.key,
            "system": _text(one.output.system and one.output.system.name),
            "metric": one.metric,
            "value": repr(one.value).removesuffix(".0"),
        }
        for one in sorted(
            scores, key=lambda one: (one.output.item_id, one.output.position, one.metric)
        )
    ]
