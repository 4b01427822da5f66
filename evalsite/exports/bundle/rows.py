"""Store the rows of a bundle in the database, a page at a time; nothing is kept between pages.

What a field can't hold, what refers to something unknown, and what a constraint of the database
refuses is a BadBundle that names the file and the line.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any
from uuid import uuid4

from django.db import IntegrityError, models
from django.db.models import OuterRef, Subquery

from evalsite.annotation.models import Annotation, Rating, Revision, Slot
from evalsite.exports.bundle.bulk_store import PAGE, explain, reading, store_rows
from evalsite.exports.bundle.fields import Misshapen, read_fields, read_text, read_whole
from evalsite.exports.bundle.format import (
    ANNOTATION_FIELDS,
    ANNOTATION_ROWS,
    ANSWER_FIELDS,
    CHANGE_FIELDS,
    CHANGE_ROWS,
    CONSENT_FIELDS,
    EMPTY_RATING_FIELDS,
    EXCLUSION_FIELDS,
    EXCLUSION_ROWS,
    ITEM_FIELDS,
    ITEM_FIELDS_IF_ANY,
    ITEM_ROWS,
    METRIC_FIELDS,
    METRIC_ROWS,
    PARTICIPANT_FIELDS,
    PARTICIPANT_FIELDS_IF_ANY,
    PEOPLE_ROWS,
    PLAN,
    PLAN_COLUMNS,
    RATING_FIELDS,
    REVISION_FIELDS,
    SET_FIELDS,
)
from evalsite.exports.bundle.format_3 import convert_annotation
from evalsite.exports.bundle.read import BadBundle, Bundle, Row, in_pages
from evalsite.imports.models import MetricScore
from evalsite.instruments.answer import AnswerRow
from evalsite.participants.models import Answer, Consent, ItemSet, Participant
from evalsite.participants.random_codes import make_completion_code
from evalsite.quality.models import Exclusion
from evalsite.studies.models import Change, Item, Output, Study, System
from evalsite.studies.services import item_keys

Plain = dict[str, Any]
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}")
_REPEAT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/ -]*\(repeat [0-9-]+\)")
# people come with all of their sets
_PEOPLE = 50
_MOST_NAMES = 500


class RowStore:
    """Stores items, people and answers of one study.

    `batches`, `versions`, `ratings_files`, `metric_files`: the ids here by those in the bundle.
    """

    def __init__(
        self,
        bundle: Bundle,
        study: Study,
        systems: Iterable[str],
        *,
        format_version: int,
        is_copy: bool,
    ) -> None:
        self.bundle = bundle
        self.format_version = format_version
        self.study = study
        self.is_copy = is_copy
        self.batches: dict[str | None, Any] = {None: None}
        self.versions: dict[int | None, int | None] = {None: None}
        self.ratings_files: dict[str | None, Any] = {None: None}
        self.metric_files: dict[str, Any] = {}
        made = [System(study=study, **read_fields(System, ["name"], {"name": n})) for n in systems]
        System.objects.bulk_create(made)
        self.systems = {None: None} | {system.name: system.pk for system in made}

    # items

    def store_items(self, *, has_data: bool) -> None:
        """Store all items in their order; without data, no repeats and none that were withdrawn."""
        for page in in_pages(self.bundle.read_rows(ITEM_ROWS)):
            # a repeat may follow its original in the same page
            for is_repeat, run in groupby(page, key=_is_repeat):
                rows = [row for row in run if has_data or not _is_withdrawn(row)]
                if has_data or not is_repeat:
                    self._store_items(rows, has_data=has_data)

    def _store_items(self, page: list[Row], *, has_data: bool) -> None:
        originals = self._find_items(page, "repeat_of")
        pairs = []
        for row in page:
            with reading(row):
                pairs.append((row, self._build_item(row.values, originals, has_data=has_data)))
        store_rows(pairs)
        store_rows(
            (row, output) for row, item in pairs for output in self._build_outputs(row, item)
        )

    def _build_item(self, row: Plain, originals: Mapping[str, int], *, has_data: bool) -> Item:
        values = read_fields(Item, ITEM_FIELDS, ITEM_FIELDS_IF_ANY | row)
        pattern = _REPEAT if values["kind"] == Item.Kind.REPEAT else _KEY
        if not pattern.fullmatch(values["key"]):
            raise Misshapen(f"an item can't have the id {values['key'][:60]!r}")
        if not has_data:
            values["held_at"] = values["released_at"] = values["corrected_at"] = None
        original = row["repeat_of"]
        return Item(
            study_id=self.study.pk,
            batch_id=_get(self.batches, row["batch"], "batch"),
            repeat_of_id=None if original is None else _get(originals, original, "item"),
            **values | item_keys(self.study, key=row["key"], group=row["group"]),
        )

    def _build_outputs(self, row: Row, item: Item) -> Iterator[Output]:
        with reading(row):
            for position, output in enumerate(row.values["outputs"]):
                yield Output(
                    study_id=self.study.pk,
                    item_id=item.pk,
                    system_id=_get(self.systems, output["system"], "system"),
                    position=position,
                    **read_fields(Output, ["text"], output),
                )

    def store_changes(self) -> None:
        """Store what was changed after the launch; the items must be there."""
        for page in in_pages(self.bundle.read_rows(CHANGE_ROWS)):
            items = self._find_items(page) | self._find_items(page, "instead_of")
            outputs = self._find_outputs(items)
            pairs = []
            for row in page:
                with reading(row):
                    plain = row.values
                    items_named = {
                        f"{name}_id": None
                        if plain[name] is None
                        else _get(items, plain[name], "item")
                        for name in ("item", "instead_of")
                    }
                    change = Change(
                        study_id=self.study.pk,
                        system_id=_get(self.systems, plain["system"], "system"),
                        **items_named,
                        **read_fields(Change, CHANGE_FIELDS, plain),
                    )
                    place = (change.item_id, change.position)
                    if change.position is not None and place not in outputs:
                        raise Misshapen(f"position can't be {change.position}")
                    pairs.append((row, change))
            store_rows(pairs)

    def _find_items(self, page: list[Row], name: str = "item") -> dict[str, int]:
        """Return the ids of the items that these rows name."""
        return self._find_keys(page, lambda row: [] if row[name] is None else [row[name]])

    def _find_keys(
        self, page: list[Row], list_keys: Callable[[Plain], Iterable[Any]]
    ) -> dict[str, int]:
        keys: set[str] = set()
        for row in page:
            with reading(row):
                keys.update(map(read_text, list_keys(row.values)))
        found: dict[str, int] = {}
        for names in in_pages(keys, _MOST_NAMES):
            items = Item.objects.filter(study=self.study, key__in=names)
            found.update(items.values_list("key", "pk"))
        return found

    def _find_outputs(self, items: Mapping[str, int]) -> dict[tuple[int, Any], int]:
        """Return the ids of these items' outputs, by item and position."""
        outputs = Output.objects.filter(item__in=items.values()).order_by()
        return {
            (item, position): pk
            for item, position, pk in outputs.values_list("item_id", "position", "pk")
        }

    def _find_people(self, names: Iterable[Any]) -> dict[str, int]:
        people = Participant.objects.filter(study=self.study, pseudonym__in=set(names))
        return dict(people.values_list("pseudonym", "pk"))

    # people

    def store_people(self) -> None:
        """Store participants with consents, answers and sets.

        Links, receipts and codes aren't in a bundle, so nobody can come back by an old link.
        Receipts and codes are made again, so that no set is without one.
        """
        for page in in_pages(self.bundle.read_rows(PEOPLE_ROWS), _PEOPLE):
            items = self._find_keys(
                page,
                lambda row: [key for own in row["sets"] for key in (*own["items"], *own["lost"])],
            )
            pairs = []
            for row in page:
                with reading(row):
                    values = read_fields(
                        Participant, PARTICIPANT_FIELDS, PARTICIPANT_FIELDS_IF_ANY | row.values
                    )
                    pairs.append((row, Participant(study_id=self.study.pk, **values)))
            store_rows(pairs)
            store_rows(self._build_each(pairs, "consents", self._build_consent))
            store_rows(
                self._build_each(
                    pairs, "answers", lambda row: Answer(**read_fields(Answer, ANSWER_FIELDS, row))
                )
            )
            store_rows(self._build_each(pairs, "sets", partial(self._build_set, items)))

    def _build_each(
        self,
        pairs: Iterable[tuple[Row, Participant]],
        name: str,
        build: Callable[[Plain], Any],
    ) -> Iterator[tuple[Row, Any]]:
        for row, person in pairs:
            with reading(row):
                for values in row.values[name]:
                    built = build(values)
                    built.study_id, built.participant_id = self.study.pk, person.pk
                    yield row, built

    def _build_consent(self, row: Plain) -> Consent:
        version = _get(self.versions, row["version"], "version")
        return Consent(version_id=version, **read_fields(Consent, CONSENT_FIELDS, row))

    def _build_set(self, items: Mapping[str, int], row: Plain) -> ItemSet:
        values = read_fields(ItemSet, SET_FIELDS, row)
        if self.is_copy:
            values["id"] = uuid4()
        return ItemSet(
            **values,
            item_ids=[_get(items, key, "item") for key in row["items"]],
            lost_ids=[_get(items, key, "item") for key in row["lost"]],
            code=make_completion_code() if values["finished_at"] is not None else "",
        )

    # places

    def store_places(self) -> None:
        """Store the places of open batches, all of them free."""
        rows = self.bundle.read_table(PLAN)
        if next(rows, []) != [column.name for column in PLAN_COLUMNS]:
            raise BadBundle("columns", "It has other columns than a plan.", PLAN)
        lines = (
            Row(PLAN, line, {"item": cells[0], "cells": cells})
            for line, cells in enumerate(rows, start=2)
        )
        # before any batch is open, the plan has the places that a launch would make
        if not self.study.batches.filter(opened_at__isnull=False).exists():
            return
        for page in in_pages(lines, PAGE):
            items = self._find_items(page)
            pairs = []
            for row in page:
                with reading(row):
                    pairs.append((row, self._build_place(row.values["cells"], items)))
            store_rows(pairs)

    def _build_place(self, cells: list[str], items: Mapping[str, int]) -> Slot:
        number, position, arrangement = (int(cell) for cell in cells[1:4])
        if not (0 < number <= 2**15 and 0 <= position < 2**62 and 0 <= arrangement < 2**15):
            raise Misshapen("a number is out of range")
        return Slot(
            study_id=self.study.pk,
            item_id=_get(items, cells[0], "item"),
            no=number - 1,
            pos=position,
            arrangement=arrangement,
        )

    def _fill_places(self) -> None:
        """Mark the places that answers fill as done by their participants."""
        answers = Annotation.objects.filter(study=self.study, slot__isnull=False).order_by()
        holder = answers.filter(slot=OuterRef("pk")).values("participant")[:1]
        filled = Slot.objects.filter(study=self.study, pk__in=answers.values("slot"))
        filled.update(state=Slot.State.DONE, participant_id=Subquery(holder))

    # annotations

    def store_annotations(self) -> None:
        """Store everything that was answered; the places must be there."""
        for page in in_pages(self.bundle.read_rows(ANNOTATION_ROWS)):
            if self.format_version < 4:
                page = [_convert(row) for row in page]
            self._store_annotations(page)
        try:
            self._fill_places()
        except IntegrityError as error:
            raise BadBundle("row_refused", explain(error, Slot), ANNOTATION_ROWS) from None

    def _store_annotations(self, page: list[Row]) -> None:
        items = self._find_items(page)
        outputs = self._find_outputs(items)
        people = self._find_people(read_text(row.values.get("participant")) for row in page)
        slots = Slot.objects.filter(study=self.study, item__in=items.values()).order_by()
        places = {(item, no + 1): pk for item, no, pk in slots.values_list("item", "no", "pk")}
        own = ItemSet.objects.filter(participant__in=people.values()).order_by()
        sets = {
            (one, number): pk for one, number, pk in own.values_list("participant", "number", "pk")
        }
        pairs = []
        for row in page:
            with reading(row):
                values = row.values
                item = _get(items, values["item"], "item")
                person = _get(people, values["participant"], "participant")
                number, item_set = values["number"], values["set"]
                annotation = Annotation(
                    study_id=self.study.pk,
                    item_id=item,
                    participant_id=person,
                    slot_id=None
                    if number is None
                    else _get(places, (item, number), "place of this item"),
                    item_set_id=None
                    if item_set is None
                    else _get(sets, (person, item_set), "set of this participant"),
                    version_id=_get(self.versions, values["version"], "version"),
                    ratings_file_id=_get(
                        self.ratings_files, values["ratings_file"], "file of ratings"
                    ),
                    **read_fields(Annotation, ANNOTATION_FIELDS, values),
                )
                pairs.append((row, annotation))
        store_rows(pairs)
        for build in (self._build_ratings, self._build_revisions):
            store_rows(
                (row, built)
                for row, annotation in pairs
                for built in _build_all(row, build, annotation, outputs)
            )

    def _build_ratings(
        self, row: Plain, annotation: Annotation, outputs: Mapping[Any, int]
    ) -> Iterator[Rating]:
        for cells in row["ratings"]:
            yield Rating(
                study_id=self.study.pk,
                annotation_id=annotation.pk,
                **_read_row(cells, annotation, outputs),
            )

    def _build_revisions(
        self, row: Plain, annotation: Annotation, outputs: Mapping[Any, int]
    ) -> Iterator[Revision]:
        for earlier in row["revisions"]:
            values = read_fields(Revision, REVISION_FIELDS, earlier)
            state = dict(values.pop("state"))
            rows = (_read_row(cells, annotation, outputs) for cells in state["rows"])
            state["rows"] = [
                [fields["output_id"], *(fields[name] for name in AnswerRow._fields[2:])]
                for fields in rows
            ]
            yield Revision(
                study_id=self.study.pk, annotation_id=annotation.pk, state=state, **values
            )

    # exclusions and scores

    def store_exclusions(self) -> None:
        for page in in_pages(self.bundle.read_rows(EXCLUSION_ROWS)):
            people = self._find_people(
                row.values.get("participant") for row in page if row.values.get("participant")
            )
            keys = {str(row.values.get("annotation")) for row in page}
            answers = Annotation.objects.filter(
                study=self.study, key__in=[key for key in keys if _UUID.fullmatch(key)]
            )
            annotations = {str(key): pk for key, pk in answers.values_list("key", "pk")}
            pairs = []
            for row in page:
                with reading(row):
                    person, annotation = row.values["participant"], row.values["annotation"]
                    exclusion = Exclusion(
                        study_id=self.study.pk,
                        participant_id=None
                        if person is None
                        else _get(people, person, "participant"),
                        annotation_id=None
                        if annotation is None
                        else _get(annotations, annotation, "annotation"),
                        **read_fields(Exclusion, EXCLUSION_FIELDS, row.values),
                    )
                    pairs.append((row, exclusion))
            moments = [exclusion.decided_at for _, exclusion in pairs]
            store_rows(pairs)
            for (_, exclusion), moment in zip(pairs, moments, strict=True):
                # the column sets itself when a row is made
                exclusion.decided_at = moment
            Exclusion.objects.bulk_update(
                [exclusion for _, exclusion in pairs], ["decided_at"], batch_size=500
            )

    def store_scores(self) -> None:
        for page in in_pages(self.bundle.read_rows(METRIC_ROWS)):
            items = self._find_items(page)
            outputs = self._find_outputs(items)
            pairs = []
            for row in page:
                with reading(row):
                    item = _get(items, row.values["item"], "item")
                    score = MetricScore(
                        file_id=_get(self.metric_files, row.values["file"], "file of scores"),
                        output_id=_get(outputs, (item, row.values["output"]), "output"),
                        **read_fields(MetricScore, METRIC_FIELDS, row.values),
                    )
                    pairs.append((row, score))
            store_rows(pairs)


_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def _convert(row: Row) -> Row:
    with reading(row):
        return replace(row, values=convert_annotation(row.values))


def _is_repeat(row: Row) -> bool:
    return row.values.get("kind") == Item.Kind.REPEAT


def _is_withdrawn(row: Row) -> bool:
    return row.values.get("kind") == Item.Kind.WITHDRAWN


def _build_all(
    row: Row, build: Callable[..., Iterator[Any]], *parts: Any
) -> Iterator[models.Model]:
    with reading(row):
        yield from build(row.values, *parts)


def _get(found: Mapping[Any, Any], name: Any, what: str) -> Any:
    if name not in found:
        shown = name[-1] if isinstance(name, tuple) else name
        raise Misshapen(f"there is no {what} {str(shown)[:60]}")
    return found[name]


def _get_output(outputs: Mapping[Any, int], annotation: Annotation, position: Any) -> int | None:
    if position is None:
        return None
    return int(_get(outputs, (annotation.item_id, read_whole(position)), "output"))


def _read_row(cells: Any, annotation: Annotation, outputs: Mapping[Any, int]) -> dict[str, Any]:
    """Return the fields of a rating, with the ids that outputs have here."""
    position, criterion, *more = cells
    more += EMPTY_RATING_FIELDS[len(more) :]
    row = dict(zip(RATING_FIELDS, (criterion, *more), strict=True))
    row["detail"] = _turn_reasons(row["detail"], outputs, annotation)
    return {
        "output_id": _get_output(outputs, annotation, position),
        **read_fields(Rating, RATING_FIELDS, row),
    }


def _turn_reasons(detail: Any, outputs: Mapping[Any, int], annotation: Annotation) -> Any:
    """Return the details of a rating, with reasons by the output's id here, not its position."""
    if not isinstance(detail, dict) or not isinstance(detail.get("reasons"), dict):
        return detail
    reasons = {
        _name_output(position, outputs, annotation): keys
        for position, keys in detail["reasons"].items()
    }
    return {**detail, "reasons": reasons}


def _name_output(position: str, outputs: Mapping[Any, int], annotation: Annotation) -> str:
    """Return the id of the output at this position; "all", which reasons about both have, stays."""
    if position == "all":
        return position
    return str(_get(outputs, (annotation.item_id, read_whole(_as_number(position))), "output"))


def _as_number(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 5 else text
