"""What a study detects now and with further answers: from the projection of its last analysis."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, exp
from typing import Any

from evalsite.analysis.families import Family, find_family, name_unit
from evalsite.core.jobs.models import Job
from evalsite.results.document.figures import write_number
from evalsite.results.models import Report
from evalsite.results.power.design_search import FEW_RATERS
from evalsite.results.report.ahead import describe_settings
from evalsite.results.report.computation import KIND
from evalsite.studies.models import Study
from evalsite.studies.summary_lines import count_of, format_money

# while people can answer, and for the next study
_LABELS = {
    "now": "Stop here",
    "planned": "Collect all {target}, as planned",
    "fewest": "Add {sets}",
    "hundred": "Add {sets}",
    "one_more": "Add one more answer to every item",
    "inputs": "Add {inputs}",
}
_NEXT_LABELS = {
    "now": "The same design",
    "planned": "The same design, collected in full",
    "one_more": "One more answer to each item",
    "inputs": "{more_inputs}",
    "twice_inputs": "Twice the inputs",
    "twice_answers": "Twice the answers to each item",
}
# wider than planned by more than this is worth a look
_WIDER = 1.05


def find_projection(
    study: Study, report: Report | None, newest: Job | None
) -> dict[str, Any] | None:
    """Return what the last analysis that is done projected, if the report is the one shown.

    `newest`: the last analysis, done or not.
    """
    if report is None or newest is None:
        return None
    done: Job | None = newest
    if newest.state != Job.State.DONE:
        done = Job.objects.filter(study_id=study.pk, kind=KIND, state=Job.State.DONE).first()
    result = {} if done is None else done.result
    projection: dict[str, Any] | None = result.get("ahead")
    return projection if result.get("report") == str(report.pk) else None


@dataclass(frozen=True)
class Question:
    """A question whose comparisons were projected, and how its figures are written."""

    stored: Mapping[str, Any]  # of the report
    projected: Mapping[str, Any]

    @property
    def family(self) -> Family:
        return find_family(self.stored)

    @property
    def noun(self) -> str:
        return "ratio" if self.family.is_log else "difference"

    @property
    def smallest(self) -> float | None:
        """Return the smallest difference that matters by the plan."""
        smallest: float | None = self.projected["smallest"]
        return smallest

    @property
    def now(self) -> Mapping[str, Any] | None:
        """Return what is detected now; None: nothing is, whatever the difference."""
        now: Mapping[str, Any] | None = self.projected["now"]
        return now if now and now["detectable"] is not None else None

    def find(self, key: str) -> Mapping[str, Any] | None:
        options = (option for option in self.projected["options"] if option["key"] == key)
        return next((option for option in options if option["detectable"] is not None), None)

    def write_effect(self, size: float) -> str:
        """Write a difference with its unit: "0.82 points"; above the plan's if only by a digit."""
        number = _write(size, self.family)
        smallest = self.smallest
        if smallest is not None and size > smallest and number == _write(smallest, self.family):
            number = f"{size * 100:.1f}" if _is_share(self.family) else f"{size:.3f}"
        unit = _name_unit(self.stored)
        return f"{number} {unit.removesuffix('s') if number == '1' else unit}".strip()


def list_questions(report: Report, projection: Mapping[str, Any]) -> list[Question]:
    """List the questions that were projected, the primary one first as in the report."""
    projected = projection["criteria"]
    criteria = report.content["kept"]["criteria"]
    return [
        Question(criterion, projected[criterion["key"]])
        for criterion in criteria
        if criterion["key"] in projected
    ]


def say_reach(study: Study, question: Question, target: int) -> str:
    """Say what the study detects on this question; "" where it isn't known."""
    now, planned = question.now, question.find("planned")
    if now is None:
        return ""
    if question.smallest is not None and now["detectable"] <= question.smallest:
        smallest = question.write_effect(question.smallest)
        return f"Your plan’s {question.noun} of {smallest} is reached."
    if planned and not study.has_ended:
        effect = question.write_effect(planned["detectable"])
        return f"With all {target:,} answers, this study can detect a {question.noun} of {effect}."
    can = "can" if study.has_ended else "can now"
    effect = question.write_effect(now["detectable"])
    return f"This study {can} detect a {question.noun} of {effect}."


def list_precision(study: Study, questions: list[Question]) -> list[dict[str, Any]]:
    """List of each question how wide the interval of a comparison was to be and is, what is
    detected, and what the plan's difference would take."""
    plan = getattr(study, "size_plan", None)
    rows = []
    for question in questions:
        now, planned = question.projected["now"], None
        if plan is not None and plan.content.get("criterion") == question.stored["key"]:
            # the whole width of the interval
            planned = plan.content["width"] / 2 if "width" in plan.content else None
        later = question.find("planned")
        smallest, family = question.smallest, question.family
        rows.append(
            {
                "label": question.stored["label"],
                "role": question.stored.get("role", ""),
                "planned": "" if planned is None else _write_half(planned, family),
                "reached": _write_half(now["half"], family) if now else "",
                "is_wider": bool(now and planned and now["half"] > planned * _WIDER),
                "detects": question.write_effect(question.now["detectable"])
                if question.now
                else "",
                "later": "" if later is None else _write_half(later["half"], family),
                "smallest": "" if smallest is None else question.write_effect(smallest),
                "takes": _say_what_it_takes(question),
            }
        )
    return rows


def _say_what_it_takes(question: Question) -> str:
    if question.smallest is None:
        return ""
    if question.now and question.now["detectable"] <= question.smallest:
        return "reached"
    fewest = question.find("fewest")
    return count_of(fewest["sets"], "more set") if fewest else "more inputs"


def list_options(
    study: Study, question: Question, projection: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """List what could come next: what it takes, and what it detects."""
    labels = _NEXT_LABELS if study.has_ended else _LABELS
    now = question.projected["now"]
    options = [{"key": "now", "sets": 0, "answers": 0, "count": 0, **now}] if now else []
    settings = projection["settings"]
    rows = []
    for option in [*options, *question.projected["options"]]:
        if option["key"] not in labels:
            continue
        size = option["detectable"]
        label = labels[option["key"]].format(
            target=f"{settings['target']:,}",
            sets=count_of(option["sets"], "set"),
            inputs=count_of(option["count"], "input"),
            more_inputs=count_of(option["count"], "more input"),
        )
        answers, cost = _count_cost(study, question, settings, option)
        rows.append(
            {
                "label": label,
                "answers": answers,
                "cost": cost,
                "detects": "none" if size is None else question.write_effect(size),
                "meets": None not in (question.smallest, size) and size <= question.smallest,
            }
        )
    return rows


def _count_cost(
    study: Study, question: Question, settings: Mapping[str, Any], option: Mapping[str, Any]
) -> tuple[str, str]:
    """Return the answers and the cost of an option: of a next study all, else what is on top."""
    key, used, pay = option["key"], question.projected["used"], study.pay_per_set
    whole = max(settings["k"], ceil(settings["target"] / settings["size"]))
    sets = option["sets"]
    answers = f"{option['answers']:,} on top"
    if study.has_ended:
        answers, sets = f"{used + option['answers']:,}", whole + sets
    elif key == "now":
        answers = f"{used:,}"
    elif key == "planned":
        answers, sets = f"{option['answers']:,} to come", whole
    cost = format_money(sets * pay, study.currency) if pay and sets else ""
    if cost and not study.has_ended:
        cost += " in total" if key == "planned" else " on top"
    return answers, cost


def describe_notes(
    study: Study, report: Report, question: Question, projection: Mapping[str, Any], target: int
) -> dict[str, Any]:
    """Return what the figures rest on, and why some aren't known."""
    raters, now = report.content["kept"]["data"]["participants"], question.now
    alone = None if now is None else now["alone"]
    return {
        "why": question.projected["why"],
        "tests": question.projected["tests"],
        "alone": "" if alone is None else question.write_effect(alone),
        "raters": raters,
        "has_few_raters": raters < FEW_RATERS,
        "load": projection["load"],
        "size": projection["settings"]["size"],
        "is_current": projection["settings"] == describe_settings(study, target),
    }


def _is_share(family: Family) -> bool:
    return family.compares or family.decides


def _name_unit(criterion: Mapping[str, Any]) -> str:
    family = find_family(criterion)
    if family.is_log:
        return ""
    return "percentage points" if _is_share(family) else name_unit(criterion)


def _write(size: float | None, family: Family) -> str:
    if size is None:
        return "–"
    return f"{size * 100:.0f}" if _is_share(family) else write_number(size, "points")


def _write_half(half: float, family: Family) -> str:
    if family.is_log:
        return f"× {exp(half):.2f}"
    return f"±{half * 100:.0f}" if _is_share(family) else f"±{write_number(half, 'points')}"
