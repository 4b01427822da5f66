"""Read a study's rows as plain data from which the same study can be made anywhere.

Rows refer to each other by what is the same in every database: items by key, outputs by item
and position, people by pseudonym, annotations by key. Pilots are left out, as in every export.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import Any

from django.db.models import Count, F, Q, QuerySet

from evalsite.annotation.allocation.slots import count_strays, planned_slots
from evalsite.annotation.models import Annotation, Rating, Revision, Slot
from evalsite.annotation.pages.held_items import REPORTS_TO_HOLD
from evalsite.exports.bundle.format import (
    ANALYSIS_PLAN_FIELDS,
    ANNOTATION_FIELDS,
    ANSWER_FIELDS,
    BATCH_FIELDS,
    BUILT,
    CHANGE_FIELDS,
    CONSENT_FIELDS,
    EMPTY_RATING_FIELDS,
    EXCLUSION_FIELDS,
    IMPORT_NOTES,
    ITEM_FIELDS,
    ITEM_FIELDS_IF_ANY,
    METRIC_FIELDS,
    METRIC_FILE_FIELDS,
    ON_INSTRUCTIONS,
    PARTICIPANT_FIELDS,
    PARTICIPANT_FIELDS_IF_ANY,
    RATING_FIELDS,
    RATINGS_FILE_FIELDS,
    SET_FIELDS,
    STUDY_FIELDS,
    STUDY_FIELDS_IF_ANY,
    VERSION_FIELDS,
    Contents,
    to_plain,
    write_order,
)
from evalsite.exports.bundle.frozen_plan import read_frozen
from evalsite.exports.bundle.read import in_pages
from evalsite.exports.column import WITHHELD
from evalsite.exports.rows import is_typed
from evalsite.exports.selection import shared
from evalsite.imports.models import MetricScore
from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.schema import Criterion, EntryQuestion
from evalsite.lib.seeds import arrange
from evalsite.participants.models import Answer, Consent, ItemSet, Participant
from evalsite.quality.models import Exclusion
from evalsite.quality.plan_state import count_answers_at, has_imported, plan_of
from evalsite.studies.models import Item, Output, Study, System
from evalsite.studies.questions import list_person_questions

PAGE = 500
_PEOPLE = 50
COUNTED = (
    "outputs", "places", "participants", "sets", "ratings", "highlights", "revisions", "exclusions",
    "metrics",
)  # fmt: skip
Plain = dict[str, Any]


# no value of a field
_NOTHING = object()


class Serializer:
    """Reads the rows of a study once, and counts them; call it inside a consistent cut."""

    def __init__(self, study: Study, contents: Contents) -> None:
        self.study = study
        self.contents = contents
        self.counts: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()
        self.origins: Counter[str] = Counter()
        self._systems = dict(System.objects.filter(study=study).values_list("id", "name"))
        # whose answers are in it; all but pilots, unless it is for the public
        self._is_partial = contents.has_data and contents.is_public and study.asks_to_share
        self._versions = dict(study.versions.values_list("id", "number"))
        self.scales = {criterion.key: criterion.scale for criterion in study.config.criteria}

    def read_study(self) -> Plain:
        """Return the study itself, its versions, systems, batches and files of ratings."""
        study, data = self.study, self.contents.has_data
        return {
            **{
                name: value
                for name, value in _pick(study, STUDY_FIELDS).items()
                if value or name not in STUDY_FIELDS_IF_ANY
            },
            "id": str(study.pk),
            "version": study.version and study.version.number,
            "versions": [_pick(one, VERSION_FIELDS) for one in study.versions.all()],
            # in the order in which they were made: the plan is drawn again from it
            "systems": [self._systems[pk] for pk in sorted(self._systems)],
            "batches": _pick_files(study.batches.order_by("uploaded_at", "id"), BATCH_FIELDS),
            "ratings_files": _pick_files(
                study.ratings_files.order_by("uploaded_at", "id"), RATINGS_FILE_FIELDS
            )
            if data
            else [],
            "metric_files": _pick_files(
                study.metric_files.order_by("uploaded_at", "id"), METRIC_FILE_FIELDS
            )
            if data
            else [],
            # only of an instrument that was built, so that other bundles stay as they were
            **({BUILT: study.instrument.content} if study.instrument else {}),
        }

    def read_items(self) -> Iterator[Plain]:
        """Every item in the order of its row, with its outputs; repeats come with the data."""
        items = Item.objects.filter(study=self.study).order_by("id")
        if not self.contents.has_data:
            items = items.exclude(kind=Item.Kind.REPEAT)
        rows = items.select_related("repeat_of").iterator(chunk_size=PAGE)
        for page in in_pages(rows, PAGE):
            outputs = _by(
                "item_id",
                Output.objects.filter(item__in=[item.pk for item in page]).order_by("position"),
            )
            unexplained = self._find_unexplained(page)
            for item in page:
                if item.pk in unexplained:
                    item.held_at = None
                self.kinds[item.kind] += 1
                self.counts["outputs"] += len(outputs[item.pk])
                yield _leave_out(_pick(item, ITEM_FIELDS), ITEM_FIELDS_IF_ANY) | {
                    "batch": item.batch_id and str(item.batch_id),
                    "repeat_of": item.repeat_of and item.repeat_of.key,
                    "outputs": [
                        {"system": self._systems.get(one.system_id), "text": one.text}
                        for one in outputs[item.pk]
                    ],
                }

    def read_changes(self) -> Iterator[Plain]:
        """Return what was changed after the launch, in that order; not by whom."""
        changes = self.study.changes.select_related("item", "instead_of")
        for change in changes:
            yield _pick(change, CHANGE_FIELDS) | {
                "system": self._systems.get(change.system_id or 0),
                "item": change.item and change.item.key,
                "instead_of": change.instead_of and change.instead_of.key,
            }

    def _find_unexplained(self, page: list[Item]) -> set[int]:
        """Return the items that are held for reports of people who are left out."""
        held = {item.pk for item in page if item.held_at is not None}
        if not (self._is_partial and held):
            return set()
        reports = Annotation.objects.reports().filter(shared("participant__"), item__in=held)
        is_new = Q(item__released_at__isnull=True) | Q(submitted_at__gt=F("item__released_at"))
        counts = reports.filter(is_new).order_by().values("item").annotate(n=Count("pk"))
        return held - set(counts.filter(n__gte=REPORTS_TO_HOLD).values_list("item", flat=True))

    def read_places(self) -> Iterator[list[Any]]:
        """Read the rows of plan.csv: every place in dealing order, or those a launch would make."""
        for page in in_pages(self._list_places(), PAGE):
            ids = {place[0] for place in page}
            keys = dict(Item.objects.filter(pk__in=ids).values_list("pk", "key"))
            outputs = Output.objects.filter(item__in=ids).order_by()
            sizes = Counter(outputs.values_list("item_id", flat=True))
            for item_id, no, pos, arrangement in page:
                self.counts["places"] += 1
                key = keys[item_id]
                order = arrange(sizes[item_id], arrangement, self.study.seed, key)
                yield [key, no + 1, pos, arrangement, write_order(order)]

    def _list_places(self) -> Iterator[tuple[int, int, int, int]]:
        """Return the item, number, position and arrangement of each place."""
        # a draft has open batches too, once ratings collected elsewhere were imported
        if self.study.batches.filter(opened_at__isnull=False).exists():
            slots = Slot.objects.filter(study=self.study, item__batch__opened_at__isnull=False)
            slots = slots.order_by("pos", "item_id", "no")
            columns = ("item_id", "no", "pos", "arrangement")
            yield from slots.values_list(*columns).iterator(chunk_size=PAGE)
            return
        planned = planned_slots(self.study, self.study.batches.all())
        base = 0
        for _, layer in groupby(planned, key=attrgetter("no")):
            places = sorted(layer, key=attrgetter("rank", "item_id"))
            for place in places:
                yield place.item_id, place.no, base + place.rank, place.arrangement
            base += places[-1].rank + 1

    def read_people(self) -> Iterator[Plain]:
        """Everybody who came and was no pilot, in that order."""
        people = Participant.objects.filter(study=self.study, is_pilot=False).order_by("id")
        if self._is_partial:
            people = people.filter(shared())
        for page in in_pages(people.iterator(chunk_size=_PEOPLE), _PEOPLE):
            ids = [one.pk for one in page]
            consents = _by("participant_id", _of(Consent, ids))
            answers = _by("participant_id", _of(Answer, ids))
            sets = _by("participant_id", _of(ItemSet, ids))
            keys = _name_items(item_set for own in sets.values() for item_set in own)
            for one in page:
                self.counts["participants"] += 1
                self.counts["sets"] += len(sets[one.pk])
                said = _pick(one, PARTICIPANT_FIELDS)
                yield _leave_out(said, PARTICIPANT_FIELDS_IF_ANY) | {
                    "consents": [self._read_consent(given) for given in consents[one.pk]],
                    "answers": [
                        _pick(answer, ANSWER_FIELDS)
                        for answer in answers[one.pk]
                        if self._is_open(answer)
                    ],
                    "sets": [_read_set(item_set, keys) for item_set in sets[one.pk]],
                }

    def _is_open(self, answer: Answer) -> bool:
        """Whether the bundle takes it. What wasn't chosen from what a page offers is free text."""
        is_on_instructions = answer.question.startswith(ON_INSTRUCTIONS)
        if not (is_on_instructions or self.contents.has_entry_answers):
            return False
        if self.contents.has_free_text:
            return True
        if is_on_instructions:
            return answer.value in self._on_instructions
        asked = self._questions.get(answer.question)
        return asked is not None and asked.is_offered(answer.value)

    @cached_property
    def _questions(self) -> dict[str, EntryQuestion]:
        asked = list_person_questions(self.study)
        return {name: question for name, (_, question) in asked.items()}

    @cached_property
    def _on_instructions(self) -> Collection[str]:
        asked = self.study.config.comprehension
        return {choice for one in asked for choice in one.choices}

    def _read_consent(self, consent: Consent) -> Plain:
        version = self._versions.get(consent.version_id or 0)
        return _pick(consent, CONSENT_FIELDS) | {"version": version}

    def read_annotations(self) -> Iterator[Plain]:
        """Everything that was submitted, in that order, with its ratings and earlier states."""
        agreed = Annotation.objects.agreed().filter(study=self.study)
        found = agreed.exclude(_OF_PILOTS).order_by("id")
        if self._is_partial:
            found = found.filter(shared("participant__"))
        # plain rows: making objects of them takes longer than all the rest
        rows = found.values_list(*_OF_ANNOTATION, named=True).iterator(chunk_size=PAGE)
        for page in in_pages(rows, PAGE):
            yield from _Annotations(self, page).read()

    def read_exclusions(self) -> Iterator[Plain]:
        """Return every decision to leave out, those taken back included; not by whom."""
        found = Exclusion.objects.filter(study=self.study).order_by("id")
        left_out = Q(participant__is_pilot=True) | Q(annotation__participant__is_pilot=True)
        left_out |= Q(annotation__awaits_consent=True)
        if self._is_partial:
            found = found.filter(shared("participant__") | shared("annotation__participant__"))
        for one in found.exclude(left_out).select_related("participant", "annotation"):
            self.counts["exclusions"] += 1
            yield _pick(one, EXCLUSION_FIELDS) | {
                "participant": one.participant and one.participant.pseudonym,
                "annotation": one.annotation and str(one.annotation.key),
            }

    def read_metrics(self) -> Iterator[Plain]:
        """Return every score of an automatic metric, in the order in which they were stored."""
        scores = MetricScore.objects.filter(file__study=self.study).order_by("id")
        columns = ("file_id", "output__item__key", "output__position", *METRIC_FIELDS)
        for file, item, position, *values in scores.values_list(*columns).iterator(PAGE):
            self.counts["metrics"] += 1
            row = {"file": str(file), "item": item, "output": position}
            yield row | dict(zip(METRIC_FIELDS, values, strict=True))

    def list_counts(self) -> Plain:
        """Return how many rows of each kind were read, and places other than the seed gives."""
        return {
            **{name: self.counts[name] for name in COUNTED},
            "items": dict(self.kinds),
            "annotations": dict(self.statuses),
            "origins": dict(self.origins),
            "strays": count_strays(self.study),
        }

    def count_left_out(self) -> dict[str, int] | None:
        """Return how many people and annotations a bundle for the public lacks; else None."""
        if not self._is_partial:
            return None
        people = Participant.objects.filter(study=self.study, is_pilot=False)
        answers = Annotation.objects.agreed().filter(study=self.study).exclude(_OF_PILOTS)
        return {
            "participants": people.exclude(shared()).count(),
            "annotations": answers.exclude(shared("participant__")).count(),
        }

    def number_version(self, pk: int | None) -> int | None:
        return None if pk is None else self._versions[pk]


_OF_ANNOTATION = (
    "id", "item_id", "item__key", "participant__pseudonym", "slot__no", "item_set__number",
    "version_id", "ratings_file_id", *ANNOTATION_FIELDS,
)  # fmt: skip
_OF_RATING = ("annotation_id", "output_id", *RATING_FIELDS)
_OF_PILOTS = Q(status=Annotation.Status.PILOT) | Q(participant__is_pilot=True)


class _Annotations:
    """A page of annotations with all that belongs to them, each fetched by one query."""

    def __init__(self, serializer: Serializer, page: list[Any]) -> None:
        self.serializer = serializer
        self.page = page
        ids = [one.id for one in page]
        ratings = Rating.objects.filter(annotation__in=ids).order_by("id")
        self.ratings = _by("annotation_id", ratings.values_list(*_OF_RATING, named=True))
        self.revisions = _by("annotation_id", Revision.objects.filter(annotation__in=ids))
        outputs = Output.objects.filter(item__in={one.item_id for one in page}).order_by()
        self.positions: dict[int | None, int | None] = {None: None}
        self.positions.update(outputs.values_list("id", "position"))

    def read(self) -> Iterator[Plain]:
        counts = self.serializer.counts
        for one in self.page:
            row = self._read(one)
            self.serializer.statuses[one.status] += 1
            self.serializer.origins[one.origin] += 1
            marks = sum(rating.start is not None for rating in self.ratings[one.id])
            counts["ratings"] += len(row["ratings"]) - marks
            counts["highlights"] += marks
            counts["revisions"] += len(row["revisions"])
            yield row

    def _read(self, one: Any) -> Plain:
        serializer, no = self.serializer, one.slot__no
        has_note = serializer.contents.has_free_text
        return _pick(one, ANNOTATION_FIELDS) | {
            "item": one.item__key,
            "participant": one.participant__pseudonym,
            "number": None if no is None else no + 1,
            "set": one.item_set__number,
            "version": serializer.number_version(one.version_id),
            "ratings_file": one.ratings_file_id and str(one.ratings_file_id),
            "note": one.note if has_note else "",
            "ratings": [
                self._write_row(AnswerRow(one.item_id, *cells), file_row)
                for _annotation, *cells, file_row in self.ratings[one.id]
            ],
            "revisions": [self._read_revision(earlier) for earlier in self.revisions[one.id]],
        }

    def _write_row(self, row: AnswerRow, file_row: int | None = None) -> list[Any]:
        """Return the cells of a row up to the last that says something, with outputs by position.

        What people wrote may be left out; numbers that they typed and passages that they marked
        aren't their words.
        """
        text, detail = row.text, row.detail
        scale = self.serializer.scales.get(row.criterion)
        is_free = text and row.start is None and not is_typed(scale, row.value, text)
        if is_free and not self.serializer.contents.has_free_text:
            text = WITHHELD
        if detail and "reasons" in detail:
            # reasons about both outputs together have no output
            reasons = {
                str(self.positions[int(pk)]) if pk.isdecimal() else pk: keys
                for pk, keys in detail["reasons"].items()
            }
            detail = {**detail, "reasons": reasons}
        _item, output, *cells = row._replace(text=text, detail=detail)
        cells = [self.positions[output], *cells, file_row]
        while cells[-1] == EMPTY_RATING_FIELDS[len(cells) - 3]:
            cells.pop()
        return cells

    def _read_revision(self, earlier: Revision) -> Plain:
        """Return an earlier state, with outputs by their position."""
        state = dict(earlier.state)
        if not self.serializer.contents.has_free_text:
            state["note"] = ""
        state["rows"] = [self._write_row(AnswerRow(0, *cells)) for cells in state["rows"]]
        return {
            "state": state,
            "submitted_at": to_plain(earlier.submitted_at),
            "replaced_at": to_plain(earlier.replaced_at),
        }


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
        **read_frozen(study),
    }


def _describe_criterion(criterion: Criterion) -> Plain:
    """Return what the scripts need to know of a criterion beside its rows in ratings.csv."""
    options = [key for key, _label in criterion.scale.list_options()]
    is_of_item = not criterion.per_output and not criterion.scale.compares
    return {
        "key": criterion.key,
        "family": criterion.family,
        "better": criterion.direction,
        **({"options": options} if options else {}),
        **({"per": "item"} if is_of_item else {}),
    }


def _name_items(sets: Iterable[ItemSet]) -> dict[int, str]:
    """Return the key of each item in these sets."""
    ids = {pk for item_set in sets for pk in (*item_set.item_ids, *item_set.lost_ids)}
    keys: dict[int, str] = {}
    for page in in_pages(ids, PAGE):
        keys.update(Item.objects.filter(pk__in=page).values_list("pk", "key"))
    return keys


def _read_set(item_set: ItemSet, keys: dict[int, str]) -> Plain:
    return _pick(item_set, SET_FIELDS) | {
        "items": [keys[pk] for pk in item_set.item_ids],
        "lost": [keys[pk] for pk in item_set.lost_ids],
    }


def _pick(row: Any, names: Iterable[str]) -> Plain:
    return {name: to_plain(getattr(row, name)) for name in names}


def _leave_out(plain: Plain, values: Mapping[str, Any]) -> Plain:
    """Return the row without the fields that hold these values, which say nothing."""
    return {name: value for name, value in plain.items() if value != values.get(name, _NOTHING)}


def _pick_all(rows: QuerySet[Any], names: tuple[str, ...]) -> list[Plain]:
    return [_pick(row, names) for row in rows]


def _pick_files(rows: QuerySet[Any], names: tuple[str, ...]) -> list[Plain]:
    """As _pick_all; notes of an import are there only if there are any."""
    picked = _pick_all(rows, names)
    return [
        {name: value for name, value in row.items() if name != IMPORT_NOTES or value}
        for row in picked
    ]


def _of(model: Any, people: list[int]) -> QuerySet[Any]:
    order = "number" if model is ItemSet else "id"
    return model.objects.filter(participant__in=people).order_by(order)


def _by(name: str, rows: QuerySet[Any]) -> dict[int, list[Any]]:
    """Return the rows by what they belong to, in their own order."""
    found: dict[int, list[Any]] = defaultdict(list)
    for row in rows:
        found[getattr(row, name)].append(row)
    return found
