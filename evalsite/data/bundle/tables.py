"""What the records of a bundle hold: one declaration, by which rows are written and read again.

Rows refer to each other by what is the same in every database: items by key, outputs by item
and position, people by pseudonym, annotations by key.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.db.models import Model, Q, QuerySet

from evalsite.data.bundle.fields import InvalidField, read_fields
from evalsite.data.bundle.format import (
    ANNOTATION_ROWS,
    CHANGE_ROWS,
    EXCLUSION_ROWS,
    ITEM_ROWS,
    JUDGE_ROWS,
    METRIC_ROWS,
    ON_INSTRUCTIONS,
    PEOPLE_ROWS,
)
from evalsite.data.files.columns import WITHHELD
from evalsite.data.files.rows import is_typed, is_written
from evalsite.data.files.selection import shared
from evalsite.data.models import Judge, JudgeFile, JudgeLabel, MetricFile, MetricScore
from evalsite.decisions.models import AnalysisPlanVersion, Exclusion, ExclusionRule, PlanEvent
from evalsite.handout.models import Annotation, Rating, RatingsFile, Revision, Slot
from evalsite.instruments.answer import AnswerRow
from evalsite.lib.masking import mask_words
from evalsite.people.models import Answer, Consent, ItemSet, Participant
from evalsite.people.random_codes import make_completion_code
from evalsite.studies.items import item_keys
from evalsite.studies.models import Batch, Change, Item, Output, StudyVersion, System

if TYPE_CHECKING:
    from evalsite.data.bundle.codec import Reader, Writer

Plain = dict[str, Any]
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}")
_REPEAT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/ -]*\(repeat [0-9-]+\)")
_OF_PILOTS = Q(status=Annotation.Status.PILOT) | Q(participant__is_pilot=True)


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """What a record holds of a row.

    `fields`: names of fields, which say their types. `refs`: for each field that refers to another
    row, what names that row, and how a record calls this; the last may be null. `lists`: fields
    with ids of items, and how a record calls the list of their keys. `parts`: rows that belong to
    the row. `optional`: what is left out where a field has this value.
    """

    model: type[Model]
    fields: str
    refs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    lists: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, "Rows"] = field(default_factory=dict)
    optional: Mapping[str, Any] = field(default_factory=dict)
    # of a part: a name in the record of its row, and the field that counts the parts
    inherited: str = ""
    numbered: str = ""
    # a record is a list of cells, without the optional ones at its end
    is_list: bool = False
    # the order of parts, and how many rows are in memory together
    order: str = "id"
    page: int = 500
    # which rows of the study are written
    select: "Callable[[Writer], QuerySet[Any]] | None" = None
    # completes a record; False: the row isn't written
    encode: "Callable[[Plain, Writer], bool | None] | None" = None
    # completes the fields that were read of a record
    decode: "Callable[[Plain, Plain, Reader], None] | None" = None

    @cached_property
    def paths(self) -> dict[str, str]:
        """Return where a query finds each value of a record, by its name in the record."""
        paths: dict[str, str] = {}
        for name, lookups in self.refs.items():
            for lookup, shown in lookups.items():
                paths.setdefault(shown, f"{name}__{lookup}")
        paths |= {shown: name for name, shown in self.lists.items()}
        paths |= {name: name for name in self.fields.split()}
        paths.pop(self.inherited, None)
        return paths

    def read(self, row: Mapping[str, Any]) -> Plain:
        """Return the fields of a record as the model takes them; else InvalidField."""
        return read_fields(self.model, self.fields.split(), {**self.optional, **row})

    def to_cells(self, row: Plain) -> list[Any]:
        """Return the record as a list."""
        names = list(self.paths)
        while names[-1] in self.optional and row[names[-1]] == self.optional[names[-1]]:
            names.pop()
        return [row[name] for name in names]

    def from_cells(self, cells: Any) -> Plain:
        """Return the record that a list holds; ValueError if it is too long or too short."""
        names = list(self.paths)
        missing = names[len(cells) :]
        if not isinstance(cells, list) or not self.optional.keys() >= set(missing):
            raise ValueError
        more = [self.optional[name] for name in missing]
        return dict(zip(names, [*cells, *more], strict=True))


# --- items ----------------------------------------------------------------------------------


def _select_items(writer: "Writer") -> QuerySet[Item]:
    items = Item.objects.filter(study=writer.study)
    # repeats come with the data
    return items if writer.contents.has_data else items.exclude(kind=Item.Kind.REPEAT)


def _encode_item(row: Plain, writer: "Writer") -> None:
    writer.tallies["items"][row["kind"]] += 1
    if row["key"] in writer.unexplained:
        row["held_at"] = None


def _decode_item(values: Plain, row: Plain, reader: "Reader") -> None:
    pattern = _REPEAT if values["kind"] == Item.Kind.REPEAT else _KEY
    if not pattern.fullmatch(values["key"]):
        raise InvalidField(f"an item can't have the id {values['key'][:60]!r}")
    if not reader.has_data:
        values |= dict.fromkeys(("held_at", "released_at", "corrected_at"))
    values |= item_keys(reader.study, key=values["key"], group=values["group"])


def _decode_change(values: Plain, row: Plain, reader: "Reader") -> None:
    if values["position"] is not None:
        reader.find_output(row["item"], values["position"])


# --- people ---------------------------------------------------------------------------------


def _select_people(writer: "Writer") -> QuerySet[Participant]:
    people = Participant.objects.filter(study=writer.study, is_pilot=False)
    return people.filter(shared()) if writer.is_partial else people


def _is_open(row: Plain, writer: "Writer") -> bool:
    """Return whether the bundle takes it. What wasn't chosen from what a page offers is free text.

    All answers but those about the instructions are entry answers.
    """
    is_on_instructions = row["question"].startswith(ON_INSTRUCTIONS)
    if not (is_on_instructions or writer.contents.has_entry_answers):
        return False
    question = writer.questions.get(row["question"])
    is_offered = (
        row["value"] in writer.choices
        if is_on_instructions
        else question is not None and question.is_offered(row["value"])
    )
    if not is_offered:
        row["value"] = _write_words(row["value"], writer)
    return is_offered or writer.contents.has_free_text


def _decode_set(values: Plain, row: Plain, reader: "Reader") -> None:
    # codes aren't in a bundle, but no finished set is without one
    values["code"] = make_completion_code() if values["finished_at"] is not None else ""


# --- answers --------------------------------------------------------------------------------


def select_annotations(writer: "Writer") -> QuerySet[Annotation]:
    agreed = Annotation.objects.agreed().filter(study=writer.study).exclude(_OF_PILOTS)
    return agreed.filter(shared("participant__")) if writer.is_partial else agreed


def _encode_annotation(row: Plain, writer: "Writer") -> None:
    writer.tallies["annotations"][row["status"]] += 1
    writer.tallies["origins"][row["origin"]] += 1
    row["note"] = _write_words(row["note"], writer)


def _write_words(text: str, writer: "Writer", *, is_comment: bool = True) -> str:
    """Return what people wrote as the bundle holds it: as it is, masked, or a mark in its place."""
    if text and not writer.contents.has_free_text:
        return WITHHELD
    return mask_words(text) if is_comment and writer.contents.is_masked else text


def _encode_rating(row: Plain, writer: "Writer") -> None:
    writer.marks += row["start"] is not None
    _complete_rating(row, writer)


def _complete_rating(row: Plain, writer: "Writer") -> None:
    """Leave out what people wrote unless it is asked for; name outputs in reasons by position.

    Numbers that were typed and passages that were marked aren't words of the people; a note on a
    passage is.
    """
    text, detail = row["text"], row["detail"]
    scale = writer.scales.get(row["criterion"])
    if row["start"] is None and not is_typed(scale, row["value"], text):
        is_comment = is_written(scale, row["part"])
        row["text"] = _write_words(text, writer, is_comment=is_comment)
    if detail and "reasons" in detail:
        # reasons about both outputs together have no output
        reasons = {
            str(writer.find_position(int(pk))) if pk.isdecimal() else pk: keys
            for pk, keys in detail["reasons"].items()
        }
        row["detail"] = {**detail, "reasons": reasons}
    if detail and detail.get("note"):
        row["detail"] = {**detail, "note": _write_words(detail["note"], writer)}


def _decode_rating(values: Plain, row: Plain, reader: "Reader") -> None:
    detail = values["detail"]
    if isinstance(detail, dict) and isinstance(detail.get("reasons"), dict):
        reasons = {
            place if place == "all" else _find_output_id(place, row, reader): keys
            for place, keys in detail["reasons"].items()
        }
        values["detail"] = {**detail, "reasons": reasons}


def _find_output_id(place: str, row: Plain, reader: "Reader") -> str:
    is_number = place.isascii() and place.isdigit() and len(place) < 5
    return str(reader.find_output(row["item"], int(place) if is_number else place))


def _encode_revision(row: Plain, writer: "Writer") -> None:
    state = row["state"]
    ratings = [AnswerRow(0, *cells)._asdict() | {"file_row": None} for cells in state["rows"]]
    for rating in ratings:
        rating["output"] = writer.find_position(rating["output"])
        _complete_rating(rating, writer)
    note = _write_words(state["note"], writer)
    row["state"] = {**state, "note": note, "rows": list(map(RATINGS.to_cells, ratings))}


def _decode_revision(values: Plain, row: Plain, reader: "Reader") -> None:
    rows = []
    for cells in values["state"]["rows"]:
        plain = RATINGS.from_cells(cells) | {"item": row["item"]}
        rating = RATINGS.read(plain)
        _decode_rating(rating, plain, reader)
        place = plain["output"]
        output = None if place is None else reader.find_output(row["item"], place)
        rows.append([output, *(rating[name] for name in AnswerRow._fields[2:])])
    values["state"] = {**values["state"], "rows": rows}


def _select_exclusions(writer: "Writer") -> QuerySet[Exclusion]:
    exclusions = Exclusion.objects.filter(study=writer.study)
    if writer.is_partial:
        is_shared = shared("participant__") | shared("annotation__participant__")
        exclusions = exclusions.filter(is_shared)
    of_pilots = Q(participant__is_pilot=True) | Q(annotation__participant__is_pilot=True)
    return exclusions.exclude(of_pilots | Q(annotation__awaits_consent=True))


def _select_scores(writer: "Writer") -> QuerySet[MetricScore]:
    return MetricScore.objects.filter(file__study=writer.study)


def _select_labels(writer: "Writer") -> QuerySet[JudgeLabel]:
    return JudgeLabel.objects.filter(file__study=writer.study)


# --- files of study.json --------------------------------------------------------------------


def _decode_batch(values: Plain, row: Plain, reader: "Reader") -> None:
    if not reader.has_data:
        values["opened_at"] = None


def _decode_version(values: Plain, row: Plain, reader: "Reader") -> None:
    # from a file of its own
    values["content"] = row["content"]


# --- the declaration ------------------------------------------------------------------------

RATINGS = Rows(
    model=Rating,
    fields=" ".join((*AnswerRow._fields[2:], "file_row")),
    refs={"output": {"item__key": "item", "position": "output"}},
    optional={
        "turn": 0, "part": "", "value": None, "text": "", "detail": None, "start": None,
        "end": None, "file_row": None,
    },
    inherited="item",
    is_list=True,
    encode=_encode_rating,
    decode=_decode_rating,
)  # fmt: skip

# rows of files in records/, in the order in which they are stored
TABLES: dict[str, Rows] = {
    ITEM_ROWS: Rows(
        model=Item,
        fields="key group cluster kind inputs extra gold held_at released_at corrected_at",
        refs={"batch": {"id": "batch"}, "repeat_of": {"key": "repeat_of"}},
        optional={"corrected_at": None},
        parts={
            "outputs": Rows(
                model=Output,
                fields="text",
                refs={"system": {"name": "system"}},
                numbered="position",
                order="position",
            )
        },
        select=_select_items,
        encode=_encode_item,
        decode=_decode_item,
    ),
    # of changes after the launch it isn't said who made them
    CHANGE_ROWS: Rows(
        model=Change,
        fields="kind position before after reason answers at",
        refs={
            "system": {"name": "system"},
            "item": {"key": "item"},
            "instead_of": {"key": "instead_of"},
        },
        order="at id",
        decode=_decode_change,
    ),
    PEOPLE_ROWS: Rows(
        model=Participant,
        fields=(
            "pseudonym origin is_person is_eligible consented_to instructions_read practised_at "
            "tries is_qualified cursor created_at stopped_at withdrawn_at refused_for check_tries "
            "is_checked may_share"
        ),
        optional={"refused_for": "", "check_tries": 0, "is_checked": None, "may_share": None},
        parts={
            "consents": Rows(
                model=Consent,
                fields="text_sha256 is_given answered_at",
                refs={"version": {"number": "version"}},
            ),
            "answers": Rows(model=Answer, fields="question value answered_at", encode=_is_open),
            "sets": Rows(
                model=ItemSet,
                fields="id number created_at finished_at",
                lists={"item_ids": "items", "lost_ids": "lost"},
                order="number",
                decode=_decode_set,
            ),
        },
        # they come with all of their sets
        page=50,
        select=_select_people,
    ),
    ANNOTATION_ROWS: Rows(
        model=Annotation,
        fields=(
            "key place outcome status origin order_shown reason note is_aided device language "
            "started_at submitted_at client_ms active_ms time_given"
        ),
        refs={
            "item": {"key": "item"},
            "participant": {"pseudonym": "participant"},
            "slot": {"item__key": "item", "no": "number"},
            "item_set": {"participant__pseudonym": "participant", "number": "set"},
            "version": {"number": "version"},
            "ratings_file": {"id": "ratings_file"},
        },
        parts={
            "ratings": RATINGS,
            "revisions": Rows(
                model=Revision,
                fields="state submitted_at replaced_at",
                inherited="item",
                encode=_encode_revision,
                decode=_decode_revision,
            ),
        },
        select=select_annotations,
        encode=_encode_annotation,
    ),
    # decisions that were taken back included; not by whom
    EXCLUSION_ROWS: Rows(
        model=Exclusion,
        fields="reason rule decided_at revoked_at",
        refs={"participant": {"pseudonym": "participant"}, "annotation": {"key": "annotation"}},
        select=_select_exclusions,
    ),
    METRIC_ROWS: Rows(
        model=MetricScore,
        fields="metric value better",
        refs={"file": {"id": "file"}, "output": {"item__key": "item", "position": "output"}},
        select=_select_scores,
    ),
    JUDGE_ROWS: Rows(
        model=JudgeLabel,
        fields="criterion item_key system other_system order run value option reason",
        refs={
            "file": {"id": "file"},
            "judge": {"name": "judge", "prompt_version": "prompt_version"},
        },
        optional={
            "other_system": "",
            "order": 0,
            "run": "",
            "value": None,
            "option": "",
            "reason": "",
        },
        select=_select_labels,
    ),
}
# design/plan.csv, which numbers places from 1
PLACES = Rows(model=Slot, fields="no pos arrangement", refs={"item": {"key": "item"}})

# study.json lists systems by their names, in the order in which they were made
SYSTEMS = Rows(model=System, fields="name")
# other lists in study.json; no data, no files of ratings and scores
LISTS = {
    "versions": Rows(
        model=StudyVersion,
        fields="number sha256 created_at",
        order="number",
        decode=_decode_version,
    ),
    "batches": Rows(
        model=Batch,
        fields="id file_name sha256 rows uploaded_at opened_at import_notes",
        optional={"import_notes": []},
        order="uploaded_at id",
        decode=_decode_batch,
    ),
    "ratings_files": Rows(
        model=RatingsFile,
        fields="id file_name sha256 rows has_persons uploaded_at import_notes",
        optional={"import_notes": []},
        order="uploaded_at id",
    ),
    "metric_files": Rows(
        model=MetricFile,
        fields="id file_name sha256 uploaded_at import_notes",
        optional={"import_notes": []},
        order="uploaded_at id",
    ),
    "judge_files": Rows(
        model=JudgeFile,
        fields="id file_name sha256 uploaded_at import_notes",
        optional={"import_notes": []},
        order="uploaded_at id",
    ),
    "judges": Rows(
        model=Judge,
        fields="name prompt_version version prompt prompt_sha256 settings judged_on",
    ),
}
# those that are there only where there is something, so that other bundles stay as they were
LISTS_IF_ANY = frozenset(["judge_files", "judges"])
# lists in analysis-plan.json, where there are any
PLAN_PARTS = {
    "rules": Rows(
        model=ExclusionRule,
        fields="position conditions removed_at",
        order="position id",
    ),
    "versions": Rows(
        model=AnalysisPlanVersion,
        fields="number content sha256 has_plan reason answers frozen_at",
        order="number",
    ),
    "events": Rows(model=PlanEvent, fields="kind at answers number reason", order="at id"),
}
