"""What was answered in a bundle, as rows: places, annotations with all they hold, exclusions."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evalsite.annotation.models import Annotation, Highlight, Rating, Revision, Slot
from evalsite.exports.bundle.item_rows import ItemRows
from evalsite.exports.bundle.layout import (
    ANNOTATION_FIELDS,
    ANNOTATION_ROWS,
    EXCLUSION_FIELDS,
    EXCLUSION_ROWS,
    PLAN,
    REVISION_FIELDS,
)
from evalsite.exports.bundle.opening import Bundle
from evalsite.exports.bundle.people_rows import PeopleRows
from evalsite.exports.bundle.shapes import in_pages, read_fields
from evalsite.quality.models import Exclusion
from evalsite.studies.models import Study

Plain = dict[str, Any]
# what is stored of the places at a time
_PLACES = 5_000


class AnswerRows:
    """Stores the places of open batches, and all that was answered."""

    def __init__(
        self,
        bundle: Bundle,
        study: Study,
        items: ItemRows,
        people: PeopleRows,
        versions: Mapping[int | None, int | None],
        files: Mapping[str | None, Any],
    ) -> None:
        self.bundle = bundle
        self.study = study
        self.items = items
        self.people = people
        self.versions = versions
        self.files = files
        self.slots: dict[tuple[str, int], int] = {}
        self.annotations: dict[str, int] = {}

    def store(self) -> None:
        # before any is open, the plan tells of places that a launch will make
        if self.study.batches.filter(opened_at__isnull=False).exists():
            self._store_places()
        for page in in_pages(self.bundle.read_rows(ANNOTATION_ROWS)):
            self._store_annotations(page)
        self._store_exclusions()

    # places

    def _store_places(self) -> None:
        """Each is filled by the answer that names it, or free: nobody holds one any more."""
        holders = dict(self._find_holders())
        rows = self.bundle.read_table(PLAN)
        next(rows)
        for page in in_pages(rows, _PLACES):
            names = [(row[0], int(row[1])) for row in page]
            slots = [
                self._build_slot(row, holders.get(name))
                for row, name in zip(page, names, strict=True)
            ]
            Slot.objects.bulk_create(slots)
            pairs = zip(names, slots, strict=True)
            self.slots.update((name, slot.pk) for name, slot in pairs if name in holders)

    def _find_holders(self) -> Iterator[tuple[tuple[str, int], int]]:
        for row in self.bundle.read_rows(ANNOTATION_ROWS):
            if row["number"] is not None:
                yield (row["item"], row["number"]), self.people.ids[row["participant"]]

    def _build_slot(self, row: list[str], holder: int | None) -> Slot:
        return Slot(
            study_id=self.study.pk,
            item_id=self.items.ids[row[0]],
            no=int(row[1]) - 1,
            pos=int(row[2]),
            arrangement=int(row[3]),
            state=Slot.State.FREE if holder is None else Slot.State.DONE,
            participant_id=holder,
        )

    # annotations

    def _store_annotations(self, page: list[Plain]) -> None:
        made = [self._build(row) for row in page]
        Annotation.objects.bulk_create(made)
        pairs = list(zip(page, made, strict=True))
        self.annotations.update((row["key"], one.pk) for row, one in pairs)
        Rating.objects.bulk_create(self._build_ratings(pairs))
        Highlight.objects.bulk_create(self._build_highlights(pairs))
        Revision.objects.bulk_create(self._build_revisions(pairs))

    def _build(self, row: Plain) -> Annotation:
        number, item_set = row["number"], row["set"]
        return Annotation(
            study_id=self.study.pk,
            item_id=self.items.ids[row["item"]],
            participant_id=self.people.ids[row["participant"]],
            slot_id=None if number is None else self.slots[row["item"], number],
            item_set_id=None
            if item_set is None
            else self.people.sets[row["participant"], item_set],
            version_id=self.versions[row["version"]],
            ratings_file_id=self.files[row["ratings_file"]],
            **read_fields(Annotation, ANNOTATION_FIELDS, row),
        )

    def _build_ratings(self, pairs: Iterable[tuple[Plain, Annotation]]) -> Iterator[Rating]:
        for row, annotation in pairs:
            for criterion, position, value, typed, file_row in row["ratings"]:
                yield Rating(
                    study_id=self.study.pk,
                    annotation_id=annotation.pk,
                    criterion=criterion,
                    output_id=self._find_output(row, position),
                    value=value,
                    value_typed=typed,
                    file_row=file_row,
                )

    def _build_highlights(self, pairs: Iterable[tuple[Plain, Annotation]]) -> Iterator[Highlight]:
        for row, annotation in pairs:
            for position, start, end, quote in row["highlights"]:
                yield Highlight(
                    study_id=self.study.pk,
                    annotation_id=annotation.pk,
                    output_id=self.items.outputs[row["item"]][position],
                    start=start,
                    end=end,
                    quote=quote,
                )

    def _build_revisions(self, pairs: Iterable[tuple[Plain, Annotation]]) -> Iterator[Revision]:
        for row, annotation in pairs:
            for earlier in row["revisions"]:
                values = read_fields(Revision, REVISION_FIELDS, earlier)
                state = dict(values.pop("state"))
                for name, place in (("ratings", 1), ("highlights", 0)):
                    state[name] = [
                        [*one[:place], self._find_output(row, one[place]), *one[place + 1 :]]
                        for one in state[name]
                    ]
                yield Revision(
                    study_id=self.study.pk, annotation_id=annotation.pk, state=state, **values
                )

    def _find_output(self, row: Plain, position: int | None) -> int | None:
        return None if position is None else self.items.outputs[row["item"]][position]

    # exclusions

    def _store_exclusions(self) -> None:
        rows = []
        for plain in self.bundle.read_rows(EXCLUSION_ROWS):
            person, annotation = plain["participant"], plain["annotation"]
            values = read_fields(Exclusion, EXCLUSION_FIELDS, plain)
            exclusion = Exclusion(
                study_id=self.study.pk,
                participant_id=None if person is None else self.people.ids[person],
                annotation_id=None if annotation is None else self.annotations[annotation],
                **values,
            )
            rows.append((exclusion, values["decided_at"]))
        Exclusion.objects.bulk_create([exclusion for exclusion, _ in rows])
        for exclusion, moment in rows:
            # the column sets itself when a row is made
            exclusion.decided_at = moment
        Exclusion.objects.bulk_update(
            [exclusion for exclusion, _ in rows], ["decided_at"], batch_size=500
        )
