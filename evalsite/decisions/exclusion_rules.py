"""Exclusion rules as data: what they say, who meets them, and what applying them leaves out."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from statistics import StatisticsError, mean, median, stdev
from typing import Any

from evalsite.decisions.models import ExclusionRule
from evalsite.decisions.person_measures import Measures
from evalsite.studies.models import Study

# one condition: measure, comparison and threshold
Condition = Mapping[str, Any]

COMPARISONS = {
    "at_least": "at least",
    "over": "over",
    "at_most": "at most",
    "under": "under",
}


@dataclass(frozen=True, kw_only=True)
class Measure:
    """What a condition compares with its threshold, how people read it, and what it may be."""

    label: str
    # with {compare} and {n}
    sentence: str
    least: float = 0
    most: float = 1000
    is_whole: bool = False
    # what there is none of if nobody can be tested
    lacks: str = ""


MEASURES = {
    "failed_checks": Measure(
        label="Failed checks, number", sentence="fails {compare} {n} checks", is_whole=True,
        lacks="no checks",
    ),
    "failed_checks_percent": Measure(
        label="Failed checks, % of them", sentence="fails {compare} {n}% of the checks", most=100,
        lacks="no checks",
    ),
    "failed_attention": Measure(
        label="Failed attention checks, number", sentence="fails {compare} {n} attention checks",
        is_whole=True, lacks="no attention checks",
    ),
    "failed_attention_percent": Measure(
        label="Failed attention checks, % of them",
        sentence="fails {compare} {n}% of the attention checks", most=100,
        lacks="no attention checks",
    ),
    "seconds_percent": Measure(
        label="Median time, % of the study’s median",
        sentence="median time {compare} {n}% of the study’s median", lacks="no times",
    ),
    "seconds_sd": Measure(
        label="Median time, SD below the mean",
        sentence="median time {compare} {n} SD below the mean", most=10, lacks="too few times",
    ),
    "seconds": Measure(
        label="Median time, seconds", sentence="median time {compare} {n} s", most=100_000,
        lacks="no times",
    ),
    "top_share": Measure(
        label="Most used point, % of answers", sentence="one point in {compare} {n}% of answers",
        most=100, lacks="no answers",
    ),
    "answers": Measure(
        label="Answers, number", sentence="{compare} {n} answers", is_whole=True, most=100_000,
        lacks="no answers",
    ),
    "agreement": Measure(
        label="Agreement with the others, −1 to 1",
        sentence="agreement {compare} {n}", least=-1, most=1, lacks="no outputs in common",
    ),
}  # fmt: skip


def describe_rule(conditions: Sequence[Condition]) -> str:
    """Return the rule in words, such as "Fails at least 2 checks"."""
    keys = [condition["measure"] for condition in conditions]
    rest = list(conditions)
    parts = []
    if keys == ["top_share", "answers"]:
        share, answers = conditions
        parts.append(f"one point in {_compare(share)} of {_compare(answers, 'answers')} answers")
        rest = []
    parts += [_describe_condition(condition) for condition in rest]
    words = ", and ".join(parts) if len(parts) > 1 else parts[0]
    return f"{words[:1].upper()}{words[1:]}"


def _compare(condition: Condition, key: str = "top_share") -> str:
    percent = "%" if key == "top_share" else ""
    return f"{COMPARISONS[condition['comparison']]} {_write(condition['threshold'])}{percent}"


def _describe_condition(condition: Condition) -> str:
    measure, number = MEASURES[condition["measure"]], _write(condition["threshold"])
    compare = COMPARISONS[condition["comparison"]]
    if condition["measure"] == "seconds_sd" and condition["comparison"] == "over":
        compare = "more than"
    words = measure.sentence.format(compare=compare, n=number)
    if condition["threshold"] == 1:
        words = words.replace("1 checks", "1 check").replace(
            "1 attention checks", "1 attention check"
        )
        words = words.replace("1 answers", "1 answer")
    return words


def _write(number: float) -> str:
    text = f"{number:g}"
    if 0 < abs(number) < 1:
        text = text.replace("0.", ".", 1)
    return text.replace("-", "−")


# --- who meets them -----------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Pool:
    """What times are like in the study: the figures that some conditions compare with."""

    median: float | None
    mean: float | None
    sd: float | None

    @classmethod
    def of(cls, people: Collection[Measures]) -> "_Pool":
        times = [person.seconds for person in people if person.seconds is not None]
        try:
            sd = stdev(times)
        except StatisticsError:
            sd = None
        return cls(
            median=median(times) if times else None, mean=mean(times) if times else None, sd=sd
        )


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Who meets a rule, and what leaving them out would cost."""

    sentence: str
    rule: ExclusionRule | None
    people: dict[int, Measures]
    untested: str = ""  # why nobody could be tested

    @property
    def answers(self) -> int:
        return sum(len(measures.items) for measures in self.people.values())

    @property
    def items(self) -> set[int]:
        return set().union(*(measures.items for measures in self.people.values()))


def run_rules(
    rules: Sequence[ExclusionRule | Sequence[Condition]], people: Mapping[int, Measures]
) -> list[Outcome]:
    """Return who meets each of these rules."""
    pool = _Pool.of(list(people.values()))
    outcomes = []
    for rule in rules:
        stored = rule if isinstance(rule, ExclusionRule) else None
        conditions = rule.conditions if isinstance(rule, ExclusionRule) else rule
        lacks = [
            MEASURES[condition["measure"]].lacks
            for condition in conditions
            if all(
                _measure(condition["measure"], person, pool) is None for person in people.values()
            )
        ]
        met = {
            pk: person
            for pk, person in people.items()
            if all(_is_met(condition, person, pool) for condition in conditions)
        }
        outcomes.append(
            Outcome(
                sentence=describe_rule(conditions),
                rule=stored,
                people=met,
                untested=lacks[0] if lacks else "",
            )
        )
    return outcomes


def join_outcomes(outcomes: Sequence[Outcome]) -> Outcome:
    """Return what all of these rules leave out together: each person once."""
    people: dict[int, Measures] = {}
    for outcome in outcomes:
        people |= outcome.people
    return Outcome(sentence="Any of these rules", rule=None, people=people)


def _is_met(condition: Condition, person: Measures, pool: _Pool) -> bool:
    value, line = _measure(condition["measure"], person, pool), condition["threshold"]
    if value is None:
        return False
    match condition["comparison"]:
        case "at_least":
            return value >= line
        case "over":
            return value > line
        case "at_most":
            return value <= line
        case _:
            return value < line


def _measure(key: str, person: Measures, pool: _Pool) -> float | None:
    """Return the figure that a condition compares, rounded as people would add it up."""
    match key:
        case "failed_checks":
            return person.failed_checks if person.checks else None
        case "failed_checks_percent":
            return _share(person.failed_checks, person.checks)
        case "failed_attention":
            return person.failed_attention if person.attention else None
        case "failed_attention_percent":
            return _share(person.failed_attention, person.attention)
        case "answers":
            return person.answers
        case "top_share":
            return None if person.top_share is None else round(100 * person.top_share, 6)
        case "agreement":
            return person.agreement
    return _measure_time(key, person.seconds, pool)


def _measure_time(key: str, seconds: float | None, pool: _Pool) -> float | None:
    if seconds is None:
        return None
    if key == "seconds":
        return seconds
    if key == "seconds_percent":
        return round(100 * seconds / pool.median, 6) if pool.median else None
    return (pool.mean - seconds) / pool.sd if pool.mean is not None and pool.sd else None


def _share(part: int, whole: int) -> float | None:
    return round(100 * part / whole, 6) if whole else None


# --- keeping them -------------------------------------------------------------------------


def list_rules(study: Study) -> list[ExclusionRule]:
    """Return the rules as they are now."""
    return list(ExclusionRule.objects.current().filter(study=study))


def list_conditions(study: Study) -> list[list[dict[str, Any]]]:
    """Return the rules as they are now, as plain data."""
    return [list(rule.conditions) for rule in list_rules(study)]
