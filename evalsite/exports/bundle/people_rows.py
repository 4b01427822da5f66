"""Participants of a bundle as rows, with consents, answers at entry and sets.

Nobody can come back by an old link: links, receipts and codes are not in a bundle. Receipts and
codes are made anew, so that no set is without one.
"""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from evalsite.exports.bundle.item_rows import ItemRows
from evalsite.exports.bundle.layout import (
    ANSWER_FIELDS,
    CONSENT_FIELDS,
    PARTICIPANT_FIELDS,
    PEOPLE_ROWS,
    SET_FIELDS,
)
from evalsite.exports.bundle.opening import Bundle
from evalsite.exports.bundle.shapes import in_pages, read_fields
from evalsite.participants.models import (
    Answer,
    Consent,
    ItemSet,
    Participant,
    make_completion_code,
)
from evalsite.studies.models import Study

Plain = dict[str, Any]


class PeopleRows:
    """Stores participants, and tells the ids that they and their sets have here."""

    def __init__(
        self,
        bundle: Bundle,
        study: Study,
        items: ItemRows,
        versions: Mapping[int | None, int | None],
    ) -> None:
        self.bundle = bundle
        self.study = study
        self.items = items
        self.versions = versions
        self.ids: dict[str, int] = {}
        self.sets: dict[tuple[str, int], Any] = {}

    def store(self, *, is_copy: bool) -> None:
        for page in in_pages(self.bundle.read_rows(PEOPLE_ROWS)):
            people = [
                Participant(
                    study_id=self.study.pk, **read_fields(Participant, PARTICIPANT_FIELDS, row)
                )
                for row in page
            ]
            Participant.objects.bulk_create(people)
            self.ids.update((one.pseudonym, one.pk) for one in people)
            Consent.objects.bulk_create(
                self._build_consent(row, one) for row in page for one in row["consents"]
            )
            Answer.objects.bulk_create(
                Answer(**self._of(row), **read_fields(Answer, ANSWER_FIELDS, one))
                for row in page
                for one in row["answers"]
            )
            sets = [self._build_set(row, one, is_copy) for row in page for one in row["sets"]]
            ItemSet.objects.bulk_create(sets)

    def _of(self, row: Plain) -> Plain:
        return {"study_id": self.study.pk, "participant_id": self.ids[row["pseudonym"]]}

    def _build_consent(self, row: Plain, plain: Plain) -> Consent:
        values = read_fields(Consent, CONSENT_FIELDS, plain)
        return Consent(**self._of(row), **values, version_id=self.versions[plain["version"]])

    def _build_set(self, row: Plain, plain: Plain, is_copy: bool) -> ItemSet:
        values = read_fields(ItemSet, SET_FIELDS, plain)
        if is_copy:
            values["id"] = uuid4()
        self.sets[row["pseudonym"], plain["number"]] = values["id"]
        return ItemSet(
            **self._of(row),
            **values,
            item_ids=[self.items.ids[key] for key in plain["items"]],
            lost_ids=[self.items.ids[key] for key in plain["lost"]],
            code=make_completion_code() if values["finished_at"] is not None else "",
        )
