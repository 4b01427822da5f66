"""Which of two outputs is better, and how much; both good or both bad; and why."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from django.core.exceptions import ValidationError
from django.db.models import Q
from django.utils.translation import gettext as _

from evalsite.protocol import Criterion
from evalsite.protocol.faults import Faults
from evalsite.protocol.scale import Judged, Row, Scale, Stored
from evalsite.scales.options import read_options
from evalsite.scales.points import quote, verdict_in_words
from evalsite.scales.preference.grades import Grade, GradedField, Judgement, Tags
from evalsite.scales.preference.plain import BOTH

TIE = "tie"
# reasons that are about neither output alone
_TOGETHER = "all"
_GOLD = re.compile(r"(.+?)(?::([1-3])(?:\.\.([1-3]))?)?")
_NUMBER = re.compile(r"(-?[0-3])(?:\.\.(-?[0-3]))?")
# how much better something must seem to a simulated rater for each further step
_STEP = 0.6


@dataclass(frozen=True, kw_only=True)
class Graded(Scale):
    """Grades that mirror each other around 0, with further answers that both are good or bad.

    Stored as the output preferred with the strength, never as a side. An entry is the grade as the
    page has it, followed by reasons as place and key: "-2 1.useful 2.incorrect".
    """

    grades: tuple[Grade, ...]
    both_good: str = ""
    both_bad: str = ""
    tags: Tags | None = None
    stacked: bool = False
    minimum: ClassVar[int] = 0
    kind: ClassVar[str] = "preference"
    family: ClassVar[str] = "preference"
    per: ClassVar[Literal["output", "item"]] = "item"
    compares: ClassVar[bool] = True
    better: ClassVar[str] = ""
    has_direction: ClassVar[bool] = False
    asks_first: ClassVar[bool] = True
    pair_only: ClassVar[bool] = True
    tests: ClassVar[frozenset[str]] = frozenset({"is"})

    @property
    def maximum(self) -> int:
        return self.grades[-1].value

    @property
    def columns(self) -> frozenset[str]:
        found = {"both"} if self.both_good or self.both_bad else set()
        return frozenset(found | ({"reasons"} if self.tags else set()))

    @property
    def entries(self) -> dict[str, int | str]:
        """Map entries to what they say, in the order of a page."""
        found: dict[str, int | str] = {str(one.value): one.value for one in self.grades}
        return found | {name: name for name in BOTH if getattr(self, name)}

    @property
    def places(self) -> tuple[int, ...]:
        """Return the places of the outputs that reasons are about; 0: both together."""
        if self.tags is None:
            return ()
        return (1, 2) if self.tags.about == "each output" else (0,)

    def label_of(self, value: int) -> str:
        return "preferred" if value else "tie"

    def is_row(self, value: int, *, has_output: bool) -> bool:
        return 1 <= value <= self.maximum if has_output else value == 0

    def select_rows(self) -> Q:
        strengths = [one.value for one in self.grades if one.value > 0]
        better = Q(value__in=strengths, output__isnull=False)
        neither = Q(value=0, output__isnull=True)
        return (better | neither) & Q(part="", text="")

    # --- page

    @property
    def template(self) -> str:
        return "scales/graded.html"

    @property
    def reasons_template(self) -> str:
        """Name the template of what is asked about the answer, in a place of its own; "": none."""
        return "scales/reasons.html" if self.tags else ""

    @property
    def row_classes(self) -> str:
        if self.stacked:
            return "grades"
        count = len(self.entries)
        return "row pref six" if count == 6 else "row pref" if count > 3 else "row named verdict"

    @property
    def choices_shown(self) -> list[dict[str, Any]]:
        """Return the answers as a page lists them: both good and both bad in the middle."""
        grades = [
            {"entry": str(g.value), "label": g.label, "notes": g.notes, "side": g.side}
            for g in self.grades
        ]
        middle = next((at for at, one in enumerate(self.grades) if one.value > 0), len(grades))
        both = [
            {"entry": name, "label": getattr(self, name), "notes": (), "side": ""}
            for name in BOTH
            if getattr(self, name)
        ]
        return [
            {**one, "key": str(number)}
            for number, one in enumerate([*grades[:middle], *both, *grades[middle:]], start=1)
        ]

    def first_control(self, name: str) -> str:
        return f"{name}-{self.grades[0].value}"

    def read_entry(self, data: Mapping[str, Any], name: str) -> str:
        given = str(data.get(name) or "")
        if self.tags is None or " " in given:
            return given
        ticked = [
            f"{place}.{key}"
            for place in self.places
            for key in self.tags.keys
            if data.get(f"{name}.{place}-{key}")
        ]
        return " ".join([given, *ticked]).strip()

    def read_reason(self, text: str) -> tuple[int, str] | None:
        place, _dot, key = text.partition(".")
        known = self.tags is not None and key in self.tags.keys
        if known and place in [str(one) for one in self.places]:
            return int(place), key
        return None

    def name_entry(self, entry: str) -> str:
        chosen = next((one for one in entry.split() if "." not in one), "")
        return self.name_tested(self.entries.get(chosen, chosen))

    def view_entry(self, entry: str) -> dict[str, Any]:
        """Return what is chosen, and for each place the tags with whether they are ticked."""
        sent = entry.split()
        chosen = next((one for one in sent if "." not in one), "")
        groups = [
            {
                "place": place,
                "options": [
                    {"option": one, "is_ticked": f"{place}.{one.key}" in sent}
                    for one in (self.tags.options if self.tags else ())
                ],
            }
            for place in self.places
        ]
        return {"chosen": chosen, "groups": groups}

    def make_field(
        self, criterion: Criterion, output_name: str, *, is_one_of_several: bool = False
    ) -> GradedField:
        asked = criterion.question or criterion.label
        missing = _("Choose an answer to “%(question)s”") % {"question": asked}
        return GradedField(scale=self, missing=missing)

    # --- stored and read back

    def make_rows(
        self, answer: Any, output_ids: Sequence[int | None], number: int
    ) -> tuple[Row, ...]:
        grade, reasons = answer
        detail: dict[str, Any] = {}
        better, strength = None, 0
        if isinstance(grade, str):
            detail["both"] = grade.removeprefix("both_")
        elif grade:
            better, strength = output_ids[int(grade > 0)], abs(grade)
        told: dict[str, list[str]] = {}
        for place, key in reasons:
            of = output_ids[place - 1] if place else _TOGETHER
            told.setdefault(str(of), []).append(key)
        if told:
            detail["reasons"] = told
        return (Row(better, strength, detail=detail or None),)

    def read_values(
        self, rows: Iterable[Stored], output_ids: Sequence[int | None]
    ) -> list[Any | None]:
        row = next(iter(rows), None)
        if row is None:
            return [None]
        detail = row.detail or {}
        numbers = {str(pk): number for number, pk in enumerate(output_ids, start=1)}
        reasons = tuple(
            (numbers.get(of, 0), key)
            for of, keys in sorted(detail.get("reasons", {}).items())
            for key in keys
        )
        better = 0 if row.output_id is None else list(output_ids).index(row.output_id) + 1
        return [Judgement(better, row.value or 0, detail.get("both", ""), reasons)]

    def write_entries(self, values: Sequence[Any | None], order: Sequence[int]) -> dict[int, str]:
        (value,) = values
        if value is None:
            return {}
        if value.both:
            grade = f"both_{value.both}"
        else:
            is_second = value.better and order.index(value.better - 1) == 1
            grade = str(value.strength if is_second else -value.strength)
        places = {number: order.index(number - 1) + 1 for number in (1, 2)} | {0: 0}
        reasons = [f"{places[number]}.{key}" for number, key in value.reasons]
        return {0: " ".join([grade, *sorted(reasons)])}

    # --- conditions name grades as the page has them

    def list_tested(self, answer: Any) -> tuple[Any, ...]:
        return (answer.grade,)

    def list_testable(self) -> tuple[Any, ...]:
        return tuple(self.entries.values())

    def name_tested(self, value: Any) -> str:
        if isinstance(value, str) and value in BOTH:
            return str(getattr(self, value))
        return next((one.label for one in self.grades if one.value == value), str(value))

    # --- gold: the better system with its strength ("alpha", "alpha:2", "1:1..2"), tie, both_good

    def parse_gold(self, text: str, outputs: Sequence[str]) -> list[Judgement]:
        """Return the answers that are right."""
        wanted = text.strip()
        if wanted in BOTH and getattr(self, wanted):
            return [Judgement(0, 0, wanted.removeprefix("both_"))]
        strengths = [one.value for one in self.grades if one.value > 0]
        if wanted.casefold() == TIE and any(one.value == 0 for one in self.grades):
            return [Judgement(0, 0)]
        if wanted in outputs:
            name, low, high = wanted, None, None
        elif found := _GOLD.fullmatch(wanted):
            name, low, high = found[1].strip(), found[2], found[3]
        else:
            name, low, high = wanted, None, None
        known = {one: number for number, one in enumerate(outputs, start=1)}
        known |= {str(n): n for n in range(1, len(outputs) + 1) if str(n) not in known}
        if name not in known:
            raise ValidationError(
                f"{quote(wanted)} is not a system of this item. Write the system's name as in the "
                f"file, or tie. The systems are: {', '.join(outputs)}."
            )
        if low:
            strengths = [one for one in strengths if int(low) <= one <= int(high or low)]
        if not strengths:
            raise ValidationError(f"{quote(wanted)} is stronger than the scale goes.")
        return [Judgement(known[name], one) for one in strengths]

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
        is_met = any(one[:3] == value[:3] for one in right)
        sentence = verdict_in_words(
            self._say(value, names),
            self._say(right[0], names),
            is_met=is_met,
            is_by_document=is_by_document,
        )
        return [(is_met, sentence)]

    def _say(self, value: Judgement, names: Sequence[str]) -> str:
        if value.both:
            return f"“{getattr(self, f'both_{value.both}')}”"
        if not value.better:
            return f"“{self.name_tested(0)}”"
        # the labels name sides of the page, as the names of the outputs do
        is_second = names[value.better - 1] == sorted(names)[-1]
        return f"“{self.name_tested(value.strength if is_second else -value.strength)}”"

    def count_asked(self, text: str, outputs: int, standard: int | None) -> int:
        return 1

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
        return f"1 to {self.maximum} = how much better the output preferred is, 0 = a tie"

    def describe_comparison(
        self, row: Stored, names: Mapping[int, str], shown: Mapping[int, str]
    ) -> str:
        detail = row.detail or {}
        if row.output_id is None:
            both = detail.get("both")
            words = self.name_tested(f"both_{both}" if both else 0)
        else:
            words = self._describe_grade(row.output_id, row.value or 0, names, shown)
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
        lines = [f"- {one['label']}" for one in self.choices_shown]
        lines += ["", "Stored as the preferred output with the strength, whichever side it was on."]
        if self.tags:
            lines += ["", f"{self.tags.label}", *(f"- {one.label}" for one in self.tags.options)]
        return "\n".join(lines)

    def describe_ratings(self, ratings: Sequence[Any]) -> str:
        (value,) = ratings
        if value.both:
            return str(getattr(self, f"both_{value.both}"))
        return self.name_tested(value.strength if value.better == 2 else -value.strength)

    def words(self) -> str:
        ties = "ties allowed" if any(one.value == 0 for one in self.grades) else "no ties"
        return f"a graded preference between two outputs, {ties}"

    def name_choices(self) -> tuple[str, ...]:
        return tuple(str(one["label"]) for one in self.choices_shown)

    # --- simulated participants

    def answer_as_bot(self, felt: Sequence[float], number: int) -> str:
        difference = felt[1] - felt[0]
        values = sorted({abs(one.value) for one in self.grades})
        strength = min(values, key=lambda one: abs(one - abs(difference) / _STEP))
        if self.both_good and abs(difference) < 0.2:
            entry = "both_good" if felt[0] >= 0 or not self.both_bad else "both_bad"
        else:
            entry = str(strength if difference > 0 else -strength)
        least = self.tags.least if self.tags else 0
        keys = self.tags.keys[: max(least, 1)] if self.tags else ()
        reasons = [f"{place}.{key}" for place in self.places for key in keys]
        return " ".join([entry, *reasons])

    # --- plain data

    def to_data(self) -> dict[str, Any]:
        points = [
            {
                "value": one.value,
                "label": one.label,
                **({"notes": list(one.notes)} if one.notes else {}),
            }
            for one in self.grades
        ]
        data: dict[str, Any] = {"kind": self.kind, "points": points}
        data |= {name: text for name in BOTH if (text := getattr(self, name))}
        data |= {"tags": self.tags.to_data()} if self.tags else {}
        return data | ({"display": "stacked"} if self.stacked else {})

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        tags = data.get("tags")
        return cls(
            grades=tuple(
                Grade(value=one["value"], label=one["label"], notes=tuple(one.get("notes", ())))
                for one in data["points"]
            ),
            both_good=data.get("both_good", ""),
            both_bad=data.get("both_bad", ""),
            stacked=data.get("display") == "stacked",
            tags=None
            if tags is None
            else Tags(
                label=tags["label"],
                about=tags["about"],
                options=read_options(tags["options"]),
                sides=tuple(one.get("side", "either") for one in tags["options"]),
                least=tags.get("least", 0),
                most=tags.get("most"),
            ),
        )

    def rating_to_data(self, ratings: Sequence[Any]) -> Any:
        (value,) = ratings
        if value.both:
            return f"both_{value.both}"
        return value.strength if value.better == 2 else -value.strength

    def rating_from_data(self, data: Any) -> tuple[Any, ...]:
        if isinstance(data, str):
            return (Judgement(0, 0, data.removeprefix("both_")),)
        return (Judgement(0 if not data else 1 + (data > 0), abs(data)),)

    def check_rating(self, data: Any, outputs: int, place: str, faults: Faults) -> None:
        if not any(data == one and type(data) is type(one) for one in self.entries.values()):
            faults.add("unknown_answer", place, "isn't an answer on this scale")

    def gold_to_data(self, text: str) -> Any:
        right = self.parse_gold(text, ["1", "2"])
        if right[0].both:
            return f"both_{right[0].both}"
        signs = [one.strength if one.better == 2 else -one.strength for one in right]
        low, high = min(signs), max(signs)
        return str(low) if low == high else f"{low}..{high}"

    def write_gold(self, values: Sequence[Any | None]) -> str:
        (value,) = values
        if value is None:
            return ""
        if value.both:
            return f"both_{value.both}"
        return f"{value.better}:{value.strength}" if value.better else TIE

    def gold_from_data(self, data: Any) -> str:
        if data in BOTH:
            return str(data)
        found = _NUMBER.fullmatch(data)
        if not found:
            raise TypeError("The gold of a preference reads like -2 or -2..-1.")
        low, high = sorted((int(found[1]), int(found[2] or found[1])))
        if low == high == 0:
            return TIE
        if low <= 0 <= high:
            raise TypeError("The gold of a preference is on one side.")
        output, strengths = (1, (-high, -low)) if high < 0 else (2, (low, high))
        return f"{output}:{strengths[0]}..{strengths[1]}"


def _replace_words(text: str, replaced: Mapping[str, str]) -> str:
    """Replace whole words, all of them at once."""
    words = "|".join(map(re.escape, sorted(replaced, key=len, reverse=True)))
    return re.sub(rf"\b(?:{words})\b", lambda match: replaced[match[0]], text)
