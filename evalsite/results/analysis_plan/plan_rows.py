"""The rows of a plan: its questions, and the conditions of its rules, as formsets."""

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from django import forms
from django.db.models import Value

from evalsite.analysis.families import FAMILIES, get_family
from evalsite.decisions.exclusion_rules import COMPARISONS, MEASURES, describe_rule
from evalsite.decisions.models import DIFFERENCES
from evalsite.instruments.schema import Criterion
from evalsite.results.analysis_plan.stored import Stored, list_analysed
from evalsite.studies.models import Study

RELATIONS = {
    "better": "is better than",
    "not_worse": "is not worse than",
    "equivalent": "is equivalent to",
    "differs": "differs from",
}
MOST = 20
# digits that a keyboard has, and nothing else that Python takes for a number
_NUMBER = re.compile(r"[-−]?[0-9]{1,6}([.,][0-9]{1,4})?")
# rows count from 1
_ACT = re.compile(r"([a-z]+(?:-[a-z]+)*?)(?:-([1-9][0-9]?))?")
_NO_DIRECTION = (
    "Nothing says which values of this question are better. Choose “differs from” or “is "
    "equivalent to”."
)
_NO_MARGIN = (
    "Answers to this question put outputs in order, so there are no points that a margin could be "
    "given in. Choose “is better than” or “differs from”."
)
Row = dict[str, Any]


def _select(label: str) -> Any:
    return forms.Select(attrs={"class": "auto", "aria-label": label})


def _input(label: str) -> Any:
    attrs = {"class": "num", "size": 5, "inputmode": "decimal", "aria-label": label}
    return forms.TextInput(attrs=attrs)


class RowForm(forms.Form):
    """A row whose fields are all checked together: an empty row is no mistake."""

    use_required_attribute = False

    def read_raw(self) -> Row:
        """Return what the row holds, as typed."""
        return {name: self[name].value() or "" for name in self.fields}

    def check(self, holds: bool, name: str, words: str) -> None:
        if not holds and name not in self.errors:
            self.add_error(name, words)


class QuestionForm(RowForm):
    """One planned question: a system, a claim, another system, on what, by how much."""

    system = forms.CharField(required=False, widget=_select("System"))
    relation = forms.CharField(required=False, widget=_select("Claim"))
    other = forms.CharField(required=False, widget=_select("Compared with"))
    criterion = forms.CharField(required=False, widget=_select("Question people are asked"))
    margin = forms.CharField(required=False, max_length=20, widget=_input("Margin"))

    def __init__(
        self, *args: Any, systems: Sequence[str], criteria: Sequence[Criterion], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.systems, self.criteria = systems, {criterion.key: criterion for criterion in criteria}
        names = [("", "Choose…"), *((name, name) for name in systems)]
        for name, choices in (
            ("system", names),
            ("relation", list(RELATIONS.items())),
            ("other", names),
            ("criterion", [(criterion.key, criterion.label) for criterion in criteria]),
        ):
            self.fields[name].widget.choices = choices

    @property
    def is_share(self) -> bool:
        criterion = self._criterion
        return criterion is not None and _is_share(criterion)

    @property
    def compares(self) -> bool:
        criterion = self._criterion
        return criterion is not None and criterion.scale.compares

    @property
    def unit(self) -> str:
        """Return the unit of the margin."""
        criterion = self._criterion
        if criterion is None or criterion.scale.kind == "number":
            return ""
        return "times" if FAMILIES[criterion.family].is_log else "points"

    @property
    def _criterion(self) -> Criterion | None:
        return self.criteria.get(self["criterion"].value() or "")

    def clean(self) -> Row:
        # a field with a fault leaves the cleaned data
        row = dict(super().clean() or {})
        if not any(row.get(name) for name in ("system", "other", "margin")):
            return {}
        self.check(row.get("system") in self.systems, "system", "Choose a system.")
        self.check(row.get("other") in self.systems, "other", "Choose a system.")
        is_other = row.get("system") != row.get("other")
        self.check(is_other, "other", "Choose two different systems.")
        self.check(row.get("relation") in RELATIONS, "relation", "Choose a claim.")
        criterion = self.criteria.get(row.get("criterion", ""))
        self.check(criterion is not None, "criterion", "Choose a question.")
        if criterion is None:
            return {}
        if row["relation"] in ("better", "not_worse"):
            self.check(_has_better(criterion), "relation", _NO_DIRECTION)
        meant = {name: row.get(name) for name in ("criterion", "system", "relation", "other")}
        if row["relation"] not in DIFFERENCES:
            self.check(not FAMILIES[criterion.family].orders, "relation", _NO_MARGIN)
            meant["margin"] = self._read_margin(criterion, row.get("margin", ""))
        return meant

    def _read_margin(self, criterion: Criterion, text: str) -> float:
        family, half = FAMILIES[criterion.family], _find_half(criterion)
        is_share = _is_share(criterion)
        margin = read_number(text)
        words = ""
        if margin is None or margin <= 0:
            words = "Enter the margin, a number above 0 such as 0.3."
        elif family.is_log and not 1 < margin <= 2:
            words = "Enter a ratio above 1 and at most 2, such as 1.2."
        elif is_share and margin >= 50:
            words = "Enter less than 50 points."
        elif not (is_share or family.is_log) and half is not None and margin >= half:
            words = f"Enter less than {half:g}: half of the scale."
        self.check(not words, "margin", words)
        return 0 if margin is None else margin / 100 if is_share else margin


class ConditionForm(RowForm):
    """One condition of a rule; the rule holds if all of its conditions do."""

    rule = forms.IntegerField(required=False, min_value=1, max_value=MOST, widget=forms.HiddenInput)
    measure = forms.CharField(required=False, widget=_select("Measure"))
    comparison = forms.CharField(required=False, widget=_select("Comparison"))
    threshold = forms.CharField(required=False, max_length=20, widget=_input("Threshold"))

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        measures = [("", "Choose…"), *((key, measure.label) for key, measure in MEASURES.items())]
        self.fields["measure"].widget.choices = measures
        self.fields["comparison"].widget.choices = list(COMPARISONS.items())

    @property
    def number(self) -> int:
        """Return the number of its rule."""
        text = str(self["rule"].value() or "1")
        return int(text) if re.fullmatch(r"[1-9][0-9]?", text) else 1

    def clean(self) -> Row:
        # a field with a fault leaves the cleaned data
        row = dict(super().clean() or {})
        measure = MEASURES.get(row.get("measure", ""))
        threshold = read_number(row.get("threshold", ""))
        self.check(measure is not None, "measure", "Choose what is measured.")
        is_known = row.get("comparison") in COMPARISONS
        self.check(is_known, "comparison", "Choose a comparison.")
        if measure is not None:
            whole = " whole" if measure.is_whole else ""
            fits = (
                threshold is not None
                and measure.least <= threshold <= measure.most
                and (not measure.is_whole or threshold == int(threshold))
            )
            ends = f"{measure.least:g} to {measure.most:,g}".replace("-", "−")
            self.check(fits, "threshold", f"Enter a{whole} number from {ends}.")
        return row | {"threshold": threshold or 0}


_Questions: Any = forms.formset_factory(
    QuestionForm, extra=0, max_num=MOST, absolute_max=MOST, validate_max=True
)
_Conditions: Any = forms.formset_factory(
    ConditionForm, extra=0, max_num=5 * MOST, absolute_max=5 * MOST, validate_max=True
)


def _list_names(study: Study) -> tuple[list[str], set[tuple[str, str]]]:
    """Return the systems, and the judges with the versions of their prompts, in one query."""
    systems = study.systems.order_by().annotate(of=Value("system"), prompt_version=Value(""))
    judges = study.judges.order_by().annotate(of=Value("judge"))
    columns = ("of", "name", "prompt_version")
    rows = list(systems.values_list(*columns).union(judges.values_list(*columns)))
    names = sorted(name for of, name, _ in rows if of == "system")
    return names, {(name, prompt) for of, name, prompt in rows if of == "judge"}


class PlanRows:
    """Questions and rules as they are saved or posted, and what they mean."""

    def __init__(self, study: Study, stored: Stored, data: Any = None) -> None:
        self.study = study
        self.criteria = list_analysed(study)
        self.systems, self.judges = _list_names(study)
        saved = [*stored.plan.hypotheses, *stored.plan.margins]
        questions = [{**question, "margin": show_margin(study, question)} for question in saved]
        conditions = [
            {**condition, "rule": number, "threshold": f"{condition['threshold']:g}"}
            for number, rule in enumerate(stored.rules, start=1)
            for condition in rule
        ]
        self._make(questions, conditions, data)

    def _make(self, questions: Sequence[Row], conditions: Sequence[Row], data: Any = None) -> None:
        self.questions = _Questions(
            data,
            prefix="question",
            # there is always a sentence to fill in
            initial=list(questions) or [{}],
            form_kwargs={
                "systems": self.systems, "criteria": self.criteria, "empty_permitted": False,
            },
        )  # fmt: skip
        self.conditions = _Conditions(
            data,
            prefix="condition",
            initial=list(conditions),
            form_kwargs={"empty_permitted": False},
        )

    def act(self, do: str) -> bool:
        """Add or remove a row: "add-question", "remove-rule-2", "and-1", "drop-3"; tell whether
        that was asked for. Nothing is checked then."""
        match = _ACT.fullmatch(do)
        act, number = (match[1], int(match[2] or 0)) if match else ("", 0)
        questions = [form.read_raw() for form in self.questions]
        conditions = [form.read_raw() | {"rule": form.number} for form in self.conditions]
        rules = [row["rule"] for row in conditions]
        match act:
            case "add-question":
                questions.append({})
            case "remove-question":
                questions = _without(questions, number)
            case "add-rule":
                conditions.append({"rule": max(rules, default=0) + 1})
            case "remove-rule":
                conditions = [row for row in conditions if row["rule"] != number]
            case "and":
                conditions += [{"rule": number}] if number in rules else []
            case "drop":
                conditions = _without(conditions, number)
            case _:
                return False
        # rules are numbered without gaps
        order = sorted({row["rule"] for row in conditions})
        conditions = sorted(
            ({**row, "rule": order.index(row["rule"]) + 1} for row in conditions),
            key=lambda row: row["rule"],
        )
        self._make(questions[:MOST], conditions[: 5 * MOST])
        return True

    def is_valid(self) -> bool:
        return bool(self.questions.is_valid() and self.conditions.is_valid())

    @property
    def meant(self) -> list[Row]:
        """Return the questions that are whole, of posted rows and of saved ones."""
        forms_ = self.questions.forms
        if not self.questions.is_bound:
            forms_ = [
                QuestionForm(form.read_raw(), systems=self.systems, criteria=self.criteria)
                for form in forms_
            ]
        return [form.cleaned_data for form in forms_ if form.is_valid() and form.cleaned_data]

    def read_rules(self) -> list[list[Row]]:
        """Return the rules of valid rows."""
        rules: dict[int, list[Row]] = {}
        for form in self.conditions:
            row = form.cleaned_data
            kept = {name: row[name] for name in ("measure", "comparison", "threshold")}
            rules.setdefault(form.number, []).append(kept)
        return [rules[number] for number in sorted(rules)]

    @property
    def rules(self) -> list[Row]:
        """Return each rule as the page shows it: its sentence, once it has one, and its rows."""
        grouped: dict[int, list[tuple[int, ConditionForm]]] = {}
        for place, form in enumerate(self.conditions, start=1):
            grouped.setdefault(form.number, []).append((place, form))
        return [
            {"sentence": _describe([form for _, form in rows]), "conditions": rows}
            for _, rows in sorted(grouped.items())
        ]

    @property
    def named_errors(self) -> list[tuple[str, str]]:
        """Return each error by the id of its field, with the row that holds it."""
        errors_by_id = []
        for rows, name in ((self.questions, "Question"), (self.conditions, "Rule")):
            for place, form in enumerate(rows.forms, start=1):
                number = form.number if name == "Rule" else place
                errors_by_id += [
                    (form[field].id_for_label, f"{name} {number}: {error}")
                    for field, errors in form.errors.items()
                    for error in errors
                    if field in form.fields
                ]
        return errors_by_id


def _describe(rows: Sequence[ConditionForm]) -> str:
    """Return the rule in words; "" as long as a condition lacks something."""
    probes = [ConditionForm(form.read_raw()) for form in rows]
    if not all(probe.is_valid() for probe in probes):
        return ""
    return describe_rule([probe.cleaned_data for probe in probes])


def _without(rows: list[Row], number: int) -> list[Row]:
    return [row for place, row in enumerate(rows, start=1) if place != number]


def read_number(text: str) -> float | None:
    if not _NUMBER.fullmatch(text):
        return None
    try:
        return float(Decimal(text.replace("−", "-").replace(",", ".")))
    except InvalidOperation:
        return None


def _has_better(criterion: Criterion) -> bool:
    """Tell whether one of two systems can be the better one."""
    return criterion.scale.compares or criterion.direction in ("higher", "lower")


def _is_share(criterion: Criterion) -> bool:
    family = get_family(criterion.family)
    return family.compares or family.decides


def _find_half(criterion: Criterion) -> float | None:
    """Return half of the range of the scale, which a margin has to stay below; None without."""
    if FAMILIES[criterion.family].name == "shares":
        return 0.5
    ends = criterion.scale.minimum, criterion.scale.maximum
    return None if None in ends else (ends[1] - ends[0]) / 2


def show_margin(study: Study, row: Mapping[str, Any]) -> str:
    if "margin" not in row:
        return ""
    find: Callable[[str], Criterion | None] = {
        criterion.key: criterion for criterion in study.config.criteria
    }.get
    criterion = find(row["criterion"])
    times = 100 if criterion is not None and _is_share(criterion) else 1
    return f"{row['margin'] * times:g}"
