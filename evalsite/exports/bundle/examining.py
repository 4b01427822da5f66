"""The records of a bundle read with distrust: what is counted in them, and what can't be.

Every row is read as its model takes it, what it refers to must be there, values must be on their
scale, and nothing may stand twice. What passes can be stored.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from evalsite.annotation.models import Annotation, Highlight, Rating, Revision
from evalsite.exports.bundle.gathering import COUNTED
from evalsite.exports.bundle.layout import (
    ANNOTATION_FIELDS,
    ANNOTATION_ROWS,
    ANSWER_FIELDS,
    CONSENT_FIELDS,
    EXCLUSION_FIELDS,
    EXCLUSION_ROWS,
    HIGHLIGHT_FIELDS,
    ITEM_FIELDS,
    ITEM_ROWS,
    METRIC_FIELDS,
    METRIC_ROWS,
    ON_INSTRUCTIONS,
    PARTICIPANT_FIELDS,
    PEOPLE_ROWS,
    PLAN,
    PLAN_COLUMNS,
    RATING_FIELDS,
    REVISION_FIELDS,
    SET_FIELDS,
    write_order,
)
from evalsite.exports.bundle.opening import BadBundle, Bundle
from evalsite.exports.bundle.replaying import Place, Replay
from evalsite.exports.bundle.scales import find_scales
from evalsite.exports.bundle.shapes import Misshapen, read_fields, read_text, read_whole
from evalsite.imports.models import MetricScore
from evalsite.lib.seeds import arrange
from evalsite.participants.models import Answer, Consent, ItemSet, Participant
from evalsite.quality.models import Exclusion
from evalsite.studies.models import Item, Output, System

Plain = dict[str, Any]
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/-]{0,127}")
_REPEAT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/ -]*\(repeat [0-9-]+\)")
_STATUS, _KIND = Annotation.Status, Item.Kind


class Examination:
    """What the records of one bundle say, gathered file by file, and the faults in them."""

    def __init__(
        self,
        bundle: Bundle,
        about: Plain,
        contents: Mapping[int, Plain],
        moments: Mapping[str, datetime],
    ) -> None:
        self.bundle = bundle
        self.study = about["study"]
        self.has_free_text = about["has_free_text"]
        self.has_entry_answers = about.get("has_entry_answers", True)
        self.faults: list[str] = []
        self.counts: Counter[str] = Counter()
        self.kinds: Counter[str] = Counter()
        self.statuses: Counter[str] = Counter()
        self.origins: Counter[str] = Counter()
        self.replay = Replay(self.study)
        # by version; None: before the first launch
        self.scales = find_scales(about, contents)
        self.items: dict[str, Plain] = {}
        self.sets: dict[str, dict[int, list[str]]] = {}
        self.people: list[str] = []
        self.annotations: set[str] = set()
        self._places: dict[tuple[str, int], bool] = {}
        self._answered: set[tuple[str, str]] = set()
        self._files = {one["id"] for one in self.study["ratings_files"]}
        self._metric_files = {one["id"] for one in self.study["metric_files"]}
        self._scored: set[tuple[str, int, str]] = set()
        # of the analysis plan, and how many answers to main items were in before each
        self._moments = moments
        self.answers_before: Counter[str] = Counter()

    @contextmanager
    def _at(self, where: str) -> Iterator[None]:
        """What can't be in this row is a fault, and the next row is looked at."""
        try:
            yield
        except Misshapen as error:
            self.faults.append(f"{where}: {error}.")
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            self.faults.append(f"{where}: something is missing, or of another kind.")

    def examine(self, *, has_data: bool) -> None:
        """All records are read, in the order in which they refer to one another."""
        self._each(ITEM_ROWS, self._examine_item)
        self._examine_plan()
        if has_data:
            self._each(PEOPLE_ROWS, self._examine_person)
            self._each(ANNOTATION_ROWS, self._examine_annotation)
            self._each(EXCLUSION_ROWS, self._examine_exclusion)
            # not in every bundle of format 1
            if METRIC_ROWS in self.bundle.names:
                self._each(METRIC_ROWS, self._examine_score)
        self._check_k()

    def _each(self, name: str, examine: Any) -> None:
        for number, row in enumerate(self.bundle.read_rows(name), start=1):
            with self._at(f"{name}, line {number}"):
                examine(row)

    # items and places

    def _examine_item(self, row: Plain) -> None:
        read_fields(Item, ITEM_FIELDS, row)
        key, kind = row["key"], row["kind"]
        _insist(key not in self.items, f"item {key} stands twice")
        pattern = _REPEAT if kind == _KIND.REPEAT else _KEY
        _insist(pattern.fullmatch(key), f"no item can have the id {key!r}")
        batches = [batch["id"] for batch in self.study["batches"]]
        _insist(row["batch"] is None or row["batch"] in batches, "its batch is not in study.json")
        original = self.items.get(row["repeat_of"])
        is_repeat = original is not None and original["kind"] == _KIND.MAIN
        _insist(is_repeat if kind == _KIND.REPEAT else row["repeat_of"] is None, "repeat_of is off")
        systems = [one["system"] for one in row["outputs"]]
        for output in row["outputs"]:
            read_fields(Output, ["text"], output)
        known = [name for name in systems if name is not None]
        _insist(set(known) <= set(self.study["systems"]), "a system is not in study.json")
        _insist(len(set(known)) == len(known), "two outputs are of one system")
        self.kinds[kind] += 1
        self.counts["outputs"] += len(systems)
        self.replay.add_item(row)
        texts = [one["text"] for one in row["outputs"]]
        self.items[key] = {"kind": kind, "systems": systems, "texts": texts}

    def _examine_plan(self) -> None:
        rows = self.bundle.read_table(PLAN)
        if next(rows, []) != [column.name for column in PLAN_COLUMNS]:
            raise BadBundle(f"{PLAN} has other columns than a plan has.")
        for number, row in enumerate(rows, start=1):
            with self._at(f"{PLAN}, record {number}"):
                self._examine_place(row)

    def _examine_place(self, row: list[str]) -> None:
        key, numbers, shown = row[0], [int(cell) for cell in row[1:4]], row[4]
        number, position, arrangement = numbers
        _insist([str(one) for one in numbers] == row[1:4], "a number is not written as one")
        _insist(0 < number <= 2**15 and 0 <= position < 2**62, "a number is out of range")
        _insist(0 <= arrangement < 2**15, "a number is out of range")
        _insist(
            self.replay.add_place(key, number, Place(position, arrangement)),
            f"item {key} can't have this place, or has it twice",
        )
        size = len(self.items[key]["systems"])
        order = arrange(size, arrangement, self.study["seed"], key)
        _insist(shown == write_order(order), "this arrangement shows the outputs in another order")
        self._places[key, number] = False
        self.counts["places"] += 1

    # people

    def _examine_person(self, row: Plain) -> None:
        read_fields(Participant, PARTICIPANT_FIELDS, row)
        name = row["pseudonym"]
        _insist(name not in self.sets, f"{name} stands twice")
        for consent in row["consents"]:
            read_fields(Consent, CONSENT_FIELDS, consent)
            _insist(consent["version"] in self.scales, "a consent is to an unknown version")
        for answer in row["answers"]:
            read_fields(Answer, ANSWER_FIELDS, answer)
            _insist(
                self.has_entry_answers or answer["question"].startswith(ON_INSTRUCTIONS),
                "it has an entry answer, and the bundle has none",
            )
        _check_once("consent", (one["text_sha256"] for one in row["consents"]))
        _check_once("answer", (one["question"] for one in row["answers"]))
        self.sets[name] = {one["number"]: self._examine_set(one) for one in row["sets"]}
        _check_once("set", (one["number"] for one in row["sets"]))
        _insist(sum(one["finished_at"] is None for one in row["sets"]) <= 1, "two sets are open")
        self.people.append(name)
        self.counts["participants"] += 1
        self.counts["sets"] += len(row["sets"])

    def _examine_set(self, row: Plain) -> list[str]:
        read_fields(ItemSet, SET_FIELDS, row)
        items = row["items"]
        _insist(set(items) <= self.items.keys(), f"set {row['number']} has an unknown item")
        _check_once(f"item of set {row['number']}", items)
        _insist(set(row["lost"]) <= set(items), f"set {row['number']} lost what it never had")
        return items

    # annotations

    def _examine_annotation(self, row: Plain) -> None:
        submitted_at = read_fields(Annotation, ANNOTATION_FIELDS, row)["submitted_at"]
        key, pair = row["key"], (row["participant"], row["item"])
        _insist(row["item"] in self.items, f"item {row['item']} is not in {ITEM_ROWS}")
        _insist(row["participant"] in self.sets, "the participant is unknown")
        _insist(key not in self.annotations, f"annotation {key} stands twice")
        _insist(pair not in self._answered, "the participant has answered this item already")
        _insist(row["version"] in self.scales, "the version is unknown")
        _insist(row["ratings_file"] in {None, *self._files}, "the file of ratings is unknown")
        _insist(self.has_free_text or row["note"] == "", "it has a note, and the bundle has none")
        size = len(self.items[row["item"]]["systems"])
        _insist(sorted(row["order_shown"]) in ([], list(range(size))), "order_shown is off")
        self._check_status(row)
        self._check_set(row)
        self._check_values(row, size)
        self._check_marks(row)
        self._check_revisions(row, size)
        self.annotations.add(key)
        self._answered.add(pair)
        self.statuses[row["status"]] += 1
        self.origins[row["origin"]] += 1
        if self.items[row["item"]]["kind"] == _KIND.MAIN:
            self.answers_before.update(
                name for name, moment in self._moments.items() if submitted_at < moment
            )
        for name in ("ratings", "highlights", "revisions"):
            self.counts[name] += len(row[name])

    def _check_status(self, row: Plain) -> None:
        """A counted answer has a place of its own; a control none, as its item has none."""
        status, item, number = row["status"], row["item"], row["number"]
        _insist(
            (status == _STATUS.COUNTED) == (number is not None), "only counted ones fill places"
        )
        _insist(status != _STATUS.PILOT, "it is of a pilot")
        is_main = self.items[item]["kind"] == _KIND.MAIN
        is_right = status == _STATUS.WITHDRAWN or is_main == (status != _STATUS.CONTROL)
        _insist(is_right, f"an answer to this item can't be {status}")
        if number is not None:
            _insist(row["outcome"] != Annotation.Outcome.REPORTED, "a report is counted")
            _insist((item, number) in self._places, f"{PLAN} has no place {number} of item {item}")
            _insist(not self._places[item, number], f"place {number} of item {item} is taken")
            self._places[item, number] = True

    def _check_set(self, row: Plain) -> None:
        number, place = row["set"], row["place"]
        if number is None:
            return
        items = self.sets[row["participant"]].get(number)
        _insist(items is not None, f"the participant has no set {number}")
        assert items is not None
        is_there = items[place - 1 : place] == [row["item"]] if place else row["item"] in items
        _insist(is_there, f"the item is not in place {place} of set {number}")

    def _check_values(self, row: Plain, size: int) -> None:
        is_rated = row["outcome"] == Annotation.Outcome.RATED
        is_rated = is_rated and row["status"] != _STATUS.WITHDRAWN
        _insist(is_rated or not row["ratings"], "it has ratings, though nothing was rated")
        scales = self.scales[row["version"]]
        for criterion, position, value, typed, file_row in row["ratings"]:
            given = {"value_typed": typed, "file_row": file_row, "value": value}
            read_fields(Rating, RATING_FIELDS, {"criterion": criterion, **given})
            _insist(criterion in scales, f"there is no criterion {criterion}")
            _check_position(position, size)
            is_row = value is not None and scales[criterion].is_row(
                value, has_output=position is not None
            )
            _insist(is_row, f"{value} is no value of {criterion}")
        # whichever output is preferred, it is one answer
        is_one = {key for key, scale in scales.items() if scale.compares}
        _check_once(
            "rating",
            ((key, None if key in is_one else place) for key, place, *_ in row["ratings"]),
        )

    def _check_marks(self, row: Plain) -> None:
        texts = self.items[row["item"]]["texts"]
        for position, start, end, quote in row["highlights"]:
            read_fields(Highlight, HIGHLIGHT_FIELDS, {"start": start, "end": end, "quote": quote})
            _check_position(read_whole(position), len(texts))
            is_there = start < end and texts[position][start:end] == quote
            _insist(is_there, "a highlight does not fit the text that it marks")
        _check_once("highlight", ((one[0], one[1]) for one in row["highlights"]))

    def _check_revisions(self, row: Plain, size: int) -> None:
        for earlier in row["revisions"]:
            read_fields(Revision, REVISION_FIELDS, earlier)
            state = earlier["state"]
            note = read_text(state.get("note", ""))
            _insist(self.has_free_text or note == "", "an earlier state has a note")
            for _, position, *_ in state["ratings"]:
                _check_position(position, size)
            for position, *_ in state["highlights"]:
                _check_position(read_whole(position), size)

    # exclusions, and what must come to k

    def _examine_exclusion(self, row: Plain) -> None:
        read_fields(Exclusion, EXCLUSION_FIELDS, row)
        person, annotation = row["participant"], row["annotation"]
        _insist((person is None) != (annotation is None), "an exclusion names one thing")
        is_known = person in self.sets if annotation is None else annotation in self.annotations
        _insist(is_known, "what is excluded is unknown")
        self.counts["exclusions"] += 1

    def _examine_score(self, row: Plain) -> None:
        read_fields(MetricScore, METRIC_FIELDS, row)
        item, position = row["item"], read_whole(row["output"])
        _insist(row["file"] in self._metric_files, "its file is not in study.json")
        _insist(item in self.items, f"item {item} is not in {ITEM_ROWS}")
        _check_position(position, len(self.items[item]["systems"]))
        key = item, position, row["metric"]
        _insist(key not in self._scored, "the output has two scores of this metric")
        self._scored.add(key)
        self.counts["metrics"] += 1

    def _check_k(self) -> None:
        """Each item has its k places; and since every answer that counts fills one, no more count.

        Those that were added on top of k, as a top-up, are not asked about.
        """
        k = self.study["k"]
        for item, found in self.replay.list_short(k):
            self.faults.append(f"Item {item} has {found} places in {PLAN}, of {k}.")

    def tell_counts(self) -> Plain:
        """What was counted, in the words of study.json."""
        return {
            **{name: self.counts[name] for name in COUNTED},
            "items": dict(self.kinds),
            "annotations": dict(self.statuses),
            "origins": dict(self.origins),
            "strays": self.replay.count_strays(),
        }


def check_systems(names: Collection[Any]) -> None:
    """Misshapen where these can't be the names of a study's systems."""
    for name in names:
        read_fields(System, ["name"], {"name": name})
    _check_once("system", names)


def _check_position(position: Any, size: int) -> None:
    is_there = position is None or (type(position) is int and 0 <= position < size)
    _insist(is_there, f"the item has no output {position}")


def _check_once(what: str, things: Iterable[Any]) -> None:
    for thing, count in Counter(things).items():
        _insist(count == 1, f"a {what} stands twice: {thing}")


def _insist(is_so: object, otherwise: str) -> None:
    if not is_so:
        raise Misshapen(otherwise)
