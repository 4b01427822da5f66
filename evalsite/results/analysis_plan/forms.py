"""What researchers write into an analysis plan."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from evalsite.analysis.thresholds import Limit
from evalsite.quality.models import LEVELS, LONGEST_RULE, MOST_LETTERS, AnalysisPlan
from evalsite.results.analysis_plan.stored import (
    Stored,
    find_level,
    find_slices,
    has_column,
    limits_of,
    list_analysed,
    mark_plan,
    own_thresholds,
)
from evalsite.results.analysis_plan.wording import write_limit
from evalsite.studies.models import Item, Study

EVERY_PAIR = "Every pair of systems"


class ThresholdField(forms.DecimalField):
    """One threshold, in percent where people read it so; empty: the starting value."""

    def __init__(self, limit: Limit) -> None:
        self.limit, self.times = limit, 100 if limit.in_percent else 1
        least, most = (self._write(end) for end in (limit.least, limit.most))
        words = f"Enter a{' whole' if limit.is_whole else ''} number from {least} to {most}."
        super().__init__(
            required=False,
            label=f"{limit.label}, in %" if limit.in_percent else limit.label,
            help_text=f"{limit.measures} Starts at {write_limit(limit, limit.start)}.",
            decimal_places=0 if limit.is_whole else 2,
            min_value=Decimal(least),
            max_value=Decimal(most),
            error_messages=dict.fromkeys(
                ("invalid", "min_value", "max_value", "max_whole_digits"), words
            )
            | {"max_decimal_places": words if limit.is_whole else "Enter at most two decimals."},
        )

    def _write(self, value: float) -> str:
        return f"{round(value * self.times, 4):g}"

    def prepare_value(self, value: Any) -> Any:
        """Return the study's value as people read it; what was typed stays."""
        return self._write(value) if isinstance(value, float | int) else value

    def clean(self, value: Any) -> float | None:
        """Return the threshold; None where it is the starting value."""
        given = super().clean(value)
        if given is None:
            return None
        number = int(given) if self.limit.is_whole else float(given / self.times)
        return None if number == self.limit.start else number


class PlanForm(forms.Form):
    """Baseline, exclusion rule, and a field for each threshold."""

    # without it nothing can be saved: the plan may be another by now
    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    baseline = forms.ChoiceField(
        required=False,
        label="Compare",
        help_text="With a baseline, p values are corrected over fewer comparisons, and no others "
        "are tested. Choose it before there are answers: reports say when it was chosen.",
        error_messages={"invalid_choice": "Choose a system of this study, or every pair."},
    )
    exclusion_rule = forms.CharField(
        required=False,
        label="Further rules, in your own words",
        max_length=LONGEST_RULE,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="Worded so that another person would exclude the same answers, without names "
        "of people. Nothing is left out automatically. Leave it empty if there is no such rule.",
        error_messages={
            "max_length": "Word the rule in %(limit_value)d characters or fewer; these are "
            "%(show_value)d.",
            "null_characters_not_allowed": "Enter the rule in plain characters.",
        },
    )

    primary = forms.ChoiceField(
        required=False,
        label="Primary criterion",
        help_text="Its corrected p values are the result of the study; all other criteria are "
        "secondary. Without one, p values are corrected across all criteria.",
        error_messages={"invalid_choice": "Choose a criterion of this study, or none."},
    )
    smallest = forms.DecimalField(
        required=False,
        label="Smallest difference that matters",
        min_value=Decimal("0.0001"),
        max_value=Decimal(100_000),
        max_digits=10,
        decimal_places=4,
        help_text="For precision and power only: it isn’t a margin, and nothing is tested against "
        "it. In points of the scale; for magnitudes, a ratio.",
        error_messages=dict.fromkeys(
            (
                "invalid",
                "min_value",
                "max_value",
                "max_digits",
                "max_decimal_places",
                "max_whole_digits",
            ),
            "Enter a number above 0, such as 0.3.",
        ),
    )
    has_own_errors = forms.BooleanField(
        required=False,
        label="Separate error for each pair",
        help_text="Recommended if one system differs in kind, such as a human reference. It costs "
        "some power.",
    )
    level = forms.ChoiceField(
        required=False,
        label="Level of tests against a margin",
        choices=[(f"{level:g}", f"{level:g}".removeprefix("0")) for level in LEVELS],
        help_text="The tests are one-sided, so at .05 each interval is a 90% interval.",
        error_messages={"invalid_choice": "Choose a level."},
    )
    slices = forms.CharField(
        required=False,
        label="Also test each slice of the inputs",
        max_length=100,
        help_text="A column of the items, such as language. “Is not worse than” then also fails if "
        "the system is clearly worse by more than the margin in one slice of 20 inputs or more.",
        error_messages={
            "max_length": "Give the name of a column in %(limit_value)d characters or fewer.",
            "null_characters_not_allowed": "Enter the name of a column in plain characters.",
        },
    )
    stopping = forms.ChoiceField(
        required=False,
        label="Stop collecting when",
        choices=AnalysisPlan.Stopping.choices,
        error_messages={"invalid_choice": "Choose when you stop."},
    )
    reason = forms.CharField(
        required=False,
        label="Why the plan is changed",
        max_length=MOST_LETTERS,
        help_text="The plan is frozen, so a change is a deviation. The report prints this.",
        error_messages={
            "max_length": "Give the reason in %(limit_value)d characters or fewer.",
            "null_characters_not_allowed": "Enter a reason in plain characters.",
        },
    )

    def __init__(
        self,
        data: Any,
        *,
        study: Study,
        stored: Stored,
        systems: Sequence[str],
        unsaved: Any = None,
    ) -> None:
        """`unsaved`: what stands in the fields, where it isn't saved yet."""
        plan = stored.plan
        limits = limits_of(study)
        own = own_thresholds(study, plan)
        super().__init__(
            data,
            initial={
                "seen": mark_plan(plan, stored.rules),
                "primary": plan.primary,
                "baseline": plan.baseline,
                "exclusion_rule": plan.exclusion_rule,
                "smallest": plan.smallest,
                "has_own_errors": plan.has_own_errors,
                "stopping": plan.stopping,
                "level": f"{find_level(plan):g}",
                "slices": find_slices(plan),
                **{limit.key: own.get(limit.key, limit.start) for limit in limits},
                **({} if unsaved is None else {name: unsaved[name] for name in unsaved}),
                **({} if unsaved is None else {"has_own_errors": "has_own_errors" in unsaved}),
            },
        )
        self.plan, self.limits, self.study = plan, limits, study
        self.fields["primary"].choices = _list_criteria(study, plan)  # type: ignore[attr-defined]
        self.fields["baseline"].choices = _list_choices(systems, plan)  # type: ignore[attr-defined]
        for limit in limits:
            self.fields[limit.key] = ThresholdField(limit)

    def drop_thresholds(self) -> None:
        """Leave out entered thresholds, so that all have their starting values."""
        sent = {name: self.data[name] for name in self.data}
        self.data = sent | {limit.key: "" for limit in self.limits}

    @property
    def thresholds(self) -> list[forms.BoundField]:
        return [self[limit.key] for limit in self.limits]

    def clean_exclusion_rule(self) -> str:
        # browsers send line ends of two characters
        rule = str(self.cleaned_data["exclusion_rule"]).replace("\r\n", "\n")
        if any(ord(one) < 32 and one not in "\n\t" for one in rule):
            raise ValidationError("Enter the rule in plain characters.")
        return rule

    def clean_slices(self) -> str:
        """Return the column; items that are there must have it."""
        name = str(self.cleaned_data["slices"]).strip()
        items = Item.objects.main().filter(study=self.study)
        is_input = name in {column.name for column in self.study.config.columns}
        if name and not is_input and items.exists() and not has_column(items, name):
            raise ValidationError(
                "No item has this column. Enter the name of an input, or of another column of an "
                "uploaded file."
            )
        return name

    @property
    def values(self) -> dict[str, Any]:
        """What the plan is to say."""
        given = self.cleaned_data
        return {
            "primary": given["primary"],
            "baseline": given["baseline"],
            "smallest": None if given["smallest"] is None else float(given["smallest"]),
            "has_own_errors": given["has_own_errors"],
            "stopping": given["stopping"] or AnalysisPlan.Stopping.ANSWERS.value,
            "exclusion_rule": given["exclusion_rule"],
            "thresholds": {
                limit.key: given[limit.key]
                for limit in self.limits
                if given[limit.key] is not None
            },
        }  # fmt: skip


def _list_criteria(study: Study, plan: AnalysisPlan) -> list[tuple[str, str]]:
    known = [(one.key, one.label) for one in list_analysed(study)]
    if plan.primary and plan.primary not in dict(known):
        known.append((plan.primary, f"{plan.primary}, which can’t be compared now"))
    return [("", "None: correct across all criteria"), *known]


def _list_choices(names: Sequence[str], plan: AnalysisPlan) -> list[tuple[str, str]]:
    choices = [("", EVERY_PAIR), *((name, f"Each system with {name}") for name in names)]
    if plan.baseline and plan.baseline not in names:
        # kept until another is chosen: results say that it has no ratings
        choices.append((plan.baseline, f"Each system with {plan.baseline}, which is not there now"))
    return choices
