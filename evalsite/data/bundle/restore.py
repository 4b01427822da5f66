"""Create the study of a bundle again: all of it in one transaction, or nothing."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby, starmap
from typing import IO, Any
from uuid import UUID, uuid4

from django.core.exceptions import ValidationError
from django.db import DatabaseError, IntegrityError, transaction
from django.db.models import OuterRef, Q, Subquery

from evalsite.core.audit.models import AuditEntry
from evalsite.data.bundle.analysis_plan import list_missing, read_analysis_plan, store_plan
from evalsite.data.bundle.codec import Reader, explain, reading, store_rows
from evalsite.data.bundle.fields import InvalidField, read_field, read_fields
from evalsite.data.bundle.format import (
    ANNOTATION_ROWS,
    BUILT,
    ITEM_ROWS,
    PLAN,
    PLAN_COLUMNS,
    STUDY,
    STUDY_FIELDS,
    name_version,
)
from evalsite.data.bundle.format_3 import convert_annotation
from evalsite.data.bundle.read import (
    UNREADABLE,
    BadBundle,
    Bundle,
    Row,
    check_built,
    check_criteria,
    check_instrument_of,
    open_bundle,
)
from evalsite.data.bundle.tables import LISTS, LISTS_IF_ANY, PLACES, SYSTEMS, TABLES
from evalsite.data.bundle.verify import Report, verify_bundle
from evalsite.data.fsck import find_breaches
from evalsite.handout.models import TOP_UP_ACTION, TOP_UP_FROM, Annotation, Slot
from evalsite.instruments.bundle_format_2 import read_stored
from evalsite.instruments.installed import get_protocol
from evalsite.instruments.schema import Instrument
from evalsite.instruments.texts import translate
from evalsite.lib.clock import now
from evalsite.people.models import Participant
from evalsite.studies.instruments import adopt_instrument
from evalsite.studies.models import Item, Membership, Study
from evalsite.studies.versions import protocol_instructions

Plain = dict[str, Any]
_MOST_FAULTS = 20
# of a version: what pages and deletion go by later; older ones lack some
_PROMISES = ("has_notice", "identity_days", "withdrawable_until")


@dataclass(frozen=True, kw_only=True)
class Restored:
    """The study that was created, and what its owner should know about it."""

    study: Study
    has_data: bool
    report: Report
    remarks: list[str] = field(default_factory=list)


def restore_bundle(
    *, file: IO[bytes], owner: Any, by: Any, has_data: bool = True, is_copy: bool = False,
    new_id: UUID | None = None,
) -> Restored:  # fmt: skip
    """Create the bundle's study: closed and with its data, or as a draft of the same design.

    A study that was never launched is a draft, as it was. ValidationError says why the study
    can't be created; then nothing has changed. `new_id`: that of a draft or a copy.
    """
    report = verify_bundle(file)
    if not report.is_sound:
        faults = [str(fault) for fault in report.faults[:_MOST_FAULTS]]
        raise ValidationError(["This bundle can't be imported.", *faults], code="bundle_faulty")
    about = report.about
    has_data = has_data and about["has_data"]
    config = find_protocol(about["study"])
    # a draft is a new study without answers
    is_new = is_copy or not has_data
    study_id = (new_id or uuid4()) if is_new else UUID(about["study"]["id"])
    if not is_new:
        _check_ids_are_free(study_id, about)
    try:
        with open_bundle(file) as bundle, transaction.atomic():
            plan = read_analysis_plan(bundle)
            loader = Loader(bundle, about, study_id, has_data=has_data, is_copy=is_new, owner=owner)
            study = loader.load()
            store_plan(study, plan, owner=owner, has_data=has_data, is_copy=is_new)
            Membership.objects.create(study=study, user=owner, role=Membership.Role.OWNER)
            # fsck reads the log too
            _record(study, about, owner=owner, by=by, has_data=has_data)
            if breaches := find_breaches(study):
                listed = [str(breach) for breach in breaches[:_MOST_FAULTS]]
                raise ValidationError(["The rows of this bundle can't be right.", *listed])
    except (BadBundle, DatabaseError) as error:
        raise ValidationError(f"Nothing was imported: {error}") from None
    remarks = [*report.remarks, *list_protocol_remarks(about, config)]
    if has_data and plan["repeats"] is not None:
        remarks += list_missing(study, plan)
    return Restored(study=study, has_data=has_data, report=report, remarks=remarks)


def find_protocol(plain: Plain) -> Instrument:
    """Return the study's own or the installed instrument if it takes the study's options."""
    if plain[BUILT] is not None:
        check_built(plain)
        return Instrument.model_validate(translate(plain[BUILT], plain["language"]))
    try:
        config = get_protocol(plain["protocol"])
    except LookupError:
        raise ValidationError(
            f"This study uses the protocol “{plain['protocol']}”, which isn't installed here. "
            "Install it, then import the bundle again.",
            code="protocol_unknown",
        ) from None
    if config.options_form is not None:
        form = config.options_form(config.default_options | plain["options"])
        if not form.is_valid():
            raise ValidationError(
                f"The protocol here doesn't take these options: {', '.join(form.errors)}.",
                code="options_invalid",
            )
    return config


def _check_ids_are_free(study_id: UUID, about: Plain) -> None:
    """Raise ValidationError if the study is here, perhaps as that of an anonymous bundle."""
    batches = [batch["id"] for batch in about["study"]["batches"]]
    if earlier := Study.objects.filter(Q(pk=study_id) | Q(batches__in=batches)).first():
        raise ValidationError(
            f"This study is here already: “{earlier.title}” ({earlier.pk}). Import it as a copy, "
            "which gets a new id, or import it on another installation.",
            code="study_exists",
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
    record_top_up(study, by=by)


def record_top_up(study: Study, *, by: Any) -> None:
    """Log places that were added beyond k; what the original's log says isn't in the bundle."""
    if added := Slot.objects.filter(study=study, no__gte=TOP_UP_FROM).count():
        AuditEntry.objects.record(TOP_UP_ACTION, by=by, study_id=study.pk, slots=added)


def list_protocol_remarks(about: Plain, config: Instrument) -> Iterator[str]:
    is_built = about["study"][BUILT] is not None
    if not is_built and read_stored(about["instrument"], config.key) != config:
        yield (
            f"The protocol “{config.key}” here differs from the one that made the bundle "
            f"(Evalsite {about['software']}). The frozen versions keep what people were shown."
        )


class Loader:
    """Stores the rows of one bundle as a study, step by step inside a transaction."""

    def __init__(
        self, bundle: Bundle, about: Plain, study_id: UUID, *, has_data: bool, is_copy: bool,
        owner: Any,
    ) -> None:  # fmt: skip
        self.bundle = bundle
        self.about = about
        self.plain = about["study"]
        self.has_data = has_data
        self.is_copy = is_copy
        self.owner = owner
        self.study = Study(pk=study_id, state=Study.State.DRAFT)
        self.reader = Reader(self.study, is_copy=is_copy, has_data=has_data)

    def load(self) -> Study:
        check_criteria(self.about["instrument"])
        check_instrument_of(self.about["instrument"], self.plain)
        self._store_study()
        self._store_systems()
        for name, rows in LISTS.items():
            if self.has_data or name == "batches":
                self.reader.store(rows, self._read_list(name))
        self._store_items()
        if self.has_data:
            self._store_places()
            for name, rows in TABLES.items():
                if name != ITEM_ROWS:
                    self.reader.store(rows, self._read_records(name))
            self._fill_places()
            self._finish()
        self.study = Study.objects.select_related("version").get(pk=self.study.pk)
        return self.study

    def _store_systems(self) -> None:
        try:
            names = self.plain["systems"]
            self.reader.store(SYSTEMS, [Row(STUDY, 1, {"name": name}) for name in names])
        except (BadBundle, TypeError, KeyError):
            message = "The systems need different names, of a length that can be stored."
            raise BadBundle("systems_invalid", message, STUDY) from None

    def _read_list(self, name: str) -> Iterator[Row]:
        """Return the rows of a list in study.json; versions with what is in their own files."""
        listed = self.plain.get(name, []) if name in LISTS_IF_ANY else self.plain[name]
        for number, plain in enumerate(listed, start=1):
            if name == "versions":
                plain = plain | {"content": self._read_content(plain["number"])}
            yield Row(f"{STUDY}, {name} {number}", 1, plain)

    def _read_records(self, name: str) -> Iterator[Row]:
        is_old = name == ANNOTATION_ROWS and self.about["format_version"] < 4
        for row in self.bundle.read_rows(name):
            with reading(row):
                yield replace(row, values=convert_annotation(row.values)) if is_old else row

    def _store_items(self) -> None:
        """Store all items in their order; without data, no repeats and none that were withdrawn."""
        kinds = () if self.has_data else (Item.Kind.REPEAT, Item.Kind.WITHDRAWN)
        items = (
            row for row in self._read_records(ITEM_ROWS) if row.values.get("kind") not in kinds
        )
        # a repeat comes after its original, which must be stored by then
        for _, run in groupby(items, key=lambda row: row.values.get("kind") == Item.Kind.REPEAT):
            self.reader.store(TABLES[ITEM_ROWS], run)

    def _store_places(self) -> None:
        """Store the places of open batches, all of them free."""
        table = self.bundle.read_table(PLAN)
        if next(table, []) != [column.name for column in PLAN_COLUMNS]:
            raise BadBundle("columns", "It has other columns than a plan.", PLAN)
        # before any batch is open, the plan has the places that a launch would make
        if self.study.batches.filter(opened_at__isnull=False).exists():
            self.reader.store(PLACES, starmap(_read_place, enumerate(table, start=2)))

    def _fill_places(self) -> None:
        """Mark the places that answers fill as done by their participants."""
        answers = Annotation.objects.filter(study=self.study, slot__isnull=False).order_by()
        holder = answers.filter(slot=OuterRef("pk")).values("participant")[:1]
        filled = Slot.objects.filter(study=self.study, pk__in=answers.values("slot"))
        try:
            with transaction.atomic():
                filled.update(state=Slot.State.DONE, participant_id=Subquery(holder))
        except IntegrityError as error:
            raise BadBundle("row_refused", explain(error, Slot), ANNOTATION_ROWS) from None

    def _store_study(self) -> None:
        """Store a draft at first: what is launched needs its version."""
        for name, value in read_fields(Study, STUDY_FIELDS, self.plain).items():
            setattr(self.study, name, value)
        self.study.state = Study.State.DRAFT
        if self.plain[BUILT] is not None:
            self.study.instrument = adopt_instrument(data=self.plain[BUILT], by=self.owner)
        if not self.has_data:
            self.study.is_demo = False
            self.study.unused_numbers = []
            self.study.launched_at = self.study.closed_at = None
            self.study.opens_at = self.study.closes_at = None
            self.study.withdrawable_until = None
            self.study.instructions = self._find_instructions()
        # `save` alone would overwrite a study with this id
        store_rows([(Row(STUDY, 1, {}), self.study)])

    def _find_instructions(self) -> str:
        """Return those that were shown, even if the protocol here has others by now."""
        number = self.plain["version"]
        if self.study.instructions or number is None:
            return self.study.instructions
        shown = str(self._read_content(number)["texts"]["instructions"])
        return "" if shown == protocol_instructions(self.study) else shown

    def _read_content(self, number: int) -> Plain:
        name = name_version(number)
        content = self.bundle.read_json(name)
        try:
            if not isinstance(content["texts"]["instructions"], str):
                raise TypeError
            promised = content["settings"]
            read_fields(Study, [name for name in _PROMISES if name in promised], promised)
            check_criteria(content["instrument"])
            # people may be asked by it here
            check_instrument_of(content["instrument"], self.plain)
        except (*UNREADABLE, InvalidField):
            message = "This isn't the content of a version."
            raise BadBundle("version_invalid", message, name) from None
        return dict(content)

    def _finish(self) -> None:
        """Close what was launched, so that nobody comes in by accident; dates are as before.

        Who has reported something follows from the answers.
        """
        reports = self.study.annotations.filter(outcome=Annotation.Outcome.REPORTED)
        reporters = Participant.objects.filter(pk__in=reports.values("participant"))
        reporters.update(has_reported=True)
        changes: Plain = {
            "created_at": read_field(Study, "created_at", self.plain["created_at"]),
            "version": self.study.versions.filter(number=self.plain["version"]).first(),
        }
        if self.study.launched_at is not None:
            is_archived = self.plain["state"] == Study.State.ARCHIVED
            changes["state"] = Study.State.ARCHIVED if is_archived else Study.State.CLOSED
            changes["closed_at"] = self.study.closed_at or now()
        Study.objects.filter(pk=self.study.pk).update(**changes)


def _read_place(line: int, cells: list[str]) -> Row:
    """Return the place in a line of plan.csv."""
    row = Row(PLAN, line, {})
    with reading(row):
        item, (number, position, arrangement) = cells[0], map(int, cells[1:4])
        if not (0 < number <= 2**15 and 0 <= position < 2**62 and 0 <= arrangement < 2**15):
            raise InvalidField("a number is out of range")
        places = {"no": number - 1, "pos": position, "arrangement": arrangement}
        row.values.update({"item": item, **places})
    return row
