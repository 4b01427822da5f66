"""What a researcher asks of the planner."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from evalsite.analysis.families import Planner, get_family
from evalsite.analysis.plan import Plan
from evalsite.decisions.frozen_plans import plan_of
from evalsite.instruments.schema import Criterion
from evalsite.results.models import Report
from evalsite.results.power.design_search import FEW_RATERS, count_most_items, list_models
from evalsite.results.power.words import PLANNERS, SOURCES, UNPLANNED
from evalsite.results.progress import count_edge
from evalsite.studies.models import Study

MOST_DESIGNS = 24
# each takes several simulations, and other jobs wait
MOST_SEARCHES = 12
_RESULTS = "results"
_IN_OUR_WORDS = {
    "max_digits": "Enter fewer digits.",
    "max_whole_digits": "Enter a smaller number.",
    "max_decimal_places": "Enter fewer decimal places.",
    "min_value": "Enter %(limit_value)s or more.",
    "max_value": "Enter %(limit_value)s or less.",
}


def _choose(words: str) -> dict[str, str]:
    return {"required": words, "invalid_choice": words}


class NumbersField(forms.CharField):
    """Whole numbers with commas between them, smallest first, none twice."""

    def __init__(self, *, least: int, most: int, **kwargs: Any) -> None:
        super().__init__(max_length=100, **kwargs)
        self.least, self.most = least, most
        self.widget.attrs |= {"inputmode": "text", "autocomplete": "off"}

    def clean(self, value: Any) -> list[int]:
        text = super().clean(value)
        words = text.replace(",", " ").replace(";", " ").split()
        if not all(word.isascii() and word.isdigit() and len(word) < 7 for word in words):
            raise ValidationError("Enter whole numbers with commas between them, such as 6, 12.")
        numbers = sorted({int(word) for word in words})
        if any(not self.least <= number <= self.most for number in numbers):
            raise ValidationError(f"Enter numbers from {self.least} to {self.most:,}.")
        return numbers


class PlannerForm(forms.Form):
    """A difference to find, how much ratings vary, and the designs that come into question."""

    criterion = forms.ChoiceField(error_messages=_choose("Choose a criterion."))
    difference = forms.DecimalField(max_digits=7, decimal_places=3)
    source = forms.ChoiceField(
        label="How much ratings vary",
        error_messages=_choose("Choose where the variation comes from."),
    )
    raters = NumbersField(
        label="People",
        least=2,
        most=300,
        help_text="One number or several, such as 6, 12, 24. Below 5, no test can be trusted.",
        error_messages={"required": "Enter how many people may take part, such as 6, 12."},
    )
    per_output = NumbersField(
        label="Ratings of each output",
        least=1,
        most=300,
        help_text="One number or several. The study asks for as many answers per item.",
        error_messages={"required": "Enter how many ratings each output gets, such as 3, 5."},
    )
    items = NumbersField(
        label="Inputs",
        least=2,
        most=10_000,
        required=False,
        help_text="Different inputs, each with an output of every system. "
        "Left empty: the fewest that are enough are looked for.",
    )
    systems = forms.IntegerField(
        min_value=2,
        max_value=50,
        help_text="One differs from the others, which are equal. All are rated, and paid for.",
        error_messages={"required": "Enter how many systems the study has: 2 or more."},
    )
    ties = forms.IntegerField(
        label="Ties between equal outputs, in %",
        min_value=0,
        max_value=95,
        error_messages={"required": "Enter a share of ties from 0 to 95."},
    )
    price = forms.DecimalField(
        required=False,
        min_value=0,
        max_digits=8,
        decimal_places=2,
        help_text="Left empty: no cost is worked out.",
    )

    def __init__(self, *args: Any, study: Study, report: Report | None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.study, self.report = study, report
        self.criteria = list_criteria(study)
        self.models = list_models(study, report)
        planners = list_planners_of(self.criteria)
        self._choose_criteria()
        self._name_difference(planners)
        self._list_sources(planners)
        self.fields["price"].label = f"Price of a set of {study.set_size}, in {study.currency}"
        if not any(planner.has_ties for planner in planners):
            del self.fields["ties"]
        for field in self.fields.values():
            field.error_messages = {**_IN_OUR_WORDS, **field.error_messages}
        self.initial = {**_begin(study, planners), **self.initial}

    def _choose_criteria(self) -> None:
        choices = [(criterion.key, criterion.label) for criterion in self.criteria]
        self.fields["criterion"].choices = choices  # type: ignore[attr-defined]
        if len(choices) < 2:
            self.fields["criterion"].widget = forms.HiddenInput()
        if len(self.criteria) < len(self.study.config.criteria):
            families = [get_family(criterion.family) for criterion in self.study.config.criteria]
            words = dict.fromkeys(
                UNPLANNED[family.name] for family in families if not family.planner
            )
            self.fields["criterion"].help_text = " ".join(words)

    def _name_difference(self, planners: list[Planner]) -> None:
        self.fields["difference"].label = "; or ".join(
            PLANNERS[planner.simulation].question for planner in planners
        )
        self.fields["difference"].error_messages |= {
            "required": "Enter the smallest difference that would matter to you.",
            "invalid": f"Enter a number, such as {planners[0].example}." if planners else "",
        }

    def _list_sources(self, planners: list[Planner]) -> None:
        choices = [
            (source.key, SOURCES[planner.simulation, source.key][0])
            for planner in planners
            for source in planner.sources
        ]
        if any(criterion.key in self.models for criterion in self.criteria):
            # the best is first, and is chosen
            choices.insert(
                len(choices) if self._has_few_raters else 0, (_RESULTS, "The results of this study")
            )
        self.fields["source"].choices = choices  # type: ignore[attr-defined]
        self.fields["source"].help_text = self._advise(planners)

    def _advise(self, planners: list[Planner]) -> str:
        """Return which source to choose, of those that there are."""
        if self._has_few_raters:
            all_few = max(self._list_raters()) < FEW_RATERS
            return (
                f"Your own results are best from {FEW_RATERS} people on. "
                f"{'They rest' if all_few else 'Those of some criteria rest'} on fewer, "
                "too few to tell how much people differ."
            )
        if self.models:
            return "Your own results are best, even those of a small study."
        if not any(planner.shows_spread for planner in planners):
            return " ".join(PLANNERS[planner.simulation].no_results for planner in planners)
        if self.report is not None:
            return (
                "Your results can't show it yet: that takes at least two systems, and at least "
                "two raters with several inputs each."
            )
        return "Your own results are best, even those of a small study: compute them first."

    @property
    def _has_few_raters(self) -> bool:
        """Whether the results rest on so few people that typical values tell more."""
        return min(self._list_raters(), default=FEW_RATERS) < FEW_RATERS

    def _list_raters(self) -> list[int]:
        return [model["raters"] for model in self.models.values() if model["raters"] is not None]

    def clean_difference(self) -> float:
        """Return the difference as the analysis takes it; the field is read after the criterion."""
        asked = float(self.cleaned_data["difference"])
        criterion = self._criterion
        if criterion is None:
            return asked
        planner, widest = get_planner(criterion), criterion.scale.maximum - criterion.scale.minimum
        difference = planner.read_difference(asked, widest)
        if difference is None:
            refusal = PLANNERS[planner.simulation].refusal
            raise ValidationError(refusal.format(widest=widest))
        return difference

    def clean_source(self) -> str:
        source, criterion = self.cleaned_data["source"], self._criterion
        if criterion is None:
            return str(source)
        if source == _RESULTS and criterion.key not in self.models:
            raise ValidationError(
                f"The results hold no variances of {criterion.label}. Choose another source."
            )
        known = {entry.key for entry in get_planner(criterion).sources}
        if source != _RESULTS and source not in known:
            raise ValidationError(f"That is not known of {criterion.label}. Choose another source.")
        return str(source)

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if self.errors:
            return values
        raters, per_output, items = values["raters"], values["per_output"], values["items"]
        if per_output[0] > raters[-1]:
            self.add_error("per_output", f"So many ratings need {per_output[0]} people or more.")
        most = MOST_DESIGNS if items else MOST_SEARCHES
        if len(raters) * len(per_output) * max(len(items), 1) > most:
            self.add_error(None, f"These are more than {most} designs. Enter fewer numbers.")
        most_items = count_most_items(raters[-1], values["systems"])
        if items and items[-1] > most_items:
            self.add_error(
                "items",
                f"With {raters[-1]} people and {values['systems']} systems, "
                f"enter {most_items:,} or fewer.",
            )
        return values

    @property
    def choice(self) -> dict[str, Any]:
        """All that the job needs, as plain data."""
        values, criterion = self.cleaned_data, self._criterion
        assert criterion is not None  # the form is valid
        planner = get_planner(criterion)
        is_own = values["source"] == _RESULTS
        return {
            "criterion": criterion.key,
            "scale": planner.simulation,
            "points": count_points(criterion) if planner.has_points else 0,
            "difference": values["difference"],
            "asked": str(self.data["difference"]).strip(),
            "source": values["source"],
            "model": _take(self.models[criterion.key]) if is_own else None,
            "tie_share": values.get("ties", 0) / 100,
            "raters": values["raters"],
            "per_output": values["per_output"],
            "items": values["items"],
            "systems": values["systems"],
            **self._plan_tests(criterion, values["systems"]),
            "price": None if values["price"] is None else str(values["price"]),
        }

    def _plan_tests(self, criterion: Criterion, systems: int) -> dict[str, Any]:
        """Return what the analysis plan compares, and how many tests it corrects for."""
        decided = plan_of(self.study)
        every = systems * (systems - 1) // 2
        named = Plan.read({"hypotheses": decided.hypotheses})
        family = {
            other_criterion.key: min(len(named.of(other_criterion.key, []).named), every)
            for other_criterion in self.study.config.criteria
        }
        tests = family.pop(criterion.key)
        other_tests = [] if decided.primary else family.values()
        return {
            "comparisons": tests or every,
            **({"named": tests} if tests else {}),
            "further_tests": sum(entry or every for entry in other_tests),
        }

    @property
    def _criterion(self) -> Criterion | None:
        key = self.cleaned_data.get("criterion")
        return next((criterion for criterion in self.criteria if criterion.key == key), None)


class DesignForm(forms.Form):
    """The design of a finished plan that is kept, by its number; cleaned to its row."""

    design = forms.IntegerField(
        min_value=0,
        error_messages=dict.fromkeys(
            ("required", "invalid", "min_value"),
            "This plan has no such design. Choose one of its rows.",
        ),
    )

    def __init__(self, *args: Any, rows: list[dict[str, Any]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.rows = rows

    def clean_design(self) -> dict[str, Any]:
        number: int = self.cleaned_data["design"]
        if number >= len(self.rows):
            raise ValidationError("This plan has no such design. Choose one of its rows.")
        return self.rows[number]


def list_criteria(study: Study) -> list[Criterion]:
    """Return the criteria that can be planned."""
    return [
        criterion for criterion in study.config.criteria if get_family(criterion.family).planner
    ]


def get_planner(criterion: Criterion) -> Planner:
    """Return how a criterion is planned that can be."""
    planner = get_family(criterion.family).planner
    assert planner is not None
    return planner


def list_planners_of(criteria: Iterable[Criterion]) -> list[Planner]:
    """Return how these criteria are planned, each way once."""
    planners = {criterion.simulation: criterion for criterion in map(get_planner, criteria)}
    return list(planners.values())


def count_points(criterion: Criterion) -> int:
    scale = criterion.scale
    return len(scale.list_answers()) or int(scale.maximum - scale.minimum) + 1


def show_choice(choice: dict[str, Any]) -> dict[str, Any]:
    """Return what the form showed when this was chosen."""
    lists = {name: ", ".join(map(str, choice[name])) for name in ("raters", "per_output", "items")}
    return {
        **lists,
        **{name: choice[name] for name in ("criterion", "source", "systems", "price")},
        "difference": choice["asked"],
        "ties": round(choice["tie_share"] * 100),
    }


def _begin(study: Study, planners: list[Planner]) -> dict[str, Any]:
    return {
        "criterion": next((criterion.key for criterion in list_criteria(study)), ""),
        "difference": planners[0].example if planners else "",
        "raters": "6, 12, 24",
        "per_output": f"{study.k}, {study.k + 2}",
        "systems": max(count_edge(study).systems, 2),
        "ties": 30,
        "price": study.pay_per_set,
    }


def _take(model: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of a report's model that a plan is made of."""
    return {
        "variances": model["variances"],
        "residual": model["residual"],
        "is_merged": "group:system" in model.get("dropped", {}),
        "simulated": model.get("simulated", 0),
        "raters": model.get("raters"),
    }
