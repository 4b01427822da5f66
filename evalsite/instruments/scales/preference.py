"""Which of two outputs is better, and how much; both good or both bad; and why."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from pydantic import Field

from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.faults import Fault
from evalsite.instruments.fields import EntryInput
from evalsite.instruments.parts import Names, Part, Words
from evalsite.instruments.scales.base import (
    Judged,
    Per,
    QuestionWords,
    Scale,
    find_bad_counts,
)
from evalsite.instruments.scales.options import Option, find_option_faults
from evalsite.instruments.scales.points import quote, verdict_in_words

BOTH = ("both_good", "both_bad")
TIE = "tie"
# a step below 0 says that the first output is better; these are the entries of -1, 0 and 1
_PLAIN_ENTRIES = {-1: "first", 0: TIE, 1: "second"}
_PLAIN_KEYS = ("1", "t", "2")
# reasons that are about neither output alone
_TOGETHER = "all"
_GOLD = re.compile(r"(.+?)(?::([1-3])(?:\.\.([1-3]))?)?")
_STEPS = re.compile(r"(-?[0-3])(?:\.\.(-?[0-3]))?")
# how much better something must seem to a simulated rater for each further step
_STEP = 0.6


class Judgement(NamedTuple):
    """A stored answer: the number of the better output in the order uploaded (0: none)."""

    better: int
    strength: int
    both: str = ""
    # number of the output (0: of both together) and key
    reasons: tuple[tuple[int, str], ...] = ()

    @property
    def grade(self) -> int:
        """Return the step that says it of the outputs in the order uploaded."""
        return self.strength if self.better == 2 else -self.strength


class Verdict(NamedTuple):
    """An answer on a page: the step, or both_good or both_bad; and reasons by place."""

    grade: int | str
    reasons: tuple[tuple[int, str], ...] = ()


class PreferenceField(forms.Field):
    """A step, with the reasons that were ticked."""

    def __init__(self, *, scale: "Preference", missing: str) -> None:
        self.scale, self.missing = scale, missing
        super().__init__(required=False, widget=EntryInput(scale.read_entry))

    def clean(self, value: Any) -> Verdict:
        sent = str(value or "").split(" ")
        chosen = [part for part in sent if "." not in part]
        if not any(chosen):
            raise ValidationError(self.missing, code="required")
        reasons = tuple(map(self.scale.read_reason, (part for part in sent if "." in part)))
        if len(chosen) > 1 or chosen[0] not in self.scale.entries or None in reasons:
            raise ValidationError(
                _("%(missing)s: that was not one of the answers") % {"missing": self.missing},
                code="invalid",
            )
        ticked = tuple(reason for reason in reasons if reason is not None)
        self._check_count(ticked)
        return Verdict(self.scale.entries[chosen[0]], ticked)

    def _check_count(self, reasons: Sequence[tuple[int, str]]) -> None:
        tags = self.scale.tags
        if tags is None:
            return
        for place in self.scale.places:
            ticked = sum(of == place for of, _key in reasons)
            if ticked < tags.least:
                raise ValidationError(
                    ngettext(
                        "Tick at least %(count)s reason",
                        "Tick at least %(count)s reasons",
                        tags.least,
                    )
                    % {"count": tags.least},
                    code="too_few",
                )
            if tags.most is not None and ticked > tags.most:
                raise ValidationError(
                    ngettext(
                        "Tick %(count)s reason at most", "Tick %(count)s reasons at most", tags.most
                    )
                    % {"count": tags.most},
                    code="too_many",
                )


class Step(Part):
    """A step from one output to the other: below 0 the first is better, 0 is a tie."""

    value: int = Field(ge=-3, le=3, title="Value", json_schema_extra={"is_in_box": True})
    label: Words = Field(title="Label", json_schema_extra={"is_in_box": True})
    notes: Names = Field([], title="Notes", description="Shown below it, one per line.")

    @property
    def side(self) -> str:
        """Name the output that is better: first or second; "" of a tie."""
        return {-1: "first", 0: "", 1: "second"}[(self.value > 0) - (self.value < 0)]


class Tag(Option):
    side: Literal["good", "bad", "either"] = Field(
        "either",
        title="Good or bad",
        description="For your analysis: people see no difference.",
        json_schema_extra={"words": {"good": "good", "bad": "bad", "either": "either"}},
    )


class Tags(Part):
    """Reasons to tick: about the output preferred, each output, or the comparison as a whole."""

    label: Words = Field(title="Words above the reasons", examples=["Why?"])
    about: Literal["preferred", "each output", "comparison"] = Field(
        title="Reasons are about",
        examples=["each output"],
        json_schema_extra={
            "words": {
                "each output": "each output",
                "preferred": "the output that is preferred",
                "comparison": "the comparison",
            }
        },
    )
    options: Annotated[list[Tag], Field(min_length=2, max_length=200)] = Field(
        title="Reasons, one per line", json_schema_extra={"noun": "reason"}
    )
    least: int = Field(0, ge=0, title="Choose at least")
    most: int | None = Field(None, ge=1, title="Choose at most")

    @property
    def keys(self) -> list[str]:
        return [option.key for option in self.options]


class Preference(Scale):
    """Steps that mirror each other around 0, with further answers that both are good or bad.

    Stored as the output preferred with the strength, never as a side. An entry is the step as the
    page has it, followed by reasons as place and key: "-2 1.useful 2.incorrect". Where there is
    nothing but the first, a tie and the second (`is_plain`), entries are these words.
    """

    kind: Literal["preference"] = Field(title="Preference of two")
    family: ClassVar[str] = "preference"
    asked: ClassVar[tuple[Per, ...]] = ("item",)
    tests: ClassVar[frozenset[str]] = frozenset({"is"})
    directed: ClassVar[bool] = False
    needs: ClassVar[Literal["", "pair", "several"]] = "pair"
    better: ClassVar[str] = ""
    compares: ClassVar[bool] = True
    asks_first: ClassVar[bool] = True
    note_on_values: ClassVar[str] = "Preference: 1 if one output is preferred, 0 for a tie"
    minimum: ClassVar[int] = 0
    points: Annotated[list[Step], Field(min_length=2, max_length=7)] = Field(
        title="Answers, from the first output to the second, one per line",
        description="With an odd number of lines, the middle one is a tie.",
        examples=[
            [
                {"value": -1, "label": "The first is better"},
                {"value": 0, "label": "They are equal"},
                {"value": 1, "label": "The second is better"},
            ]
        ],
        json_schema_extra={"is_in_sight": True, "noun": "point", "is_mirrored": True},
    )
    both_good: Words | None = Field(
        None, title="Words for “both are good”", description="Empty: it isn’t offered."
    )
    both_bad: Words | None = Field(
        None, title="Words for “both are bad”", description="Empty: it isn’t offered."
    )
    tags: Tags | None = Field(None, title="Reasons to tick")
    display: Literal["row", "stacked"] = Field(
        "row",
        title="Arrangement",
        json_schema_extra={"words": {"row": "in a row", "stacked": "one below the other"}},
    )

    def find_faults(self, at: str) -> Iterator[Fault]:
        values = [point.value for point in self.points]
        if values != sorted(set(values)) or [-value for value in reversed(values)] != values:
            words = "must have values that rise and mirror around 0"
            yield Fault("not_symmetric", f"{at}.points", words)
        if self.tags:
            yield from find_option_faults(self.tags.options, f"{at}.tags.options")
            options = len(self.tags.options)
            yield from find_bad_counts(self.tags.least, self.tags.most, options, f"{at}.tags")

    def list_testable(self) -> tuple[Any, ...]:
        return tuple(self.entries.values())

    def is_gold(self, gold: Any, outputs: int) -> bool:
        if gold in BOTH:
            return self.is_answer(gold, outputs)
        ends = _read_steps(gold)
        return ends is not None and all(self.is_answer(end, outputs) for end in ends)

    @property
    def is_plain(self) -> bool:
        """Tell whether this is first, tie and second, and nothing else."""
        values = [point.value for point in self.points]
        has_more = self.both_good or self.both_bad or self.tags or self.display != "row"
        has_notes = any(point.notes for point in self.points)
        return values == list(_PLAIN_ENTRIES) and not has_more and not has_notes

    @property
    def maximum(self) -> int:
        return self.points[-1].value

    @property
    def columns(self) -> frozenset[str]:
        both = {"both"} if self.both_good or self.both_bad else set()
        return frozenset(both | ({"reasons"} if self.tags else set()))

    @property
    def entries(self) -> dict[str, int | str]:
        """Map entries to what they say, in the order of a page."""
        names = _PLAIN_ENTRIES if self.is_plain else {}
        steps: dict[str, int | str] = {
            names.get(point.value, str(point.value)): point.value for point in self.points
        }
        return steps | {name: name for name in BOTH if getattr(self, name)}

    def name_step(self, grade: int | str) -> str:
        """Return the entry of a step, or of both_good or both_bad."""
        return next(entry for entry, value in self.entries.items() if value == grade)

    def list_reasons(self) -> list[dict[str, str]]:
        if self.tags is None:
            return []
        return [{"key": tag.key, "label": tag.label} for tag in self.tags.options]

    @property
    def places(self) -> tuple[int, ...]:
        """Return the places of the outputs that reasons are about; 0: both together."""
        if self.tags is None:
            return ()
        return (1, 2) if self.tags.about == "each output" else (0,)

    def label_of(self, value: float) -> str:
        return "preferred" if value else "tie"

    def select_rows(self) -> Q:
        strengths = [point.value for point in self.points if point.value > 0]
        better = Q(value__in=strengths, output__isnull=False)
        neither = Q(value=0, output__isnull=True)
        detail = Q() if self.columns else Q(detail__isnull=True)
        return (better | neither) & Q(part="", text="") & detail

    # --- page

    @property
    def reasons_template(self) -> str:
        """Name the template of what is asked about the answer, in a place of its own; "": none."""
        return "scales/reasons.html" if self.tags else ""

    @property
    def row_classes(self) -> str:
        if self.display == "stacked":
            return "grades"
        answers = len(self.entries)
        return (
            "row pref six" if answers == 6 else "row pref" if answers > 3 else "row named verdict"
        )

    @property
    def choices_shown(self) -> list[dict[str, Any]]:
        """Return the answers as a page lists them: both good and both bad in the middle."""
        steps = [
            {"entry": entry, "label": point.label, "notes": point.notes, "side": point.side}
            for entry, point in zip(self.entries, self.points, strict=False)
        ]
        both = [
            {"entry": name, "label": getattr(self, name), "notes": [], "side": ""}
            for name in BOTH
            if getattr(self, name)
        ]
        middle = sum(point.value <= 0 for point in self.points)
        keys = _PLAIN_KEYS if self.is_plain else map(str, count(1))
        listed = [*steps[:middle], *both, *steps[middle:]]
        return [choice | {"key": key} for choice, key in zip(listed, keys, strict=False)]

    def first_control(self, name: str) -> str:
        return f"{name}-{next(iter(self.entries))}"

    def read_entry(self, data: Mapping[str, Any], name: str) -> str:
        entry = str(data.get(name) or "")
        if self.tags is None or " " in entry:
            return entry
        ticked = [
            f"{place}.{key}"
            for place in self.places
            for key in self.tags.keys
            if data.get(f"{name}.{place}-{key}")
        ]
        return " ".join([entry, *ticked]).strip()

    def read_reason(self, text: str) -> tuple[int, str] | None:
        place, _dot, key = text.partition(".")
        is_known = self.tags is not None and key in self.tags.keys
        return (int(place), key) if is_known and place in map(str, self.places) else None

    def name_entry(self, entry: str) -> str:
        chosen = next((part for part in entry.split() if "." not in part), "")
        return self.name_tested(self.entries.get(chosen, chosen))

    def view_entry(self, entry: str) -> dict[str, Any]:
        """Return what is chosen, and for each place the tags with whether they are ticked."""
        sent = entry.split(" ")
        steps = [part for part in sent if "." not in part]
        groups = [
            {
                "place": place,
                "options": [
                    {"option": option, "is_ticked": f"{place}.{option.key}" in sent}
                    for option in (self.tags.options if self.tags else ())
                ],
            }
            for place in self.places
        ]
        return {"chosen": steps[0] if len(steps) == 1 else "", "groups": groups}

    def make_field(
        self, criterion: QuestionWords, output_name: str, *, is_one_of_several: bool = False
    ) -> PreferenceField:
        if self.is_plain:
            missing = _("Choose which response is better on %(criterion)s, or a tie") % {
                "criterion": criterion.label.lower()
            }
        else:
            question = criterion.question or criterion.label
            missing = _("Choose an answer to “%(question)s”") % {"question": question}
        return PreferenceField(scale=self, missing=missing)

    # --- stored and read back

    def make_rows(
        self, answer: Any, about: AnswerRow, output_ids: Sequence[int]
    ) -> tuple[AnswerRow, ...]:
        grade, reasons = answer
        detail: dict[str, Any] = {}
        better, strength = None, 0
        if isinstance(grade, str):
            detail["both"] = grade.removeprefix("both_")
        elif grade:
            better, strength = output_ids[int(grade > 0)], abs(grade)
        ticked: dict[str, list[str]] = {}
        for place, key in reasons:
            of = output_ids[place - 1] if place else _TOGETHER
            ticked.setdefault(str(of), []).append(key)
        if ticked:
            detail["reasons"] = ticked
        return (about._replace(output=better, value=strength, detail=detail or None),)

    def read_rows(self, rows: Sequence[AnswerRow], output_ids: Sequence[int]) -> Judgement | None:
        row = rows[0]
        numbers = {str(pk): number for number, pk in enumerate(output_ids, start=1)}
        if row.output is not None and str(row.output) not in numbers:
            return None
        detail = row.detail or {}
        reasons = tuple(
            (numbers.get(of, 0), key)
            for of, keys in sorted(detail.get("reasons", {}).items())
            for key in keys
        )
        better = numbers.get(str(row.output), 0)
        strength = int(row.value) if better and row.value else 0
        return Judgement(better, strength, detail.get("both", ""), reasons)

    def write_entry(self, value: Any, order: Sequence[int]) -> str:
        is_second = value.better and order.index(value.better - 1) == 1
        step = value.strength if is_second else -value.strength
        places = {number: order.index(number - 1) + 1 for number in (1, 2)} | {0: 0}
        reasons = [f"{places[number]}.{key}" for number, key in value.reasons]
        grade = self.name_step(f"both_{value.both}" if value.both else step)
        return " ".join([grade, *sorted(reasons)])

    # --- conditions name steps as the page has them

    def list_tested(self, answer: Any) -> tuple[Any, ...]:
        return (answer.grade,)

    def name_tested(self, value: Any) -> str:
        if isinstance(value, str) and value in BOTH:
            return getattr(self, value) or ""
        return next((point.label for point in self.points if point.value == value), str(value))

    # --- gold: the better system with its strength ("alpha", "alpha:2", "1:1..2"), tie, both_good

    def parse_gold(self, text: str, outputs: Sequence[str]) -> list[Judgement]:
        """Return the answers that are right."""
        gold = text.strip()
        if gold in BOTH and getattr(self, gold):
            return [Judgement(0, 0, gold.removeprefix("both_"))]
        strengths = [point.value for point in self.points if point.value > 0]
        if gold not in outputs and gold.casefold() == TIE and 0 in self.entries.values():
            return [Judgement(0, 0)]
        name, low, high = gold, None, None
        if gold not in outputs and (match := _GOLD.fullmatch(gold)):
            name, low, high = match[1].strip(), match[2], match[3]
        numbers = {str(number): number for number in range(1, len(outputs) + 1)}
        numbers |= {output: number for number, output in enumerate(outputs, start=1)}
        if name not in numbers:
            raise ValidationError(
                f"{quote(gold)} is not a system of this item. Write the system's name as in the "
                f"file, or tie. The systems are: {', '.join(outputs)}."
            )
        if low:
            strengths = [value for value in strengths if int(low) <= value <= int(high or low)]
        if not strengths:
            raise ValidationError(f"{quote(gold)} is stronger than the scale goes.")
        return [Judgement(numbers[name], strength) for strength in strengths]

    def judge(
        self,
        right: Sequence[Judgement],
        values: Sequence[Any],
        standard: int | None,
        names: Sequence[str],
        *,
        is_by_document: bool = False,
    ) -> Judged:
        (value,) = values
        is_met = any(judgement[:3] == value[:3] for judgement in right)
        sentence = verdict_in_words(
            self._describe_judgement(value, names),
            self._describe_judgement(right[0], names),
            is_met=is_met,
            is_by_document=is_by_document,
        )
        return [(is_met, sentence)]

    def _describe_judgement(self, value: Judgement, names: Sequence[str]) -> str:
        if self.is_plain:
            return names[value.better - 1] if value.better else self.name_tested(0)
        if value.both:
            return f"“{self.name_tested(f'both_{value.both}')}”"
        if not value.better:
            return f"“{self.name_tested(0)}”"
        # the labels name sides of the page, as the names of the outputs do
        is_second = names[value.better - 1] == sorted(names)[-1]
        return f"“{self.name_tested(value.strength if is_second else -value.strength)}”"

    def count_asked(self, text: str, outputs: int, standard: int | None) -> int:
        return 1  # whichever system it names

    def right_values(
        self, right: Sequence[Judgement], outputs: int, standard: int | None
    ) -> list[Any | None]:
        # a gold asks for no reasons, but a question may
        keys = self.tags.keys[: self.tags.least] if self.tags else ()
        reasons = tuple((place, key) for place in self.places for key in keys)
        return [right[0]._replace(reasons=reasons)]

    # --- words

    def describe_choices(self) -> str:
        return "a system of the item or tie"

    def describe_values(self) -> str:
        if self.is_plain:
            return f"1 = {self.label_of(1)}, 0 = {self.label_of(0)}"
        return f"1 to {self.maximum} = how much better the output preferred is, 0 = a tie"

    def describe_comparison(
        self, row: AnswerRow, names: Mapping[int, str], shown: Mapping[int, str]
    ) -> str:
        if self.is_plain:
            return "tie" if row.output is None else f"{names[row.output]} preferred"
        detail = row.detail or {}
        if row.output is None:
            both = detail.get("both")
            words = self.name_tested(f"both_{both}" if both else 0)
        else:
            words = self._describe_grade(row.output, int(row.value or 0), names, shown)
        labels = {tag.key: tag.label for tag in (self.tags.options if self.tags else ())}
        reasons = {
            of: ", ".join(labels.get(key, key) for key in keys)
            for of, keys in detail.get("reasons", {}).items()
        }
        together = [listed for of, listed in reasons.items() if of == _TOGETHER]
        apart = [f"{name}: {reasons[str(pk)]}" for pk, name in names.items() if str(pk) in reasons]
        listed = f" ({'; '.join(apart)})" if apart else ""
        return f"{': '.join([words, *together])}{listed}"

    def _describe_grade(
        self, output_id: int, strength: int, names: Mapping[int, str], shown: Mapping[int, str]
    ) -> str:
        """Say how much better an output is: in the words that were chosen, with its name here.

        Labels name sides of the page: “B is much better”. Those that mirror each other are read.
        """
        name = names[output_id]
        if output_id not in shown or len(shown) != 2:
            return f"{name} preferred, {strength} of {self.maximum}"
        grade = strength if list(shown).index(output_id) else -strength
        label, mirrored = self.name_tested(grade), self.name_tested(-grade)
        called = list(shown.values())
        sides = [called, [side.rpartition(" ")[2] for side in called], ["1", "2"]]
        for pair in sides:
            swapped = _replace_words(label, dict(zip(pair, reversed(pair), strict=True)))
            if label != swapped == mirrored:
                replaced = zip(pair, [names[pk] for pk in shown], strict=True)
                return _replace_words(label, dict(replaced))
        return f"{name} preferred ({label})"

    def describe_wide(self) -> tuple[str, bool, str]:
        return "the system preferred", False, "a system's name, or tie"

    def write_markdown(self) -> str:
        lines = [f"- {choice['label']}" for choice in self.choices_shown]
        strength = "" if self.is_plain else " with the strength"
        lines += ["", f"Stored as the preferred output{strength}, whichever side it was on."]
        if self.tags:
            lines += ["", self.tags.label, *(f"- {option.label}" for option in self.tags.options)]
        return "\n".join(lines)

    def describe_ratings(self, ratings: Sequence[Any]) -> str:
        (value,) = ratings
        return self.name_tested(f"both_{value.both}" if value.both else value.grade)

    def words(self) -> str:
        graded = "" if self.is_plain else "graded "
        ties = "ties allowed" if 0 in self.entries.values() else "no ties"
        return f"a {graded}preference between two outputs, {ties}"

    def name_choices(self) -> tuple[str, ...]:
        return tuple(str(choice["label"]) for choice in self.choices_shown)

    # --- simulated participants

    def answer_as_bot(self, felt: Sequence[float], number: int) -> str:
        difference = felt[1] - felt[0]
        values = sorted({abs(point.value) for point in self.points})
        strength = min(values, key=lambda value: abs(value - abs(difference) / _STEP))
        grade: int | str = strength if difference > 0 else -strength
        if self.both_good and abs(difference) < 0.2:
            grade = "both_good" if felt[0] >= 0 or not self.both_bad else "both_bad"
        least = self.tags.least if self.tags else 0
        keys = self.tags.keys[: max(least, 1)] if self.tags else ()
        reasons = [f"{place}.{key}" for place in self.places for key in keys]
        return " ".join([self.name_step(grade), *reasons])

    # --- worked examples and gold in data: a step, or both_good or both_bad

    def rating_from_data(self, data: Any) -> tuple[Any, ...]:
        if isinstance(data, str):
            return (Judgement(0, 0, data.removeprefix("both_")),)
        return (Judgement(0 if not data else 1 + (data > 0), abs(data)),)

    def gold_to_data(self, text: str) -> Any:
        """Write a gold of a practice item, whose outputs have numbers in place of systems."""
        right = self.parse_gold(text, ["1", "2"])
        if right[0].both:
            return f"both_{right[0].both}"
        grades = [judgement.grade for judgement in right]
        low, high = min(grades), max(grades)
        return str(low) if low == high else f"{low}..{high}"

    def write_gold(self, values: Sequence[Any | None]) -> str:
        (value,) = values
        if value is None:
            return ""
        if value.both:
            return f"both_{value.both}"
        return self._write_gold(value.better, str(value.strength))

    def gold_from_data(self, data: Any) -> str:
        if data in BOTH:
            return str(data)
        ends = _read_steps(data)
        if ends is None:
            raise TypeError("The gold of a preference is on one side: it reads like -2 or -2..-1.")
        low, high = sorted(map(abs, ends))
        better = (ends[0] > 0) + 1 if high else 0
        return self._write_gold(better, f"{low}..{high}")

    def _write_gold(self, better: int, strength: str) -> str:
        if not better:
            return TIE
        return str(better) if self.is_plain else f"{better}:{strength}"


def _read_steps(gold: Any) -> tuple[int, int] | None:
    """Read a step or a range of steps on one side, such as -2 or -2..-1; None for all else."""
    ends = _STEPS.fullmatch(gold) if isinstance(gold, str) else None
    if ends is None:
        return None
    low, high = sorted((int(ends[1]), int(ends[2] or ends[1])))
    return (low, high) if low == high or low > 0 or high < 0 else None


def _replace_words(text: str, replaced: Mapping[str, str]) -> str:
    """Replace whole words, all of them at once."""
    words = "|".join(map(re.escape, sorted(replaced, key=len, reverse=True)))
    return re.sub(rf"\b(?:{words})\b", lambda match: replaced[match[0]], text)
