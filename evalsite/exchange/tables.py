"""Rows of ratings.csv and annotations.csv, page by page, in a fixed order and with flat memory.

A million ratings must be read in seconds, so few objects are made for each: plain rows of few
columns, the cells of an annotation put together once, and systems and versions told by number.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from math import log
from typing import Any

from django.db.models import Count

from evalsite.annotation.models import Annotation, Highlight, Rating, Revision
from evalsite.protocol import Criterion, Magnitude, Preference
from evalsite.quality.models import Exclusion
from evalsite.studies.agreement import agrees_with_gold
from evalsite.studies.models import Item, Output, Study, StudyVersion, System

PAGE = 1_000
_WITH_GOLD = (Item.Kind.PRACTICE, Item.Kind.GOLD, Item.Kind.ATTENTION)

_FIELDS = (
    "id", "item_id", "participant_id", "participant__pseudonym", "participant__is_pilot",
    "item_set__number", "place", "outcome", "status", "origin", "version_id", "order_shown",
    "reason", "note", "is_aided", "device", "language", "started_at", "submitted_at", "active_ms",
    "item__key", "item__group", "item__cluster", "item__kind", "item__batch_id",
    "item__repeat_of__key", "item__inputs",
)  # fmt: skip

Cells = dict[str, Any]

# The cells of ratings.csv that differ between the ratings of an annotation; all others are shared.
_EMPTY_RATING: Cells = dict.fromkeys(
    ["system", "output_id", "criterion", "scale", "scale_min", "scale_max", "value", "label",
     "value_typed", "standard", "log_ratio", "system_1", "system_2", "preferred", "outcome",
     "shown_first", "place"]
)  # fmt: skip
OF_RATING = frozenset(_EMPTY_RATING)
# likewise in highlights.csv
OF_HIGHLIGHT = frozenset(["system", "output_id", "place", "start", "end", "quote"])


@dataclass
class _Page:
    """What belongs to the annotations of one page, each thing fetched by one query."""

    annotations: list[Any]
    outputs: dict[int, Any] = field(default_factory=dict)
    by_item: dict[int, dict[int, Any]] = field(default_factory=dict)  # item: position: output
    ratings: dict[int, list[Any]] = field(default_factory=dict)
    highlights: dict[int, list[Any]] = field(default_factory=dict)
    revisions: dict[int, int] = field(default_factory=dict)


class Tables:
    """Reads the annotations of a study, once. Inside a consistent cut, all of one moment."""

    def __init__(self, study: Study, *, with_pilot: bool = False) -> None:
        self.study = study
        self.config = study.config
        self.with_pilot = with_pilot
        self._versions: dict[int | None, int] = {}
        self._options = self._find_options()
        self._study_id = str(study.pk)
        systems = System.objects.filter(study=study).values_list("id", "name")
        # no system: an output that came with the protocol
        self._systems: dict[int | None, str | None] = {None: None, **dict(systems)}
        self._scales = {
            key: _EMPTY_RATING | _describe_scale(one)
            for key, one in self.config.criterion_by_key.items()
        }
        self._scale_of = {key: one.scale for key, one in self.config.criterion_by_key.items()}
        self._has_magnitudes = any(isinstance(one, Magnitude) for one in self._scale_of.values())
        self._order = {criterion.key: n for n, criterion in enumerate(self.config.criteria)}
        self._excluded = find_exclusions(study)
        groups = Item.objects.filter(study=study).order_by().values("group").annotate(n=Count("id"))
        # alone in its group an item is always in the first place: only others are counted
        self._groups = set(groups.filter(n__gt=1).values_list("group", flat=True))
        self._trials: Counter[int] = Counter()
        self._places: Counter[tuple[int, str]] = Counter()

    def read_ratings(self) -> Iterator[tuple[Cells, list[Cells]]]:
        """Rows of ratings.csv: for each annotation what its rows share, and what is their own.

        They stand by annotation, then criterion, then output as uploaded.
        """
        for page, annotation, shared in self._read():
            if ratings := page.ratings.get(annotation.id):
                yield shared, self._rate_all(ratings, annotation, page)

    def read_annotations(self) -> Iterator[tuple[Cells, list[Cells]]]:
        """Rows of annotations.csv, in the order in which annotations were first saved."""
        for page, annotation, shared in self._read():
            outputs = page.by_item.get(annotation.item_id, {})
            shown = [outputs[place].id for place in annotation.order_shown if place in outputs]
            is_reported = annotation.outcome == Annotation.Outcome.REPORTED
            shared |= {
                "outcome": annotation.outcome,
                "reason": "" if is_reported else annotation.reason,
                "problem": annotation.reason if is_reported else "",
                "note": annotation.note,
                "order_shown": " ".join(str(pk) for pk in shown),
                "ratings": len(page.ratings.get(annotation.id, ())),
                "gold_agrees": self._judge(annotation, page),
            }
            yield shared, [{}]

    def _judge(self, annotation: Any, page: _Page) -> str | None:
        """Whether the answer agrees with the gold of its item, where there is one."""
        gold, ratings = self._gold.get(annotation.item_id), page.ratings.get(annotation.id)
        if gold is None or not ratings:
            return None
        outputs = page.by_item[annotation.item_id]
        named = [
            (outputs[place].id, self._systems[outputs[place].system_id])
            for place in sorted(outputs)
        ]
        given = {(one.criterion, one.output_id): one.value for one in ratings}
        standard = self._find_standard(annotation)
        agrees = agrees_with_gold(self.config, gold, named, given, standard)
        return None if agrees is None else say(agrees)

    @cached_property
    def _gold(self) -> dict[int, dict[str, str]]:
        """The gold of each item that is asked for it: few, beside those that are rated."""
        asked = Item.objects.filter(study=self.study, kind__in=_WITH_GOLD).order_by()
        return dict(asked.values_list("id", "gold"))

    def read_highlights(self) -> Iterator[tuple[Cells, list[Cells]]]:
        """Rows of highlights.csv: by annotation, then output as uploaded, then place in it."""
        for page, annotation, shared in self._read():
            if highlights := page.highlights.get(annotation.id):
                highlights.sort(key=lambda one: (page.outputs[one.output_id].position, one.start))
                yield shared, [self._mark(one, annotation, page) for one in highlights]

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
        found = Annotation.objects.filter(study=self.study).order_by("id")
        rows = iter(found.values_list(*_FIELDS, named=True).iterator(chunk_size=PAGE))
        while annotations := list(islice(rows, PAGE)):
            yield _fetch_page(self.study, annotations)

    def _find_options(self) -> dict[int | None, dict[str, Any]]:
        """The options that participants rated under, by version; None: before the launch."""
        (options,) = Study.objects.filter(pk=self.study.pk).values_list("options", flat=True)
        found: dict[int | None, dict[str, Any]] = {None: self.config.default_options | options}
        versions = StudyVersion.objects.filter(study=self.study)
        for pk, number, given in versions.values_list("id", "number", "content__options"):
            self._versions[pk] = number
            found[pk] = given
        return found

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
            *self._excluded.get(("participant", annotation.participant_id), ()),
            *self._excluded.get(("annotation", annotation.id), ()),
        ]
        return {
            "study": self._study_id,
            "version": self._versions.get(annotation.version_id),
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
            "aids": say(annotation.is_aided),
            "device": annotation.device,
            "language": annotation.language,
            "excluded": say(bool(reasons)),
            "exclusion_reason": "; ".join(reasons),
            "revisions": page.revisions.get(annotation.id, 0),
            "started_at": write_time(annotation.started_at),
            "submitted_at": write_time(annotation.submitted_at),
            "seconds": (annotation.submitted_at - annotation.started_at).total_seconds(),
            "active_seconds": None if annotation.active_ms is None else annotation.active_ms / 1000,
        }

    def _rate_all(self, ratings: list[Any], annotation: Any, page: _Page) -> list[Cells]:
        if len(ratings) > 1:
            last = len(self._order)
            ratings.sort(
                key=lambda one: (
                    self._order.get(one.criterion, last),
                    one.criterion,
                    page.outputs[one.output_id].position if one.output_id else 0,
                )
            )
        standard = self._find_standard(annotation)
        return [self._rate(rating, annotation, page, standard) for rating in ratings]

    def _rate(self, rating: Any, annotation: Any, page: _Page, standard: int | None) -> Cells:
        cells = self._scales.get(rating.criterion, _EMPTY_RATING).copy()
        cells["criterion"] = rating.criterion
        cells["value"] = value = rating.value
        cells["value_typed"] = rating.value_typed
        output = page.outputs.get(rating.output_id)
        scale = self._scale_of.get(rating.criterion)
        if scale:
            cells["label"] = scale.label_of(value)
        if isinstance(scale, Preference):
            return cells | self._compare(output, annotation, page.by_item[annotation.item_id])
        if output is not None:
            cells["system"] = self._systems[output.system_id]
            cells["output_id"] = output.id
            if output.position in annotation.order_shown:
                cells["place"] = annotation.order_shown.index(output.position) + 1
        if standard is not None and isinstance(scale, Magnitude):
            cells["standard"] = standard
            cells["log_ratio"] = log(value / standard)
        return cells

    def _mark(self, highlight: Any, annotation: Any, page: _Page) -> Cells:
        output = page.outputs[highlight.output_id]
        shown = annotation.order_shown
        return {
            "system": self._systems[output.system_id],
            "output_id": output.id,
            "place": shown.index(output.position) + 1 if output.position in shown else None,
            "start": highlight.start,
            "end": highlight.end,
            "quote": highlight.quote,
        }

    def _find_standard(self, annotation: Any) -> int | None:
        """What the magnitudes of this annotation relate to, if anything."""
        if not self._has_magnitudes:
            return None
        options = self._options[annotation.version_id]
        return self.config.standard_score(options, annotation.item__inputs)

    def _compare(self, preferred: Any, annotation: Any, outputs: dict[int, Any]) -> Cells:
        """A preference in terms of systems, never of sides."""
        names = sorted(self._systems[output.system_id] or "" for output in outputs.values())
        name = preferred and self._systems[preferred.system_id]
        first = outputs.get(annotation.order_shown[0]) if annotation.order_shown else None
        return {
            "system_1": names[0],
            "system_2": names[-1],
            "preferred": name,
            "outcome": "tie" if preferred is None else "1" if name == names[0] else "2",
            "shown_first": first and self._systems[first.system_id],
        }


def _describe_scale(criterion: Criterion) -> Cells:
    scale = criterion.scale
    return {"scale": scale.kind, "scale_min": scale.minimum, "scale_max": scale.maximum}


def _fetch_page(study: Study, annotations: list[Any]) -> _Page:
    page = _Page(annotations)
    # a range, not a list of ids: a thousand parameters take longer than what they find
    own = Annotation.objects.filter(
        study=study, id__gte=annotations[0].id, id__lte=annotations[-1].id
    ).order_by()
    outputs = Output.objects.filter(item__in=own.values("item_id")).order_by()
    for output in outputs.values_list("id", "item_id", "position", "system_id", named=True):
        page.outputs[output.id] = output
        page.by_item.setdefault(output.item_id, {})[output.position] = output
    ratings = Rating.objects.filter(annotation__in=own.values("id")).order_by()
    for rating in ratings.values_list(
        "annotation_id", "criterion", "value", "value_typed", "output_id", named=True
    ):
        page.ratings.setdefault(rating.annotation_id, []).append(rating)
    highlights = Highlight.objects.filter(annotation__in=own.values("id")).order_by()
    for highlight in highlights.values_list(
        "annotation_id", "output_id", "start", "end", "quote", named=True
    ):
        page.highlights.setdefault(highlight.annotation_id, []).append(highlight)
    revisions = Revision.objects.filter(annotation__in=own.values("id")).order_by()
    page.revisions = dict(revisions.values_list("annotation").annotate(n=Count("id")))
    return page


def find_exclusions(study: Study) -> dict[tuple[str, int], list[str]]:
    """Reasons of the standing exclusions, by what they leave out."""
    found: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
    standing = Exclusion.objects.standing().filter(study=study).order_by("id")
    for participant, annotation, reason in standing.values_list(
        "participant_id", "annotation_id", "reason"
    ):
        key = ("participant", participant) if participant else ("annotation", annotation)
        found[key].append(reason)
    # a plain dict: looking up the others must not add a list for each annotation
    return dict(found)


def say(flag: bool) -> str:
    return "yes" if flag else "no"


def write_time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"
