"""The parts of a graded preference: grades, reasons, and the field that reads both."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evalsite.fields import EntryInput
from evalsite.scales.options import Option

if TYPE_CHECKING:
    from evalsite.scales.preference.graded import Graded


@dataclass(frozen=True, kw_only=True)
class Grade:
    """A step from one output to the other: below 0 the first is better, 0 is a tie."""

    value: int
    label: str
    notes: tuple[str, ...] = ()

    @property
    def side(self) -> str:
        """Name the output that is better: first or second; "" of a tie."""
        return {-1: "first", 0: "", 1: "second"}[(self.value > 0) - (self.value < 0)]


@dataclass(frozen=True, kw_only=True)
class Tags:
    """Reasons to tick: about the output preferred, each output, or the comparison as a whole."""

    label: str
    about: Literal["preferred", "each output", "comparison"]
    options: tuple[Option, ...]
    sides: tuple[str, ...] = ()  # of each option, as in data: good, bad or either
    least: int = 0
    most: int | None = None

    def to_data(self) -> dict[str, Any]:
        options = [
            {**option.to_data(), **({"side": side} if side != "either" else {})}
            for option, side in zip(self.options, self.sides, strict=True)
        ]
        data: dict[str, Any] = {"label": self.label, "about": self.about, "options": options}
        data |= {"least": self.least} if self.least else {}
        return data | ({} if self.most is None else {"most": self.most})

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(option.key for option in self.options)


class Judgement(NamedTuple):
    """A stored answer: the number of the better output in the order uploaded (0: none)."""

    better: int
    strength: int
    both: str = ""
    # number of the output (0: of both together) and key
    reasons: tuple[tuple[int, str], ...] = ()


class Verdict(NamedTuple):
    """An answer on a page: the grade, or both_good or both_bad; and reasons by place."""

    grade: int | str
    reasons: tuple[tuple[int, str], ...] = ()


class GradedField(forms.Field):
    """A grade, with the reasons that were ticked."""

    def __init__(self, *, scale: "Graded", missing: str) -> None:
        self.scale, self.missing = scale, missing
        super().__init__(required=False, widget=EntryInput(scale.read_entry))

    def clean(self, value: Any) -> Verdict:
        sent = str(value or "").split()
        chosen = [one for one in sent if "." not in one]
        if not chosen:
            raise ValidationError(self.missing, code="required")
        reasons = tuple(map(self.scale.read_reason, (one for one in sent if "." in one)))
        if len(chosen) > 1 or chosen[0] not in self.scale.entries or None in reasons:
            raise ValidationError(
                _("%(missing)s: that was not one of the answers") % {"missing": self.missing},
                code="invalid",
            )
        ticked = tuple(one for one in reasons if one is not None)
        self._check_count(ticked)
        return Verdict(self.scale.entries[chosen[0]], ticked)

    def _check_count(self, reasons: Sequence[tuple[int, str]]) -> None:
        tags = self.scale.tags
        if tags is None:
            return
        for place in self.scale.places:
            count = sum(one == place for one, _key in reasons)
            if count < tags.least:
                raise ValidationError(
                    ngettext(
                        "Tick at least %(count)s reason",
                        "Tick at least %(count)s reasons",
                        tags.least,
                    )
                    % {"count": tags.least},
                    code="too_few",
                )
            if tags.most is not None and count > tags.most:
                raise ValidationError(
                    ngettext(
                        "Tick %(count)s reason at most", "Tick %(count)s reasons at most", tags.most
                    )
                    % {"count": tags.most},
                    code="too_many",
                )
