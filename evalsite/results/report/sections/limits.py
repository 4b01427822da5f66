"""What a reader has to know before citing: at most five warnings, and what is fine."""

from collections.abc import Callable, Iterator
from datetime import datetime

from evalsite.analysis.figure import write_coefficient
from evalsite.lib.words import count_of, list_of
from evalsite.results.document.blocks import Block, Heading, Sentence, isolate
from evalsite.results.document.figures import (
    make_figure,
    read_figure,
    write_figure,
    write_interval,
    write_value,
)
from evalsite.results.report.sections.findings import describe_finding
from evalsite.results.report.sections.words import list_notes, name_label, say_p
from evalsite.results.report.source import Criterion, Source, Stored

_MOST = 5
_FEW_PEOPLE = 5
_CEILING, _APART = 0.6, 0.3
# of the plan, what decides results
_TESTED = ("exclusion_rule", "primary", "margins")

Warnings = Iterator[Sentence]


def make_limits(source: Source) -> Iterator[Block]:
    yield Heading("Limits", 2, "limits")
    warnings = list_warnings(source)
    yield from warnings[:_MOST]
    for warning in warnings[_MOST:]:
        yield Sentence(
            warning.code, warning.text, "warning", figures=warning.figures, place="further"
        )
    yield from list_notes(source)
    if fine := _list_fine(source, {warning.code for warning in warnings}):
        yield Sentence("fine", f"Checked and fine: {list_of(fine)}.", "note")


def list_warnings(source: Source) -> list[Sentence]:
    """List everything that limits the results, in the order of importance."""
    return [warning for make in _WARNINGS for warning in make(source)]


def _warn(code: str, text: str, **known: object) -> Sentence:
    return Sentence(code, text, "warning", **known)  # type: ignore[arg-type]


# --- of the data --------------------------------------------------------------------------------


def _warn_of_simulation(source: Source) -> Warnings:
    data = source.kept["data"]
    simulated, total = data["origins"]["simulated"], data["ratings"]
    if simulated:
        number = f"{simulated:,} of" if simulated < total else "All"
        yield _warn(
            "simulated",
            f"{number} {count_of(total, 'rating')} are simulated. They show nothing about real "
            "systems.",
        )


def _warn_of_unfinished(source: Source) -> Warnings:
    collection = source.collection
    done, target = collection.get("done", 0), collection.get("target", 0)
    if done >= target:
        return
    start = "Collection ended early" if source.is_closed else "Collection isn’t finished"
    end = "" if source.is_closed else " Results may change."
    yield _warn("unfinished", f"{start}: {done:,} of {count_of(target, 'answer')}.{end}")


def _warn_of_looks(source: Source) -> Warnings:
    collection = source.collection
    if not (look := collection.get("look")):
        return
    at, target = datetime.fromisoformat(look["at"]), collection.get("target", 0)
    text = (
        f"Results were viewed on {at.day} {at:%B %Y}, with {look['answers']:,} of "
        f"{count_of(target, 'answer')} in."
    )
    if later := look["asked_later"]:
        text += f" {count_of(later, 'answer')} were asked for after that."
    yield _warn("looked", text)


def _warn_of_sharing(source: Source) -> Warnings:
    """Say where everyone’s answers, which only the team has, give another finding."""
    if differing := source.content.get("sharing", {}).get("differing"):
        pairs = [
            f"{isolate(first)} and {isolate(second)} ({isolate(_find_label(source, key))})"
            for key, first, second in differing
        ]
        yield _warn(
            "finding_of_everybody",
            "With the answers of people who don’t share them, the finding is another for "
            f"{list_of(pairs)}.",
        )


def _find_label(source: Source, key: str) -> str:
    criterion = source.find_criterion(key)
    return criterion.label if criterion else key


def _warn_of_raters_met(source: Source) -> Warnings:
    """Warn of people who rated in the study that this one repeats."""
    if met := source.collection.get("met"):
        yield _warn(
            "raters_met",
            f"{met['number']:,} of {count_of(met['raters'], 'person', 'people')} also rated in the "
            "study that this one repeats. They may remember its items, so the two results aren’t "
            "independent.",
        )


def _warn_of_missing(source: Source) -> Warnings:
    for note in _find_notes(source, "missing_by_system"):
        facts = note["facts"]
        yield _warn(
            "missing_by_system",
            f"{isolate(facts['system'])} has {facts['share']:.0%} of its answers missing, the "
            f"others {facts['others']:.0%}. The comparison may be biased.",
        )


def _warn_of_few_people(source: Source) -> Warnings:
    people = source.kept["data"]["participants"]
    if people == 1:
        text = "One person rated: nothing here shows how others would rate."
    elif people <= _FEW_PEOPLE and source.kept["data"]["raters_known"]:
        text = f"{people} people rated: they tell us little about how others would rate."
    else:
        return
    yield _warn("few_people", text, figures=(make_figure("people", people),))


def _warn_of_exclusions(source: Source) -> Warnings:
    for criterion in source.criteria:
        other = source.other_criteria.get(criterion.key)
        if other is not None and list_verdicts(criterion) != list_verdicts(other):
            _, text = describe_finding(other)
            who = "exclusions applied" if source.is_everyone else "everyone included"
            yield _warn("verdict_changes", f"{criterion.label}, with {who}: {text}")


def list_verdicts(criterion: Criterion) -> dict[frozenset[str], str]:
    """Return who is clearly higher in each pair, whether or not that is better."""
    return {
        frozenset((pair.first, pair.second)): {"higher": pair.first, "lower": pair.second}.get(
            pair.code, ""
        )
        for pair in criterion.pairs
    }


# --- of the comparisons -------------------------------------------------------------------------


def _warn_of_own_errors(source: Source) -> Warnings:
    for note in _find_notes(source, "own_error_differs"):
        for pair in note["facts"]["pairs"]:
            first, second = isolate(pair["system_1"]), isolate(pair["system_2"])
            more, is_clear = ("less", "is") if pair["p"] < 0.05 else ("more", "isn’t")
            yield _warn(
                "own_error",
                f"People differ {more} about {isolate(pair['system'])} than about the others. With "
                f"its own error, the difference between {first} and {second} {is_clear} clear "
                f"({say_p(pair['p'])}).",
            )


def _warn_of_order(source: Source) -> Warnings:
    """Warn where the first of two was chosen clearly more, or less, often."""
    for criterion in source.criteria:
        for stored in criterion.stored["tests"]:
            if stored["name"] != "share_of_first_place" or stored["low"] is None:
                continue
            figure = read_figure(stored, stored["name"], {"criterion": criterion.key})
            if not stored["low"] <= 0.5 <= stored["high"]:
                yield _warn(
                    "order",
                    f"{criterion.label}: order mattered. The first of two was preferred in "
                    f"{write_figure(figure)} of decided answers.",
                    figures=(figure,),
                )


def _warn_of_ceilings(source: Source) -> Warnings:
    for criterion in source.criteria:
        known = {figure["name"]: figure["value"] for figure in criterion.coefficients}
        alpha, ac2 = known.get("alpha_ordinal"), known.get("ac2")
        answer, share = find_most_given(criterion)
        if share < _CEILING or alpha is None or ac2 is None or ac2 - alpha <= _APART:
            continue
        yield _warn(
            "ceiling",
            f"{criterion.label}: {share:.0%} of ratings are {answer}. People agree (AC2 "
            f"{write_coefficient(ac2)}), but outputs differ too little for α to show it "
            f"({write_coefficient(alpha)}).",
        )


def find_most_given(criterion: Criterion) -> tuple[str, float]:
    """Return the lowest or the highest point, if it was given most often, with its share."""
    values = [str(answer["value"]) for answer in criterion.stored["answers"]]
    totals = dict.fromkeys(values, 0)
    for system in criterion.stored["systems"]:
        for value, count in (system["counts"] or {}).items():
            totals[value] = totals.get(value, 0) + int(count)
    whole = sum(totals.values())
    if not whole or len(values) < 3:
        return "", 0.0
    most = max(totals, key=lambda value: totals[value])
    return (most, totals[most] / whole) if most in (values[0], values[-1]) else ("", 0.0)


def _warn_of_agreement(source: Source) -> Warnings:
    """Warn of the question on which people agree least, if its interval is below the others."""
    known = [(each, figure) for each in source.criteria if (figure := each.alpha) and figure.value]
    if len(known) < 2:
        return
    criterion, lowest = min(known, key=lambda pair: pair[1].value or 0.0)
    higher = [figure.value or 0.0 for each, figure in known if each is not criterion]
    if lowest.high is not None and all(lowest.high < value for value in higher):
        yield _warn(
            "low_alpha",
            f"{criterion.label}: people agree least, α {write_value(lowest)} "
            f"({write_interval(lowest)}).",
            figures=(lowest,),
        )


def _warn_of_copies(source: Source) -> Warnings:
    for note in _find_notes(source, "copied"):
        facts = note["facts"]
        yield _warn(
            "copied",
            f"Two people gave the same answer on {facts['equal']:,} of "
            f"{count_of(facts['outputs'], 'output')}; agreement and tests count them as two.",
        )


# --- of what may be concluded -------------------------------------------------------------------


def _warn_of_no_plan(source: Source) -> Warnings:
    moments = source.plan.get("moments") or {}
    tested = [moments[name] for name in _TESTED if name in moments]
    if not tested or all(moment["answers"] for moment in tested):
        yield _warn(
            "no_plan",
            "No plan was frozen before the first answer: treat these results as exploratory.",
        )


def _warn_of_unclear(source: Source) -> Warnings:
    for criterion in source.criteria:
        if not criterion.is_tested or all(pair.is_clear for pair in criterion.planned_pairs):
            continue
        if (figure := criterion.detectable) and (words := describe_detectable(criterion)):
            text = f"“No clear difference” doesn’t mean equal: {words}."
            yield _warn("not_equal", text, figures=(figure,))
            return


def describe_detectable(criterion: Criterion) -> str:
    """Return the difference that a new study like this one would find; "" if it isn't known."""
    figure = criterion.detectable
    if figure is None or figure.value is None:
        return ""
    words = f" {criterion.unit_words}" if criterion.unit_words else ""
    ratio = f"a difference by a factor of {write_value(figure)}"
    amount = ratio if figure.unit == "ratio" else f"a difference of {write_value(figure)}{words}"
    tests = figure.details.get("tests") or 1
    after = f", after correction for {count_of(tests, 'comparison')}" if tests > 1 else ""
    return (
        f"a new study like this one would find {amount} on {name_label(criterion)} in 8 of 10 "
        f"cases{after}"
    )


def _warn_of_scope(source: Source) -> Warnings:
    yield _warn("scope", "The results hold for people and inputs like these.")


_WARNINGS: list[Callable[[Source], Warnings]] = [
    _warn_of_simulation, _warn_of_unfinished, _warn_of_looks, _warn_of_sharing,
    _warn_of_raters_met, _warn_of_missing,
    _warn_of_few_people, _warn_of_exclusions, _warn_of_own_errors, _warn_of_order,
    _warn_of_ceilings, _warn_of_agreement, _warn_of_copies, _warn_of_no_plan, _warn_of_unclear,
    _warn_of_scope,
]  # fmt: skip


def _list_fine(source: Source, codes: set[str]) -> list[str]:
    """List what was checked and found fine."""
    # how many answers of a system were shown isn't counted of comparisons and orders
    has_counts = any(criterion.stored.get("missing_by_system") for criterion in source.criteria)
    checked = {
        "exclusions change no verdict": source.everything is not None
        and "verdict_changes" not in codes,
        "the plan came before the first answer": "no_plan" not in codes,
        "no answers came in after a look at results": source.is_closed and "looked" not in codes,
        "no system has more answers missing than the others": has_counts
        and "missing_by_system" not in codes,
        "nobody copied answers": source.kept["copied"]["can_be_seen"] and "copied" not in codes,
    }
    return [words for words, is_fine in checked.items() if is_fine]


def _find_notes(source: Source, code: str) -> list[Stored]:
    return [note for note in source.kept["warnings"] if note["code"] == code]
