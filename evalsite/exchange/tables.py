"""Rows of ratings.csv and annotations.csv, page by page, in a fixed order and with flat memory."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from math import log
from typing import Any

from django.db.models import Count, Max

from evalsite.annotation.models import Annotation, Rating, Revision
from evalsite.protocol import Criterion, Magnitude, Preference
from evalsite.quality.models import Exclusion
from evalsite.studies.models import Item, Output, Study, StudyVersion

PAGE = 1_000

_FIELDS = (
    "id", "item_id", "participant_id", "participant__pseudonym", "participant__is_pilot",
    "item_set__number", "place", "outcome", "status", "origin", "version__number", "order_shown",
    "reason", "note", "is_aided", "device", "language", "started_at", "submitted_at", "active_ms",
    "item__key", "item__group", "item__cluster", "item__kind", "item__batch_id",
    "item__repeat_of__key", "item__inputs",
)  # fmt: skip

Cells = dict[str, Any]


@dataclass
class _Page:
    """What belongs to the annotations of one page, each thing fetched by one query."""

    annotations: list[Any]
    outputs: dict[int, dict[int, Any]] = field(default_factory=dict)  # item: position: output
    ratings: dict[int, list[Any]] = field(default_factory=dict)
    revisions: dict[int, int] = field(default_factory=dict)


class Tables:
    """Reads the annotations of a study up to those that stood at the start, once."""

    def __init__(self, study: Study, *, with_pilot: bool = False) -> None:
        self.study = study
        self.config = study.config
        self.with_pilot = with_pilot
        annotations = Annotation.objects.filter(study=study)
        # what is saved while the file is on its way is not in it
        self.last = annotations.aggregate(last=Max("id"))["last"] or 0
        self._options = self._find_options()
        self._study_id = str(study.pk)
        self._scales = {
            key: _describe_scale(one) for key, one in self.config.criterion_by_key.items()
        }
        self._order = {criterion.key: n for n, criterion in enumerate(self.config.criteria)}
        self._excluded = _find_exclusions(study)
        groups = Item.objects.filter(study=study).values("group").annotate(n=Count("id"))
        # alone in its group an item is always in the first place: only others are counted
        self._groups = set(groups.filter(n__gt=1).values_list("group", flat=True))
        # of the annotation at hand: several ratings of it ask in turn
        self._standard: tuple[int | None, int | None] = (None, None)
        self._trials: Counter[int] = Counter()
        self._places: Counter[tuple[int, str]] = Counter()

    def read_ratings(self) -> Iterator[list[Cells]]:
        """Rows of ratings.csv: by annotation, then criterion, then output as uploaded."""
        for page, annotation, shared in self._read():
            outputs = page.outputs.get(annotation.item_id, {})
            yield [
                shared | self._rate(rating, annotation, outputs)
                for rating in self._sort(page.ratings.get(annotation.id, ()))
            ]

    def read_annotations(self) -> Iterator[list[Cells]]:
        """Rows of annotations.csv, in the order in which annotations were first saved."""
        for page, annotation, shared in self._read():
            outputs = page.outputs.get(annotation.item_id, {})
            shown = [outputs[place].id for place in annotation.order_shown if place in outputs]
            is_reported = annotation.outcome == Annotation.Outcome.REPORTED
            shared |= {
                "outcome": annotation.outcome,
                "reason": "" if is_reported else annotation.reason,
                "problem": annotation.reason if is_reported else "",
                "note": annotation.note,
                "order_shown": " ".join(str(pk) for pk in shown),
                "ratings": len(page.ratings.get(annotation.id, ())),
            }
            yield [shared]

    # reading

    def _read(self) -> Iterator[tuple[_Page, Any, Cells]]:
        """Each annotation that belongs in the file, with the cells that all of its rows share."""
        for page in self._read_pages():
            for annotation in page.annotations:
                counted = self._count(annotation)
                is_pilot = (
                    annotation.participant__is_pilot or annotation.status == Annotation.Status.PILOT
                )
                if self.with_pilot or not is_pilot:
                    yield page, annotation, self._share(annotation, page) | counted

    def _read_pages(self) -> Iterator[_Page]:
        last = 0
        while True:
            rows = list(
                Annotation.objects.filter(study=self.study, id__gt=last, id__lte=self.last)
                .order_by("id")
                .values_list(*_FIELDS, named=True)[:PAGE]
            )
            if not rows:
                return
            last = rows[-1].id
            yield _fetch_page(rows)

    def _find_options(self) -> dict[int | None, dict[str, Any]]:
        """The options that participants rated under, by version; None: before the launch."""
        versions = StudyVersion.objects.filter(study=self.study).values_list(
            "number", "content__options"
        )
        return {None: self.config.default_options | self.study.options, **dict(versions)}

    def _count(self, annotation: Any) -> Cells:
        """Running numbers, counted over all annotations, also over those left out of the file."""
        self._trials[annotation.participant_id] += 1
        place = 1
        if annotation.item__group in self._groups:
            key = annotation.participant_id, annotation.item__group
            self._places[key] += 1
            place = self._places[key]
        return {"trial": self._trials[annotation.participant_id], "place_in_group": place}

    # cells

    def _share(self, annotation: Any, page: _Page) -> Cells:
        reasons = [
            *self._excluded["participant", annotation.participant_id],
            *self._excluded["annotation", annotation.id],
        ]
        return {
            "study": self._study_id,
            "version": annotation.version__number,
            "batch": annotation.item__batch_id,
            "item": annotation.item__key,
            "group": annotation.item__group,
            "cluster": annotation.item__cluster,
            "kind": annotation.item__kind,
            "annotation": annotation.id,
            "participant": annotation.participant__pseudonym,
            "set": annotation.item_set__number,
            "place_in_set": annotation.place if annotation.item_set__number else None,
            "repeat_of": annotation.item__repeat_of__key,
            "status": annotation.status,
            "origin": annotation.origin,
            "aids": _say(annotation.is_aided),
            "device": annotation.device,
            "language": annotation.language,
            "excluded": _say(bool(reasons)),
            "exclusion_reason": "; ".join(reasons),
            "revisions": page.revisions.get(annotation.id, 0),
            "started_at": _write_time(annotation.started_at),
            "submitted_at": _write_time(annotation.submitted_at),
            "seconds": (annotation.submitted_at - annotation.started_at).total_seconds(),
            "active_seconds": None if annotation.active_ms is None else annotation.active_ms / 1000,
        }

    def _sort(self, ratings: Sequence[Any]) -> list[Any]:
        last = len(self._order)
        return sorted(
            ratings,
            key=lambda one: (
                self._order.get(one.criterion, last), one.criterion, one.output__position or 0
            ),
        )  # fmt: skip

    def _rate(self, rating: Any, annotation: Any, outputs: dict[int, Any]) -> Cells:
        criterion = self.config.criterion_by_key.get(rating.criterion)
        cells = {
            **self._scales.get(rating.criterion, _NO_SCALE),
            "criterion": rating.criterion,
            "value": rating.value,
            "label": criterion and criterion.scale.label_of(rating.value),
            "value_typed": rating.value_typed,
        }
        if criterion and isinstance(criterion.scale, Preference):
            return cells | _NO_OUTPUT | _compare(rating, annotation, outputs)
        shown = annotation.order_shown
        position = rating.output__position
        standard = self._find_standard(annotation, criterion)
        return {
            **cells,
            **_NO_PREFERENCE,
            "system": rating.output__system__name,
            "output_id": rating.output_id,
            "place": shown.index(position) + 1 if position in shown else None,
            "standard": standard,
            "log_ratio": None if standard is None else log(rating.value / standard),
        }

    def _find_standard(self, annotation: Any, criterion: Criterion | None) -> int | None:
        """What the ratings of this annotation relate to, where their scale has a standard."""
        if not (criterion and isinstance(criterion.scale, Magnitude)):
            return None
        if self._standard[0] != annotation.id:
            options = self._options[annotation.version__number]
            score = self.config.standard_score(options, annotation.item__inputs)
            self._standard = annotation.id, score
        return self._standard[1]


def _describe_scale(criterion: Criterion) -> Cells:
    scale = criterion.scale
    return {"scale": scale.kind, "scale_min": scale.minimum, "scale_max": scale.maximum}


_NO_SCALE: Cells = dict.fromkeys(["scale", "scale_min", "scale_max"])
_NO_PREFERENCE: Cells = dict.fromkeys(
    ["system_1", "system_2", "preferred", "outcome", "shown_first"]
)
_NO_OUTPUT: Cells = dict.fromkeys(["system", "output_id", "place", "standard", "log_ratio"])


def _compare(rating: Any, annotation: Any, outputs: dict[int, Any]) -> Cells:
    """A preference in terms of systems, never of sides."""
    names = sorted(output.system__name or "" for output in outputs.values())
    preferred = rating.output__system__name
    first = outputs.get(annotation.order_shown[0]) if annotation.order_shown else None
    return {
        "system_1": names[0],
        "system_2": names[-1],
        "preferred": preferred,
        "outcome": "tie" if rating.output_id is None else "1" if preferred == names[0] else "2",
        "shown_first": first and first.system__name,
    }


def _fetch_page(rows: list[Any]) -> _Page:
    ids = [row.id for row in rows]
    page = _Page(rows)
    outputs = Output.objects.filter(item__in={row.item_id for row in rows})
    for output in outputs.values_list("id", "item_id", "position", "system__name", named=True):
        page.outputs.setdefault(output.item_id, {})[output.position] = output
    ratings = Rating.objects.filter(annotation__in=ids).order_by("id")
    for rating in ratings.values_list(
        "annotation_id", "criterion", "value", "value_typed", "output_id",
        "output__position", "output__system__name", named=True,
    ):  # fmt: skip
        page.ratings.setdefault(rating.annotation_id, []).append(rating)
    revisions = Revision.objects.filter(annotation__in=ids).order_by()
    page.revisions = dict(revisions.values_list("annotation").annotate(n=Count("id")))
    return page


def _find_exclusions(study: Study) -> defaultdict[tuple[str, int], list[str]]:
    """Reasons of the standing exclusions, by what they leave out."""
    found: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
    standing = Exclusion.objects.standing().filter(study=study).order_by("id")
    for participant, annotation, reason in standing.values_list(
        "participant_id", "annotation_id", "reason"
    ):
        key = ("participant", participant) if participant else ("annotation", annotation)
        found[key].append(reason)
    return found


def _say(flag: bool) -> str:
    return "yes" if flag else "no"


def _write_time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"
