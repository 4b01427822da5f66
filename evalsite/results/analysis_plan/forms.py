"""What researchers write into an analysis plan."""

from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from evalsite.analysis.thresholds import Limit
from evalsite.decisions.models import LEVELS, LONGEST_RULE, MOST_LETTERS, AnalysisPlan
from evalsite.results.analysis_plan.stored import (
    Stored,
    find_judge,
    find_level,
    find_slices,
    has_column,
    limits_of,
    list_analysed,
    mark_plan,
    own_thresholds,
    takes_judge,
)
from evalsite.results.analysis_plan.wording import LIMITS, write_limit
from evalsite.results.progress import count_edge
from evalsite.studies.models import Item, Study
from evalsite.studies.setup_forms import SettingsForm, describe_fields

# of the main question: that of the first planned question, or none of them
FIRST, ALIKE = "", "all"
# the button that puts all limits back
RESET = "reset"
_FEWEST_FOR_ERRORS = 3


class ThresholdField(forms.DecimalField):
    """One threshold, in percent where people read it so; empty: the starting value."""

    def __init__(self, limit: Limit) -> None:
        self.limit, self.times = limit, 100 if limit.in_percent else 1
        least, most = (self._write(end) for end in (limit.least, limit.most))
        words = f"Enter a{' whole' if limit.is_whole else ''} number from {least} to {most}."
        label, measures = LIMITS[limit.key]
        super().__init__(
            required=False,
            label=f"{label}, in %" if limit.in_percent else label,
            help_text=f"{measures} Starts at {write_limit(limit, limit.start)}.",
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
        number = super().clean(value)
        if number is None:
            return None
        number = int(number) if self.limit.is_whole else float(number / self.times)
        return None if number == self.limit.start else number


def _make_judge(label: str, help_text: str, most: int, known: str) -> forms.CharField:
    """Return a field for a name that a list suggests."""
    return forms.CharField(
        required=False,
        label=label,
        max_length=most,
        widget=forms.TextInput(attrs={"list": known, "autocomplete": "off"}),
        help_text=help_text,
        error_messages={
            "max_length": "Enter a name of %(limit_value)d characters or fewer.",
            "null_characters_not_allowed": "Enter the name in plain characters.",
        },
    )


def _make_reason() -> forms.CharField:
    return forms.CharField(
        required=False,
        label="Why the plan is changed",
        max_length=MOST_LETTERS,
        help_text="The plan is frozen, so a change is a deviation. The report prints this.",
        error_messages={
            "max_length": "Give the reason in %(limit_value)d characters or fewer.",
            "null_characters_not_allowed": "Enter a reason in plain characters.",
        },
    )


class PlanForm(SettingsForm):
    """What a plan says beside its questions and rules, and whether results are hidden."""

    page = "plan"
    # the mark of the plan; without it nothing can be saved: the plan may be another by now
    plan_seen = forms.CharField(required=False, widget=forms.HiddenInput)
    stopping = forms.ChoiceField(
        required=False,
        label="Stop collecting when",
        choices=AnalysisPlan.Stopping.choices,
        error_messages={"invalid_choice": "Choose when you stop."},
    )
    smallest = forms.DecimalField(
        required=False,
        label="Smallest difference that matters",
        min_value=Decimal("0.0001"),
        max_value=Decimal(100_000),
        max_digits=10,
        decimal_places=4,
        help_text="For precision and power only: nothing is tested against it. In points of the "
        "scale; of decisions and preferences a share, such as 0.1; of magnitudes a ratio.",
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
    primary = forms.ChoiceField(
        required=False,
        label="Main question",
        help_text="Its corrected p values are the result; the others are secondary.",
        error_messages={"invalid_choice": "Choose a question of this study, or none."},
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
        help_text="One-sided: at .05 each interval is a 90% interval.",
        error_messages={"invalid_choice": "Choose a level."},
    )
    slices = forms.CharField(
        required=False,
        label="Also test each slice of the items",
        max_length=100,
        help_text="A column, such as language. “Is not worse than” then also fails if the system "
        "is clearly worse by more than the margin in one slice of 20 items or more.",
        error_messages={
            "max_length": "Give the name of a column in %(limit_value)d characters or fewer.",
            "null_characters_not_allowed": "Enter the name of a column in plain characters.",
        },
    )
    judge = _make_judge(
        "Judge whose labels correct the result",
        "A model that rates, by its name in the file of its labels. People’s own result stays "
        "beside the corrected one. Empty: people alone decide.",
        100,
        "known-judges",
    )
    prompt_version = _make_judge(
        "Version of its prompt", "If its file has a column prompt_version.", 100, "known-prompts"
    )
    exclusion_rule = forms.CharField(
        required=False,
        label="Further rules, in your own words",
        max_length=LONGEST_RULE,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Without names of people. Nobody is left out automatically by these.",
        error_messages={
            "max_length": "Word the rule in %(limit_value)d characters or fewer; these are "
            "%(show_value)d.",
            "null_characters_not_allowed": "Enter the rule in plain characters.",
        },
    )
    on = forms.ChoiceField(required=False, label="Try the rules on")
    reason = _make_reason()
    Meta = describe_fields("plan")

    def __init__(self, *args: Any, stored: Stored, targets: dict[str, str], **kwargs: Any) -> None:
        self.stored, self.targets = stored, targets
        super().__init__(*args, **kwargs)

    def fit_to_study(self) -> None:
        study, plan = self.instance, self.stored.plan
        self.initial = {
            **self.initial,
            "plan_seen": mark_plan(plan, self.stored.rules),
            "primary": _find_main(plan),
            "exclusion_rule": plan.exclusion_rule,
            "smallest": plan.smallest,
            "has_own_errors": plan.has_own_errors,
            "stopping": plan.stopping,
            "level": f"{find_level(plan):g}",
            "slices": find_slices(plan),
            **dict(zip(("judge", "prompt_version"), find_judge(plan), strict=True)),
        }
        criteria = list_analysed(study)
        if not any(map(takes_judge, criteria)):
            del self.fields["judge"], self.fields["prompt_version"]
        if len(criteria) < 2 and not plan.primary:
            del self.fields["primary"]
        else:
            self.fields["primary"].choices = _list_mains(study, plan)  # type: ignore[attr-defined]
        if count_edge(study).systems < _FEWEST_FOR_ERRORS and not plan.has_own_errors:
            del self.fields["has_own_errors"]
        if self.targets:
            self.fields["on"].choices = list(self.targets.items())  # type: ignore[attr-defined]
        else:
            del self.fields["on"]
        if not self.stored.versions:
            del self.fields["reason"]

    def clean_exclusion_rule(self) -> str:
        # browsers send line ends of two characters
        rule = str(self.cleaned_data["exclusion_rule"]).replace("\r\n", "\n")
        if any(ord(letter) < 32 and letter not in "\n\t" for letter in rule):
            raise ValidationError("Enter the rule in plain characters.")
        return rule

    def clean_slices(self) -> str:
        """Return the column; items that are there must have it."""
        name = str(self.cleaned_data["slices"]).strip()
        items = Item.objects.main().filter(study=self.instance)
        is_input = name in {column.name for column in self.instance.config.columns}
        if name and not is_input and items.exists() and not has_column(items, name):
            raise ValidationError(
                "No item has this column. Enter the name of an input, or of another column of an "
                "uploaded file."
            )
        return name

    def clean_prompt_version(self) -> str:
        """Return the version; without a judge it would be nobody's."""
        version = str(self.cleaned_data["prompt_version"]).strip()
        if version and not self.cleaned_data.get("judge") and "judge" not in self.errors:
            raise ValidationError("Enter the judge, or leave this empty.")
        return version

    def read_plan(
        self, questions: list[dict[str, Any]], rules: list[list[dict[str, Any]]]
    ) -> dict[str, Any]:
        """Return what the plan is to say, with these questions and rules."""
        cleaned = self.cleaned_data
        level = float(cleaned["level"] or LEVELS[0])
        how: dict[str, Any] = {} if level == LEVELS[0] else {"level": level}
        judge = {name: cleaned.get(name, "") for name in ("judge", "prompt_version")}
        judge = {name: value for name, value in judge.items() if value}
        judged = {
            criterion.key for criterion in list_analysed(self.instance) if takes_judge(criterion)
        }
        questions = [
            question | (judge if question["criterion"] in judged else {}) for question in questions
        ]
        margins = []
        for question in questions:
            if "margin" in question:
                is_sliced = cleaned["slices"] and question["relation"] == "not_worse"
                sliced = {"slices": cleaned["slices"]} if is_sliced else {}
                margins.append(question | how | sliced)
        values = {
            "hypotheses": [question for question in questions if "margin" not in question],
            "margins": margins,
            "rules": rules,
            "smallest": None if cleaned["smallest"] is None else float(cleaned["smallest"]),
            "stopping": cleaned["stopping"] or AnalysisPlan.Stopping.ANSWERS.value,
            "exclusion_rule": cleaned["exclusion_rule"],
        }
        if "has_own_errors" in cleaned:
            values["has_own_errors"] = cleaned["has_own_errors"]
        if "primary" in cleaned:
            main = cleaned["primary"]
            first = [question["criterion"] for question in questions[:1]]
            values["primary"] = "".join(first) if main == FIRST else "" if main == ALIKE else main
        return values


def _find_main(plan: AnalysisPlan) -> str:
    """Return the choice that a saved plan stands for."""
    planned = [*plan.hypotheses, *plan.margins]
    if not planned:
        return plan.primary or FIRST
    return plan.primary or ALIKE


def _list_mains(study: Study, plan: AnalysisPlan) -> list[tuple[str, str]]:
    known = [(criterion.key, criterion.label) for criterion in list_analysed(study)]
    if plan.primary and plan.primary not in dict(known):
        known.append((plan.primary, f"{plan.primary}, which can’t be compared now"))
    return [(FIRST, "That of question 1"), *known, (ALIKE, "All count the same")]


class LimitsForm(forms.Form):
    """The limits at which flags of people are raised: a field for each."""

    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    reason = _make_reason()

    def __init__(self, data: Any, *, study: Study, stored: Stored) -> None:
        limits, thresholds = limits_of(study), own_thresholds(study, stored.plan)
        if data is not None and data.get("do") == RESET:
            # whatever the fields hold
            data = {name: data.get(name, "") for name in ("seen", "reason")}
        super().__init__(
            data,
            initial={
                "seen": mark_plan(stored.plan, stored.rules),
                **{limit.key: thresholds.get(limit.key, limit.start) for limit in limits},
            },
        )
        self.limits = limits
        for limit in limits:
            self.fields[limit.key] = ThresholdField(limit)
        if not stored.versions:
            del self.fields["reason"]

    @property
    def thresholds(self) -> list[forms.BoundField]:
        return [self[limit.key] for limit in self.limits]

    def read_thresholds(self) -> dict[str, float]:
        """Return those that differ from what the software starts with."""
        known = {limit.key: self.cleaned_data[limit.key] for limit in self.limits}
        return {key: value for key, value in known.items() if value is not None}
