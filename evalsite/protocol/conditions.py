"""Questions that are asked only after some answers to earlier ones: `ask_if` and the like.

A condition is a test of one earlier criterion, or joins others by `all`, `any` or `not`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self

from django.utils.translation import gettext as _

if TYPE_CHECKING:
    from evalsite.protocol.parts import Criterion

# What was answered, as `Scale.list_tested` names it, by criterion and the number of one of several
# outputs or of a turn (0: the item, or its only output); None: not asked or not answered.
Answers = Mapping[str, Mapping[int, tuple[Any, ...] | None]]

_TESTS = ("is", "includes", "at_least", "at_most", "answered")
_LATER_TESTS = ("has", "changed")
_JOINED = ("all", "any", "not")
_DEEPEST = 3
_WIDTH = {"item": 0, "output": 1, "turn": 2}


@dataclass(frozen=True, kw_only=True)
class Condition:
    """A test of a criterion, or how other conditions are joined.

    `outputs`: of a test of something narrower than the question, whether one of the outputs or
    turns must meet it, or all.
    """

    criterion: str = ""
    test: str = ""
    value: Any = None
    outputs: Literal["", "any", "every"] = ""
    joined: Literal["", "all", "any", "not"] = ""
    parts: tuple["Condition", ...] = ()

    def is_met(self, answers: Answers, number: int) -> bool:
        """Tell whether the answers meet it, for a question about what has this number."""
        if self.joined:
            met = [part.is_met(answers, number) for part in self.parts]
            return (
                not met[0] if self.joined == "not" else {"all": all, "any": any}[self.joined](met)
            )
        given = answers.get(self.criterion, {})
        if not self.outputs:
            return self._is_met_by(given.get(number, given.get(0)))
        met = [self._is_met_by(one) for one in given.values()]
        return any(met) if self.outputs == "any" else bool(met) and all(met)

    def _is_met_by(self, answer: tuple[Any, ...] | None) -> bool:
        if self.test == "answered":
            return (answer is not None) == self.value
        if answer is None:
            return False
        if self.test in ("is", "includes"):
            return any(one in self.value for one in answer)
        numbers = [one for one in answer if isinstance(one, int)]
        if self.test == "at_least":
            return any(one >= self.value for one in numbers)
        return any(one <= self.value for one in numbers)

    def describe(self, criteria: Mapping[str, "Criterion"]) -> str:
        """Say it in the middle of a sentence: "you chose “no” for “Clear”"."""
        if self.joined == "not":
            return _("it is not so that %(what)s") % {"what": self.parts[0].describe(criteria)}
        if self.joined:
            word = _(" and ") if self.joined == "all" else _(" or ")
            return word.join(part.describe(criteria) for part in self.parts)
        asked = criteria[self.criterion]
        words = {"label": asked.label, "value": self.value}
        if self.test == "at_least":
            return _("“%(label)s” is %(value)s or more") % words
        if self.test == "at_most":
            return _("“%(label)s” is %(value)s or less") % words
        if self.test == "answered":
            if self.value:
                return _("you answered “%(label)s”") % words
            return _("you did not answer “%(label)s”") % words
        chosen = _(" or ").join(f"“{asked.scale.name_tested(one)}”" for one in self.value)
        return _("you chose %(chosen)s for “%(label)s”") % {**words, "chosen": chosen}

    # --- plain data

    def to_data(self) -> dict[str, Any]:
        if self.joined == "not":
            return {"not": self.parts[0].to_data()}
        if self.joined:
            return {self.joined: [part.to_data() for part in self.parts]}
        value = list(self.value) if isinstance(self.value, tuple) else self.value
        data = {"criterion": self.criterion, self.test: value}
        return data | ({"outputs": self.outputs} if self.outputs else {})

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """Read a condition that was found to be without fault."""
        for name in _JOINED:
            if name in data:
                parts = [data[name]] if name == "not" else data[name]
                return cls(joined=name, parts=tuple(cls.from_data(part) for part in parts))  # type: ignore[arg-type]
        test = next(name for name in _TESTS if name in data)
        value = tuple(data[test]) if isinstance(data[test], list) else data[test]
        outputs = data.get("outputs", "")
        return cls(criterion=data["criterion"], test=test, value=value, outputs=outputs)
