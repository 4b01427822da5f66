"""Create the study of a bundle again: all of it in one transaction, or nothing."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any
from uuid import UUID, uuid4

from django.core.exceptions import ValidationError
from django.db import DatabaseError, models, transaction
from django.db.models import Q

from evalsite.annotation.fsck import find_breaches
from evalsite.annotation.models import (
    TOP_UP_ACTION,
    TOP_UP_FROM,
    Annotation,
    RatingsFile,
    Slot,
)
from evalsite.audit.models import AuditEntry
from evalsite.exports.bundle.bulk_store import reading, store_rows
from evalsite.exports.bundle.fields import Misshapen, read_fields, read_whole
from evalsite.exports.bundle.format import (
    ANALYSIS_PLAN,
    ANALYSIS_PLAN_FIELDS,
    BATCH_FIELDS,
    BUILT,
    LATER_PLAN_FIELDS,
    METRIC_FILE_FIELDS,
    RATINGS_FILE_FIELDS,
    STUDY,
    STUDY_FIELDS,
    VERSION_FIELDS,
    name_version,
)
from evalsite.exports.bundle.frozen_plan import FROZEN, check_frozen, store_frozen
from evalsite.exports.bundle.read import (
    UNREADABLE,
    BadBundle,
    Bundle,
    Row,
    check_built,
    check_criteria,
    check_instrument_of,
    open_bundle,
)
from evalsite.exports.bundle.rows import RowStore
from evalsite.exports.bundle.verify import Report, verify_bundle
from evalsite.imports.models import MetricFile
from evalsite.instruments.bundle_format_2 import read_stored
from evalsite.instruments.installed import get_protocol
from evalsite.instruments.schema import Instrument
from evalsite.instruments.texts import translate
from evalsite.lib.clock import now
from evalsite.participants.models import Participant
from evalsite.quality.models import LEVELS, LONGEST_RULE, PLAN_MOMENTS, RELATIONS, AnalysisPlan
from evalsite.studies.instruments import adopt_instrument
from evalsite.studies.models import Batch, Membership, Study, StudyVersion
from evalsite.studies.versions import protocol_instructions

Plain = dict[str, Any]
_MOST_FAULTS = 20
_MARGIN = {"criterion", "system", "relation", "other", "margin"}
_LONGEST_NAME = 60
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
        remarks += _list_missing(study, plan)
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
    if same := Study.objects.filter(Q(pk=study_id) | Q(batches__in=batches)).first():
        raise ValidationError(
            f"This study is here already: “{same.title}” ({same.pk}). Import it as a copy, "
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

    def load(self) -> Study:
        check_criteria(self.about["instrument"])
        check_instrument_of(self.about["instrument"], self.plain)
        self._store_study()
        try:
            with transaction.atomic():
                rows = RowStore(
                    self.bundle,
                    self.study,
                    self.plain["systems"],
                    format_version=self.about["format_version"],
                    is_copy=self.is_copy,
                )
        except (Misshapen, DatabaseError, TypeError):
            message = "The systems need different names, of a length that can be stored."
            raise BadBundle("systems_invalid", message, STUDY) from None
        rows.batches |= self._store_files(Batch, BATCH_FIELDS, "batches")
        rows.store_items(has_data=self.has_data)
        if self.has_data:
            rows.store_changes()
            rows.versions |= self._store_versions()
            rows.ratings_files |= self._store_files(
                RatingsFile, RATINGS_FILE_FIELDS, "ratings_files"
            )
            rows.metric_files |= self._store_files(MetricFile, METRIC_FILE_FIELDS, "metric_files")
            rows.store_people()
            rows.store_places()
            rows.store_annotations()
            rows.store_exclusions()
            rows.store_scores()
            self._finish(rows)
        self.study = Study.objects.select_related("version").get(pk=self.study.pk)
        return self.study

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
        except (*UNREADABLE, Misshapen):
            message = "This isn't the content of a version."
            raise BadBundle("version_invalid", message, name) from None
        return dict(content)

    def _store_files(
        self, model: type[models.Model], names: tuple[str, ...], kind: str
    ) -> dict[Any, Any]:
        """Store the rows of uploaded files; return the id of each here by that in the bundle."""
        ids = {}
        for number, plain in enumerate(self.plain[kind], start=1):
            row = Row(f"{STUDY}, {kind} {number}", 1, plain)
            with reading(row):
                values = read_fields(model, names, plain)
            if self.is_copy:
                values["id"] = uuid4()
            if not self.has_data and "opened_at" in values:
                values["opened_at"] = None
            ids[plain["id"]] = values["id"]
            store_rows([(row, model(study=self.study, **values))])
            # the column sets itself when a row is made
            mine = model._default_manager.filter(pk=values["id"])
            mine.update(uploaded_at=read_fields(model, ["uploaded_at"], plain)["uploaded_at"])
        return ids

    def _store_versions(self) -> dict[int | None, int | None]:
        ids: dict[int | None, int | None] = {}
        for plain in self.plain["versions"]:
            values = read_fields(StudyVersion, VERSION_FIELDS, plain)
            content = self._read_content(plain["number"])
            version = StudyVersion.objects.create(study=self.study, content=content, **values)
            StudyVersion.objects.filter(pk=version.pk).update(created_at=values["created_at"])
            ids[plain["number"]] = version.pk
        return ids

    def _finish(self, rows: RowStore) -> None:
        """Close what was launched, so that nobody comes in by accident; dates are as before.

        Who has reported something follows from the answers.
        """
        reports = self.study.annotations.filter(outcome=Annotation.Outcome.REPORTED)
        reporters = Participant.objects.filter(pk__in=reports.values("participant"))
        reporters.update(has_reported=True)
        changes: Plain = {
            "created_at": read_fields(Study, ["created_at"], self.plain)["created_at"],
            "version": rows.versions[self.plain["version"]],
        }
        if self.study.launched_at is not None:
            is_archived = self.plain["state"] == Study.State.ARCHIVED
            changes["state"] = Study.State.ARCHIVED if is_archived else Study.State.CLOSED
            changes["closed_at"] = self.study.closed_at or now()
        Study.objects.filter(pk=self.study.pk).update(**changes)


# --- the analysis plan --------------------------------------------------------------------


def read_analysis_plan(bundle: Bundle) -> Plain:
    """Return the plan, checked; BadBundle if it can't be one."""
    plain = bundle.read_json(ANALYSIS_PLAN)
    try:
        plain = {**LATER_PLAN_FIELDS, **plain}
        for hypothesis in (plain.get(FROZEN) or {}).get("hypotheses", ()):
            # before criteria said which values are better
            if hypothesis["relation"] == "higher":
                hypothesis["relation"] = "better"
        _check_plan(plain)
        check_frozen(plain)
    except Misshapen as error:
        raise BadBundle("plan_invalid", f"{error}.", ANALYSIS_PLAN) from None
    except UNREADABLE:
        message = "Something is missing or has the wrong type."
        raise BadBundle("plan_invalid", message, ANALYSIS_PLAN) from None
    return dict(plain)


def is_written(plan: Plain) -> bool:
    return plan["changed_at"] is not None


def _check_plan(plain: Plain) -> None:
    """Raise Misshapen if this can't be the plan of a study."""
    fields = [name for name in ANALYSIS_PLAN_FIELDS if name != "changed_at" or is_written(plain)]
    values = read_fields(AnalysisPlan, fields, plain)
    if not is_written(plain) and (any(values.values()) or plain["repeats"] is not None):
        raise Misshapen("it has no changed_at, but it isn't empty")
    if plain["repeats"] is not None and str(UUID(plain["repeats"])) != plain["repeats"]:
        raise Misshapen("repeats isn't written as an id")
    rule = values["exclusion_rule"]
    if len(rule) > LONGEST_RULE or any(
        ord(letter) < 32 and letter not in "\n\t" for letter in rule
    ):
        raise Misshapen("exclusion_rule is too long, or has control characters")
    _check_numbers(values)
    if not isinstance(plain["has_imported"], bool):
        raise Misshapen(f"has_imported can't be {plain['has_imported']!r}")
    answers = plain["answers_before"]
    changed = {name for name, at in PLAN_MOMENTS.items() if values[at] is not None}
    if answers.keys() != changed or any(read_whole(count) < 0 for count in answers.values()):
        raise Misshapen("answers_before doesn't go with the times of the changes")


def _check_numbers(values: Plain) -> None:
    """Raise Misshapen if a threshold or a margin can't be."""
    for name, value in values["thresholds"].items():
        if len(name) > _LONGEST_NAME or type(value) not in (int, float) or abs(value) > 1e9:
            raise Misshapen(f"there is no threshold {name[:_LONGEST_NAME]}: {value!r}")
    for margin in values["margins"]:
        _check_margin(margin)


def _check_margin(margin: Any) -> None:
    """Raise Misshapen if this can't be a planned test against a margin."""
    if not isinstance(margin, dict) or margin.keys() - {"level", "slices"} != _MARGIN:
        raise Misshapen(f"margins can't hold {str(margin)[:_LONGEST_NAME]!r}")
    size = margin["margin"]
    is_size = type(size) in (int, float) and 0 < size < 1e9
    if (
        margin["relation"] not in RELATIONS
        or not is_size
        or margin.get("level", LEVELS[0]) not in LEVELS
        or not all(isinstance(margin[name], str) for name in margin.keys() - {"margin", "level"})
    ):
        raise Misshapen("a margin has a value that can't be")


def store_plan(
    study: Study, plain: Plain, *, owner: Any, has_data: bool, is_copy: bool = False
) -> None:
    """Store the plan: with its times if its data come too, else as written now.

    A draft without data repeats no study yet; its owner may choose one.
    """
    if is_written(plain):
        _store_written(study, plain, owner=owner, has_data=has_data)
    store_frozen(study, plain, has_data=has_data, is_copy=is_copy)


def _store_written(study: Study, plain: Plain, *, owner: Any, has_data: bool) -> None:
    values = read_fields(AnalysisPlan, ANALYSIS_PLAN_FIELDS, plain)
    if has_data:
        seen = Study.objects.visible_to(owner).filter(protocol=study.protocol)
        values["repeats"] = seen.filter(pk=plain["repeats"]).exclude(pk=study.pk).first()
    else:
        moment = now()
        values |= {at: moment if values[name] else None for name, at in PLAN_MOMENTS.items()}
        values["changed_at"] = moment
    AnalysisPlan.objects.create(study=study, **values)


def _list_missing(study: Study, plan: Plain) -> Iterator[str]:
    if AnalysisPlan.objects.filter(study=study, repeats=None).exists():
        yield (
            f"The study repeats {plan['repeats']}, which isn't here or isn't open to its owner. "
            "Import that too, and choose it under Results, Repeat of another study."
        )
