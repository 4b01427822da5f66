"""What limits the results of a study, for its summary: each by a code, with the facts of it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from evalsite.lib.words import list_of
from evalsite.results.models import Report
from evalsite.results.report.criterion_view import CriterionView, view_criteria
from evalsite.results.report.first_look import Look
from evalsite.results.report.folds import find_ceiling
from evalsite.results.report.sentences import write_sentence
from evalsite.results.report.verdicts import count_changes
from evalsite.studies.models import Study

# a share of one answer from which alpha says little, if AC2 is so much higher
_CEILING, _APART = 60, 0.3


@dataclass(frozen=True, kw_only=True)
class Limitation:
    """One entry of the list: `code` chooses its heading and the sentence, which tells `facts`."""

    code: str
    facts: dict[str, Any] = field(default_factory=dict)
    is_fine: bool = False
    part: str = ""  # the criterion whose page shows more

    @property
    def text(self) -> str:
        """Return what the template says under its heading."""
        if self.code == "warning":
            of = f"{list_of(self.facts['criteria'])}: " if self.facts["criteria"] else ""
            return of + str(self.facts["text"])
        return write_sentence({"code": self.code, "facts": self.facts})


@dataclass(frozen=True, kw_only=True)
class Collection:
    """How far collection is: answers so far, of those that are planned, and when results were first
    there."""

    done: int
    target: int
    look: Look | None = None
    has_ended: bool = False


def list_limitations(
    content: dict[str, Any], views: Sequence[CriterionView], collection: Collection
) -> list[Limitation]:
    """Return what a reader has to know, warnings of the report first."""
    return [
        *_list_warnings(content["kept"]),
        *_list_unfinished(collection),
        *_list_looks(collection.look, collection.target),
        *_list_raters_met(content.get("collection") or {}),
        *_list_ceilings(content["kept"]),
        *_list_agreement(content["kept"], views),
        *_list_unclear(views),
        *_list_exclusions(content),
        *_list_plan(content.get("plan") or {}),
    ]


# of a report that is a file: what its other sections say already
_ELSEWHERE = {"warning", "exclusions_change", "exclusions_change_nothing"}


def list_limits(report: Report) -> list[Limitation]:
    """Return what a reader of the report as a file has to know, as of its own moment."""
    content = report.content
    # reports of earlier versions don't say how far collection was
    collection = content.get("collection") or {"done": 0, "target": 0}
    found = list_limitations(
        content,
        view_criteria(content["kept"], content["all"]),
        Collection(
            done=collection["done"],
            target=collection["target"],
            look=Look.from_data(look) if (look := collection.get("look")) else None,
            has_ended=has_ended(report.study),
        ),
    )
    return [one for one in found if one.code not in _ELSEWHERE]


def _list_warnings(report: dict[str, Any]) -> Iterator[Limitation]:
    """Return the warnings of the report, each once, with the criteria that it is of."""
    labels = {one["key"]: one["label"] for one in report["criteria"]}
    found: dict[tuple[str, str], list[str]] = {}
    for one in report["warnings"]:
        criteria = found.setdefault((one["code"], write_sentence(one)), [])
        if one["criterion"] in labels:
            criteria.append(labels[one["criterion"]])
    for (code, text), criteria in found.items():
        yield Limitation(code="warning", facts={"about": code, "text": text, "criteria": criteria})


def has_ended(study: Study) -> bool:
    """Return whether nobody answers any more."""
    return study.state in (Study.State.CLOSED, Study.State.ARCHIVED)


def _list_unfinished(collection: Collection) -> Iterator[Limitation]:
    if collection.done < collection.target:
        facts = {"done": collection.done, "target": collection.target}
        code = "ended_early" if collection.has_ended else "unfinished"
        yield Limitation(code=code, facts=facts)


def _list_looks(look: Look | None, target: int) -> Iterator[Limitation]:
    """Return the first look, if more answers came or were asked for after it."""
    if look is not None and (look.answers < target or look.asked_later):
        facts = {
            "at": look.at.isoformat(),
            "answers": look.answers,
            "target": target,
            "later": look.asked_later,
            "is_revealed": look.is_revealed,
        }
        yield Limitation(code="early_look", facts=facts)


def _list_raters_met(collection: dict[str, Any]) -> Iterator[Limitation]:
    """Return raters from the study that this one repeats; earlier reports don't know of any."""
    if met := collection.get("met"):
        yield Limitation(code="raters_met", facts=met)


def _list_ceilings(report: dict[str, Any]) -> Iterator[Limitation]:
    for criterion in report["criteria"]:
        most = find_ceiling(criterion)
        known = {one["name"]: one["value"] for one in criterion["agreement"]}
        alpha, ac2 = known.get("alpha_ordinal"), known.get("ac2")
        if not most["is_end"] or most["percent"] < _CEILING or alpha is None or ac2 is None:
            continue
        if ac2 - alpha > _APART:
            facts = {
                "label": criterion["label"],
                "percent": most["percent"],
                "answer": most["answer"],
                "alpha": alpha,
                "ac2": ac2,
            }
            yield Limitation(code="ceiling", facts=facts)


def _list_agreement(report: dict[str, Any], views: Sequence[CriterionView]) -> Iterator[Limitation]:
    """Return the criterion with the lowest alpha, if its interval ends below all the others."""
    known = {one.key: one for one in views if one.alpha}
    first = {one["key"]: one["agreement"][0] for one in report["criteria"] if one["key"] in known}
    if len(first) < 2:
        return
    lowest = min(first, key=lambda key: first[key]["value"])
    high = first[lowest]["high"]
    if high is not None and all(high < one["value"] for key, one in first.items() if key != lowest):
        figure = first[lowest]
        facts = {
            "label": known[lowest].label,
            "alpha": figure["value"],
            "low": figure["low"],
            "high": high,
            "over": figure["details"].get("over"),
        }
        yield Limitation(code="lowest_agreement", facts=facts, part=lowest)


def _list_unclear(views: Sequence[CriterionView]) -> Iterator[Limitation]:
    for one in views:
        pair = next((pair for pair in one.pairs if pair.code == "not_enough"), None)
        if pair and pair.interval:
            facts = {
                "label": one.label,
                "first": pair.first,
                "second": pair.second,
                "unit": one.unit,
                "value": pair.value,
                "interval": pair.interval,
            }
            yield Limitation(code="not_equal", facts=facts)
            return


def _list_exclusions(content: dict[str, Any]) -> Iterator[Limitation]:
    if content["all"] is None:
        return
    others = {one["key"]: one for one in content["all"]["criteria"]}
    changes = [
        {"label": one["label"], "number": number}
        for one in content["kept"]["criteria"]
        if one["key"] in others and (number := count_changes(one, others[one["key"]]))
    ]
    code = "exclusions_change" if changes else "exclusions_change_nothing"
    yield Limitation(code=code, facts={"changes": changes} if changes else {}, is_fine=not changes)


def _list_plan(plan: dict[str, Any]) -> Iterator[Limitation]:
    """Return whether the plan came before the answers; late parts are warnings of the report."""
    moments = {name: one for name, one in (plan.get("moments") or {}).items() if name in _TESTED}
    if not moments:
        yield Limitation(code="no_plan")
    elif not any(one["answers"] for one in moments.values()):
        last = max(one["at"] for one in moments.values())
        code = "plan_first" if not plan.get("has_imported") else "plan_before_import"
        yield Limitation(code=code, facts={"at": last}, is_fine=code == "plan_first")


# of the plan, what decides results
_TESTED = ("exclusion_rule", "primary", "margins")
