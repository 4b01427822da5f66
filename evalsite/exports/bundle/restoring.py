"""Making the study of a bundle again: all of it in one transaction, or nothing."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any
from uuid import UUID, uuid4

from django.core.exceptions import ValidationError
from django.db import DatabaseError, transaction

from evalsite.annotation.fsck import find_breaches
from evalsite.annotation.models import TOP_UP_ACTION, TOP_UP_FROM, RatingsFile, Slot
from evalsite.audit.models import AuditEntry
from evalsite.exports.bundle.analysis_plan import open_plan, store_plan, tell_missing
from evalsite.exports.bundle.answer_rows import AnswerRows
from evalsite.exports.bundle.item_rows import ItemRows
from evalsite.exports.bundle.layout import (
    BATCH_FIELDS,
    METRIC_ROWS,
    RATINGS_FILE_FIELDS,
    STUDY_FIELDS,
    VERSION_FIELDS,
    Contents,
    name_version,
)
from evalsite.exports.bundle.metric_rows import store_scores
from evalsite.exports.bundle.opening import BadBundle, Bundle, open_bundle
from evalsite.exports.bundle.packing import list_differing
from evalsite.exports.bundle.people_rows import PeopleRows
from evalsite.exports.bundle.scales import insist_on_instrument
from evalsite.exports.bundle.shapes import read_fields
from evalsite.exports.bundle.verifying import Report, verify_bundle
from evalsite.lib.clock import now
from evalsite.protocol import Protocol, get_protocol
from evalsite.protocol.version_0_1 import read_stored
from evalsite.studies.models import Batch, Membership, Study, StudyVersion
from evalsite.studies.versions import protocol_instructions

Plain = dict[str, Any]
_MOST_FAULTS = 20


@dataclass(frozen=True, kw_only=True)
class Restored:
    """The study that was made, and what its owner should know of it."""

    study: Study
    has_data: bool
    report: Report
    remarks: list[str] = field(default_factory=list)


def restore_bundle(
    *, file: IO[bytes], owner: Any, by: Any, has_data: bool = True, is_copy: bool = False
) -> Restored:
    """The bundle's study stands here: with its data, or as a draft of the same design.

    With its data it is closed; one that was never launched is a draft, as it was.
    ValidationError tells why it can't; then nothing has changed.
    """
    report = verify_bundle(file)
    if not report.is_sound:
        raise ValidationError(["The bundle is not sound.", *report.faults[:_MOST_FAULTS]])
    about = report.about
    has_data = has_data and about["has_data"]
    config = _find_protocol(about["study"])
    # a draft is a study of its own, in which nobody has answered anything yet
    is_new = is_copy or not has_data
    study_id = uuid4() if is_new else UUID(about["study"]["id"])
    _insist_on_room(study_id)
    try:
        insist_on_instrument(about["instrument"], config.key)
        with open_bundle(file) as bundle, transaction.atomic():
            study = _Restoration(bundle, about, study_id, has_data=has_data, is_copy=is_new).run()
            plan = open_plan(bundle, about)
            store_plan(study, plan, owner=owner, has_data=has_data)
            Membership.objects.create(study=study, user=owner, role=Membership.Role.OWNER)
            # the log is part of what is looked at
            _record(study, about, owner=owner, by=by, has_data=has_data)
            _insist_on_soundness(study)
    except (BadBundle, DatabaseError) as error:
        raise ValidationError(f"Nothing was imported: {error}") from None
    remarks = [*report.remarks, *_list_remarks(about, config)]
    if has_data:
        remarks += tell_missing(study, plan)
    if has_data and not is_new:
        remarks += _compare_exports(study, file, about)
    return Restored(study=study, has_data=has_data, report=report, remarks=remarks)


def _find_protocol(plain: Plain) -> Protocol:
    """The installed protocol, which takes the options of this study."""
    try:
        config = get_protocol(plain["protocol"])
    except LookupError:
        raise ValidationError(
            f"The study uses the protocol “{plain['protocol']}”, which is not installed here. "
            "Install it, and import the bundle again."
        ) from None
    if config.options_form is not None:
        form = config.options_form(config.default_options | plain["options"])
        if not form.is_valid():
            told = ", ".join(form.errors)
            raise ValidationError(f"The protocol here does not take these options: {told}.")
    return config


def _insist_on_room(study_id: UUID) -> None:
    if same := Study.objects.filter(pk=study_id).first():
        raise ValidationError(
            f"This study stands here already: “{same.title}” ({same.pk}). Import it as a copy, "
            "which gets an id of its own, or import it on another installation."
        )


def _insist_on_soundness(study: Study) -> None:
    if breaches := find_breaches(study):
        raise ValidationError(
            ["The bundle's rows break what Evalsite promises.", *map(str, breaches[:_MOST_FAULTS])]
        )


def _record(study: Study, about: Plain, *, owner: Any, by: Any, has_data: bool) -> None:
    AuditEntry.objects.record(
        "study imported",
        by=by,
        study_id=study.pk,
        original=about["study"]["id"],
        owner=owner.get_username(),
        with_data=has_data,
        software=about["software"],
    )
    if added := Slot.objects.filter(study=study, no__gte=TOP_UP_FROM).count():
        # what the log there says of it is not in the bundle
        AuditEntry.objects.record(TOP_UP_ACTION, by=by, study_id=study.pk, slots=added)


def _list_remarks(about: Plain, config: Protocol) -> Iterator[str]:
    if read_stored(about["instrument"], config.key) != config:
        yield (
            f"The protocol “{config.key}” is not the same here as where the bundle was made "
            f"(Evalsite {about['software']}). The frozen versions keep what people were shown."
        )


def _compare_exports(study: Study, file: IO[bytes], about: Plain) -> Iterator[str]:
    """Whether each table, exported from here, would have the same bytes."""
    contents = Contents(has_free_text=about["has_free_text"])
    with open_bundle(file) as bundle:
        differing = list_differing(study, contents, bundle)
    if differing:
        yield f"Exported from here, these files differ from the bundle's: {', '.join(differing)}."


class _Restoration:
    """The rows of one study, stored step by step inside a transaction."""

    def __init__(
        self, bundle: Bundle, about: Plain, study_id: UUID, *, has_data: bool, is_copy: bool
    ) -> None:
        self.bundle = bundle
        self.plain = about["study"]
        self.has_data = has_data
        self.is_copy = is_copy
        self.study = Study(pk=study_id, state=Study.State.DRAFT)
        self.versions: dict[int | None, int | None] = {None: None}

    def run(self) -> Study:
        self._store_study()
        batches = self._store_batches()
        items = ItemRows(self.bundle, self.study, self.plain, batches)
        items.store(has_data=self.has_data)
        if self.has_data:
            self._store_versions()
            files = self._store_ratings_files()
            people = PeopleRows(self.bundle, self.study, items, self.versions)
            people.store(is_copy=self.is_copy)
            answers = AnswerRows(self.bundle, self.study, items, people, self.versions, files)
            answers.store()
            # not in every bundle of format 1
            if METRIC_ROWS in self.bundle.names:
                store_scores(self.bundle, items, self.plain, is_copy=self.is_copy)
        self._finish()
        self.study = Study.objects.select_related("version").get(pk=self.study.pk)
        return self.study

    def _store_study(self) -> None:
        """A draft at first: what is launched needs its version."""
        values = read_fields(Study, STUDY_FIELDS, self.plain)
        for name, value in values.items():
            setattr(self.study, name, value)
        self.study.state = Study.State.DRAFT
        if not self.has_data:
            self.study.is_demo = False
            self.study.launched_at = self.study.closed_at = self.study.closes_at = None
            self.study.instructions = self._find_instructions()
        # `save` alone would overwrite a study that stands under this id
        self.study.save(force_insert=True)

    def _find_instructions(self) -> str:
        """Those that were shown, also where the protocol here comes with others by now."""
        number = self.plain["version"]
        if self.study.instructions or number is None:
            return self.study.instructions
        shown = self.bundle.read_json(name_version(number))["texts"]["instructions"]
        return "" if shown == protocol_instructions(self.study) else shown

    def _store_batches(self) -> dict[str, UUID]:
        """The id of each batch here by that in the bundle."""
        rows = []
        ids = {}
        for plain in self.plain["batches"]:
            values = read_fields(Batch, BATCH_FIELDS, plain)
            if self.is_copy:
                values["id"] = uuid4()
            if not self.has_data:
                values["opened_at"] = None
            ids[plain["id"]] = values["id"]
            rows.append(Batch(study=self.study, **values))
        Batch.objects.bulk_create(rows)
        for row, plain in zip(rows, self.plain["batches"], strict=True):
            # the column sets itself when a row is made
            given = read_fields(Batch, ["uploaded_at"], plain)
            Batch.objects.filter(pk=row.pk).update(**given)
        return ids

    def _store_versions(self) -> None:
        for plain in self.plain["versions"]:
            values = read_fields(StudyVersion, VERSION_FIELDS, plain)
            content = self.bundle.read_json(name_version(plain["number"]))
            # people may be asked by it here
            insist_on_instrument(content["instrument"], self.plain["protocol"])
            version = StudyVersion.objects.create(study=self.study, content=content, **values)
            StudyVersion.objects.filter(pk=version.pk).update(created_at=values["created_at"])
            self.versions[plain["number"]] = version.pk

    def _store_ratings_files(self) -> dict[str | None, UUID | None]:
        """The id of each file of ratings here by that in the bundle."""
        ids: dict[str | None, UUID | None] = {None: None}
        for plain in self.plain["ratings_files"]:
            values = read_fields(RatingsFile, RATINGS_FILE_FIELDS, plain)
            if self.is_copy:
                values["id"] = uuid4()
            ids[plain["id"]] = values["id"]
            RatingsFile.objects.create(study=self.study, **values)
        return ids

    def _finish(self) -> None:
        """What was launched is closed, so that nobody comes in by accident; dates are as before."""
        if not self.has_data:
            return
        changes: Plain = {
            "created_at": read_fields(Study, ["created_at"], self.plain)["created_at"],
            "version": self.versions[self.plain["version"]],
        }
        if self.study.launched_at is not None:
            is_archived = self.plain["state"] == Study.State.ARCHIVED
            changes["state"] = Study.State.ARCHIVED if is_archived else Study.State.CLOSED
            changes["closed_at"] = self.study.closed_at or now()
        Study.objects.filter(pk=self.study.pk).update(**changes)
