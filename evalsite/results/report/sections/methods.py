"""How the study was made: material, answers and people, methods, the plan and what departs from it,
and how the report is checked and repeated.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from evalsite.analysis.families import EDITS
from evalsite.analysis.figure import ALL_EQUAL, REML
from evalsite.lib.money import format_money
from evalsite.lib.words import count_of, list_of
from evalsite.results.analysis_plan.wording import describe_deviation, plan_in_words
from evalsite.results.document.blocks import (
    Block,
    Cell,
    Code,
    Column,
    Entry,
    Heading,
    Sentence,
    Table,
    isolate,
)
from evalsite.results.document.figures import make_figure, write_method
from evalsite.results.report.sections.spans import describe_scoring
from evalsite.results.report.sections.words import MOST_NAMED
from evalsite.results.report.source import Criterion, Facts, Source

# --- the study in a few lines, planned beside collected


def make_study(source: Source) -> Iterator[Block]:
    yield Heading("The study", 2, "study")
    rows: list[list[Entry]] = [
        ["Material", _describe_material(source)],
        ["Answers", _describe_answers(source)],
        ["People", _describe_people(source)],
        ["Design", _describe_design(source)],
    ]
    columns = [Column("", is_number=False), Column("", is_number=False)]
    yield Table("study", "The study", columns, rows)


def _describe_material(source: Source) -> Cell:
    data, outputs = source.kept["data"], count_outputs(source)
    systems = len(data["systems"])
    text = f"{count_of(data['groups'], 'input')}, {count_of(outputs, 'output')}"
    figures = [make_figure("inputs", data["groups"]), make_figure("outputs", outputs)]
    if data.get("clusters"):
        text = f"{text} in {count_of(data['clusters'], 'cluster')}"
    figures.append(make_figure("systems", systems))
    return Cell(f"{text} of {count_of(systems, 'system')}", tuple(figures))


def count_outputs(source: Source) -> int:
    """Count the outputs that were rated; of comparisons, the two of each."""
    data = source.kept["data"]
    for figure in source.kept["design"]:
        if figure["name"] == "ratings_per_output":
            number = figure["n"].get("outputs", 0)
            is_about_pairs = all(criterion.family.compares for criterion in source.criteria)
            return int(number) * 2 if is_about_pairs else int(number)
    return int(data["items"])


def _describe_answers(source: Source) -> Cell:
    data, collection = source.kept["data"], source.collection
    used = data["annotations"]
    done, target = collection.get("done") or used, collection.get("target") or 0
    text = count_of(done, "answer") if not target else f"{done:,} of {target:,} planned"
    if used != done:
        text += f"; {used:,} used"
    text += f"; {count_of(data['ratings'], 'rating')}"
    return Cell(
        text,
        (
            make_figure("answers_in", done),
            make_figure("answers_planned", target),
            make_figure("answers_used", used),
        ),
    )


def _describe_people(source: Source) -> Cell:
    data, everything = source.kept["data"], source.everything
    people = data["participants"]
    noun = ("person", "people") if data["raters_known"] else ("rater", "raters")
    parts = [f"{count_of(people, *noun)}"]
    figures = [make_figure("people", people)]
    excluded = everything["data"]["participants"] - people if everything else 0
    if excluded > 0:
        parts.append(f"{excluded:,} excluded")
        figures.append(make_figure("people_excluded", excluded))
    sharing = source.content.get("sharing", {})
    if left_out := sharing.get("left_out"):
        parts.append(f"{count_of(left_out, *noun)} left out, whose answers aren’t shared")
        figures.append(make_figure("people_not_sharing", left_out))
    if kept_back := sharing.get("not_sharing"):
        parts.append(f"{count_of(kept_back, *noun)} don’t share their answers")
        figures.append(make_figure("people_not_sharing", kept_back))
    facts = source.facts
    if facts.hourly is not None and facts.is_collected_here:
        parts.append(f"{format_money(facts.hourly, facts.settings['currency'])} an hour")
        figures.append(make_figure("pay_per_hour", round(float(facts.hourly), 2)))
    return Cell("; ".join(parts), tuple(figures))


def _describe_design(source: Source) -> Cell:
    data, facts = source.kept["data"], source.facts
    if not facts.is_collected_here:
        return Cell("The ratings were collected elsewhere")
    k, size = facts.settings.get("k"), facts.settings.get("set_size")
    parts = ["systems hidden"]
    if k:
        parts.append(f"{count_of(k, 'answer')} planned to each item, by different people")
    if size:
        parts.append(f"sets of {count_of(size, 'item')}")
    figures = []
    counts = [count for places in data["places"].values() for count in places.values()]
    # a page with one output has one position
    has_positions = any(len(places) > 1 for places in data["places"].values())
    if has_positions and len(data["systems"]) > 1:
        spread = max(counts) - min(counts)
        within = f", to within {spread:,}" if spread else ""
        parts.append(f"each system equally often in each position{within}")
        figures.append(make_figure("position_spread", spread))
    text = "; ".join(parts)
    return Cell(text[:1].upper() + text[1:], tuple(figures))


# --- the methods paragraph: what the report prints, and how it was computed

_TERMS = {
    "rater": "people", "group": "inputs", "cluster": "clusters of inputs",
    "group:system": "inputs by system", "rater:system": "people by system",
    "rater:group": "people by input", "cluster:system": "clusters by system",
}  # fmt: skip
_SHOWN_AS = {
    "text": "plain text", "markdown": "Markdown", "code": "code", "table": "a table",
    "conversation": "a conversation", "dialogue": "a dialogue",
}  # fmt: skip
_TESTED_BY = {
    "bootstrap_of_items_and_raters": "a bootstrap over inputs and people",
    "bootstrap_of_items": "a bootstrap over inputs, which says nothing about other people",
    "t_over_items": "a t test over inputs, which says nothing about other people",
    "t_over_raters": "a t test over people, which says nothing about other inputs",
}
_CITED = {"bootstrap_of_items_and_raters": ("owen2007",)}
_CITED_AGREEMENT = {
    "alpha": "krippendorff2004", "ac1": "gwet2008", "ac2": "gwet2008", "ICC": "shrout1979",
    "kendall_w": "kendall1939",
}  # fmt: skip
_HOLM = ("holm1979",)
_NAMES = {
    "alpha_ordinal": "Krippendorff’s α (ordinal)",
    "alpha_nominal": "Krippendorff’s α (nominal)",
    "alpha_interval": "Krippendorff’s α (interval)",
    "alpha_log": "Krippendorff’s α (of log scores)",
    "alpha_places": "Krippendorff’s α of places (ordinal)",
    "kendall_w": "Kendall’s W",
    "ac1": "Gwet’s AC1",
    "ac2": "Gwet’s AC2 (quadratic weights)",
    "ICC(1,1)": "ICC(1,1)",
}


def _describe_edits(criteria: Sequence[Criterion]) -> Iterator[Sentence]:
    corrected = [criterion for criterion in criteria if criterion.family is EDITS]
    if corrected:
        named = list_of([isolate(criterion.label) for criterion in corrected[:MOST_NAMED]])
        yield Sentence(
            "edits_method",
            f"On {named}, the edit rate of an output is the number of words that a person "
            "inserted, deleted and substituted, for 100 words of the corrected text. A block that "
            "moves counts word by word.",
        )


def make_methods(source: Source) -> Iterator[Block]:
    yield Heading("Methods", 2, "methods")
    yield from _describe_changes(source.facts)
    modelled = [criterion for criterion in source.criteria if _has_model(criterion)]
    if modelled:
        yield _describe_model(modelled)
    orders = [criterion for criterion in source.criteria if criterion.family.orders]
    yield from _describe_other_tests(
        [criterion for criterion in source.criteria if criterion not in orders]
    )
    yield from _describe_orders(orders)
    if any(criterion.family.has_points for criterion in modelled):
        yield Sentence("equal_spacing", "Points are taken as equally spaced.")
    if any(criterion.is_tested for criterion in source.criteria):
        yield _describe_tests(source)
        yield _describe_correction(source)
    yield from _describe_judges(source.criteria)
    if sentence := _describe_agreement(source.criteria):
        yield sentence
    yield from describe_scoring(source)
    yield from _describe_edits(source.criteria)
    yield from _describe_missing(source.criteria)
    if sentence := _describe_plan(source):
        yield sentence
    facts = source.facts
    yield Sentence(
        "software",
        f"We used {facts.software}, methods version {facts.methods}, seed {facts.seed}.",
    )


def _describe_changes(facts: Facts) -> Iterator[Sentence]:
    """Yield how pages of this study differ from those of its instrument."""
    if changed := facts.departures:
        changes = [f"the input {isolate(name)} was shown as well" for name in changed.inputs]
        changes += [
            f"outputs were shown as {_SHOWN_AS.get(kind, kind)}"
            if name == "output"
            else f"the input {isolate(name)} was shown as {_SHOWN_AS.get(kind, kind)}"
            for name, kind in sorted(changed.kinds.items())
        ]
        changes += ["a box for comments was added"] if changed.note else []
        yield Sentence("instrument_changed", f"We changed the instrument: {list_of(changes)}.")
    if facts.own_examples is not None:
        examples = count_of(facts.own_examples, "example")
        text = f"People saw {examples} chosen for this study instead of the instrument’s own."
        yield Sentence("own_examples", text)


def _has_model(criterion: Criterion) -> bool:
    methods = {pair.difference.method for pair in criterion.pairs}
    return REML in methods


def _describe_model(criteria: Sequence[Criterion]) -> Sentence:
    terms = {
        term
        for criterion in criteria
        for term in (criterion.stored["model"] or {}).get("terms", ())
    }
    effects = [words for term, words in _TERMS.items() if term in terms]
    random = f" with random effects of {list_of(effects)}," if effects else ""
    return Sentence(
        "model",
        f"We compared the systems with a linear mixed model (REML) on each question,{random} so "
        "that results are meant for other people and other inputs.",
    )


def _describe_other_tests(criteria: Sequence[Criterion]) -> Iterator[Sentence]:
    """Yield how systems are compared on questions whose data the model can't be fitted to."""
    labels: dict[str, list[str]] = {}
    for criterion in criteria:
        tested = [pair for pair in criterion.pairs if pair.difference.p_corrected is not None]
        for method in dict.fromkeys(pair.difference.method for pair in tested):
            labels.setdefault(method, []).append(isolate(criterion.label))
    for method, named in labels.items():
        if method == ALL_EQUAL:
            yield Sentence("all_equal", f"On {list_of(named)}, all ratings are equal.")
        elif method != REML:
            test = _TESTED_BY.get(method) or write_method(method)
            text = f"On {list_of(named)}, systems are compared by {test}."
            yield Sentence("other_test", text, cites=_CITED.get(method, ()))


def _describe_orders(criteria: Sequence[Criterion]) -> Iterator[Sentence]:
    """Yield how the strengths of systems are found from orders, or from the best and the worst."""
    for kind, known, cites in (
        ("ranking", "outputs that share a place count as the average over their orders", ()),
        ("best_worst", "the orders of the outputs that are neither best nor worst are summed over",
         ("marley2005",)),
    ):  # fmt: skip
        labels = [isolate(entry.label) for entry in criteria if entry.stored["kind"] == kind]
        if labels:
            yield Sentence(
                f"orders_{kind}",
                f"On {list_of(labels)}, the strengths of systems are the logarithms of those of "
                f"the Plackett–Luce model, and add up to 0; {known}. Their intervals, and those of "
                "their differences, come from a bootstrap over people and inputs. A p value is the "
                "level at which such an interval would end at 0.",
                cites=("luce1959", "plackett1975", *cites, "owen2007"),
            )


def _describe_tests(source: Source) -> Sentence:
    by_model = any(_has_model(criterion) for criterion in source.criteria)
    how = " with Kenward–Roger degrees of freedom" if by_model else ""
    cites = ("kenward1997",) if by_model else ()
    return Sentence("tests", f"Tests are two-sided{how}.", cites=cites)


def _describe_correction(source: Source) -> Sentence:
    tested = [criterion for criterion in source.criteria if criterion.is_tested]
    if any(criterion.is_across for criterion in tested):
        number = count_of(max(criterion.family_size for criterion in tested), "comparison")
        text = f"No question is primary, so p values are corrected for all {number} (Holm)."
        return Sentence("correction_across", text, cites=_HOLM)
    primary = next((criterion for criterion in tested if criterion.role == "primary"), None)
    if primary is not None and len(tested) > 1:
        size = primary.family_size
        first = f"p values are corrected for {size:,} comparisons"
        if size == 1:
            is_named = any(pair.is_exploratory for pair in primary.pairs)
            start = "one comparison is planned" if is_named else "there is one comparison"
            first = f"{start}, so its p value isn’t corrected"
        return Sentence(
            "correction_primary",
            f"On the primary question, {first}; on secondary questions, p values are corrected for "
            "the pairs within each question, and not across questions (Holm).",
            cites=_HOLM,
        )
    size = max(criterion.family_size for criterion in tested)
    if size == 1:
        return Sentence("correction", "There is one comparison, so p values aren’t corrected.")
    text = f"p values are corrected for {size:,} comparisons (Holm)."
    return Sentence("correction", text, cites=_HOLM)


def _describe_judges(criteria: Sequence[Criterion]) -> Iterator[Sentence]:
    """Yield how people's result is corrected by labels of judges, where it is."""
    parts = [part for criterion in criteria for part in criterion.stored.get("judges") or ()]
    names = dict.fromkeys(
        isolate(str(part["judge"])) for part in parts if part["corrected"]["pairs"]
    )
    if names:
        yield Sentence(
            "judge_methods",
            f"We corrected the labels of {list_of([*names])} with people’s ratings by a "
            "prediction-powered estimator whose variance treats people and inputs as crossed "
            "samples (mixed model of residuals, Kenward–Roger).",
            cites=("angelopoulos2023",),
        )


def _describe_agreement(criteria: Sequence[Criterion]) -> Sentence | None:
    printed = [
        criterion.stored["agreement"][0]["name"]
        for criterion in criteria
        if criterion.stored["agreement"]
    ]
    printed += [
        figure["name"]
        for criterion in criteria
        for figure in criterion.stored["agreement"]
        if figure["name"] in ("ac1", "ac2", "ICC(1,1)")
        or (figure["name"] == "kendall_w" and criterion.family.orders)
    ]
    names = [_NAMES[name] for name in dict.fromkeys(printed) if name in _NAMES]
    if not names:
        return None
    return Sentence(
        "agreement_method",
        f"Agreement is {list_of(names)}; its intervals count people and inputs as samples"
        f"{_except(criteria)}.",
        cites=tuple(
            dict.fromkeys(
                key
                for start, key in _CITED_AGREEMENT.items()
                if any(name.startswith(start) for name in printed)
            )
        ),
    )


def _except(criteria: Sequence[Criterion]) -> str:
    """Return an exception, if there are intervals for the people who rated alone."""
    figures = (figure for criterion in criteria for figure in criterion.stored["agreement"])
    is_bound = any(figure["details"].get("over") == "inputs" for figure in figures)
    return ", unless they are said to hold for these people only" if is_bound else ""


def _describe_missing(criteria: Sequence[Criterion]) -> Iterator[Sentence]:
    """Yield how much is missing, and what tests assume of it."""
    notes = [note for criterion in criteria for note in criterion.stored["notes"]]
    shares = [note["facts"]["share"] for note in notes if note["code"] == "missing_at_random"]
    if shares:
        most = max(shares)
        amount = "Less than 1%" if most < 0.005 else f"Up to {most:.0%}"
        yield Sentence(
            "missing_at_random",
            f"{amount} of a question’s planned ratings are missing; tests take them as missing at "
            "random.",
        )
    elif any(note["code"] == "shown_unknown" for note in notes):
        yield Sentence("shown_unknown", "It isn’t known which ratings are missing.")


def _describe_plan(source: Source) -> Sentence | None:
    plan = source.plan
    if not plan.get("frozen_at"):
        return None
    digest = f" (SHA-256 {plan['sha256'][:12]})" if plan.get("sha256") else ""
    primary = source.find_criterion(str(plan.get("primary") or ""))
    named = f" Primary question: {isolate(primary.label)}." if primary else ""
    answers = min((moment["answers"] for moment in plan["moments"].values()), default=0)
    when = "before the first answer" if not answers else f"after {count_of(answers, 'answer')}"
    return Sentence(
        "plan_frozen",
        f"Hypotheses, primary question and exclusion rules were frozen {when}{digest}.{named}",
    )


# --- the plan's rules, what was excluded, and what departs from the plan

_THRESHOLDS = "Thresholds of flags"
# rows of the plan that stand in tables of their own
_ELSEWHERE = ("Deviations", _THRESHOLDS)
_WORDS = (Column("", is_number=False), Column("", is_number=False))
# of a text before and after it was corrected; the bundle has all of it
_LONGEST_TEXT = 1000


def make_plan(source: Source) -> Iterator[Block]:
    yield Heading("Plan, exclusions, deviations", 2, "plan")
    plan, facts = source.plan, source.facts
    yield from tabulate_plan(plan, criteria=len(source.criteria))
    if facts.exclusions:
        phrases = [
            f"“{isolate(reason)}” ({count_of(number, 'decision')}"
            f"{_describe_decisions(facts.excluded.get(reason))})"
            for reason, number in facts.exclusions
        ]
        yield Sentence(
            "exclusions",
            f"Active exclusions by reason: {'; '.join(phrases)}.",
            figures=tuple(
                make_figure("rule_matches", number, {"rule": reason})
                for reason, number in facts.exclusions
            ),
        )
    else:
        yield Sentence("exclusions_none", "Nobody is excluded.")
    if facts.import_notes:
        notes = " ".join(isolate(note) for note in facts.import_notes)
        yield Sentence("imports", f"Confirmed at import: {notes}")
    yield from _list_changes(source)
    yield from list_deviations(plan)


def tabulate_plan(plan: Mapping[str, Any], *, criteria: int) -> Iterator[Block]:
    """Yield what was planned, and where flags begin; `criteria`: how many are compared."""
    rows = plan_in_words(plan, criteria=criteria)
    if any(plan.get(name) for name in ("moments", "frozen_at", "size")):
        shown: list[list[Entry]] = [
            [name, isolate(words)] for name, words in rows if name not in _ELSEWHERE
        ]
        yield Table("plan", "The plan", _WORDS, shown)
    else:
        yield Sentence("no_rule", "Nothing was planned.")
    yield from _list_thresholds(rows)


def list_deviations(plan: Mapping[str, Any]) -> Iterator[Block]:
    """Yield what departs from the plan, if it was frozen."""
    deviations = list(map(describe_deviation, plan.get("deviations") or ()))
    if deviations:
        listed = [[str(number), isolate(text)] for number, text in enumerate(deviations, start=1)]
        columns = [Column("No.", is_number=False), Column("Deviation", is_number=False)]
        yield Table("deviations", count_of(len(listed), "deviation"), columns, listed)
    elif plan.get("frozen_at"):
        yield Sentence("deviations_none", "There are no deviations from the plan.")


def _describe_decisions(decided: Mapping[str, Any] | None) -> str:
    """Return ", 2 people, 4 March 2026"; "" of a report that doesn't know."""
    if decided is None:
        return ""
    moments = (datetime.fromisoformat(decided[end]).astimezone(UTC) for end in ("first", "last"))
    days = dict.fromkeys(f"{at.day} {at:%B %Y}" for at in moments)
    return f", {count_of(decided['people'], 'person', 'people')}, {' to '.join(days)}"


def _list_thresholds(rows: Sequence[tuple[str, str]]) -> Iterator[Table]:
    """Yield where flags begin, for the further analyses."""
    words = dict(rows).get(_THRESHOLDS)
    if words:
        shown: list[list[Entry]] = [[_THRESHOLDS, words]]
        yield Table("thresholds", "Flags", _WORDS, shown, place="further")


def _list_changes(source: Source) -> Iterator[Table]:
    """Yield what was changed after the launch, with both texts."""
    if not source.facts.changes:
        return
    columns = [Column(label, is_number=False) for label in ("Changed", "Before", "After", "Reason")]
    rows = [
        [
            isolate(_name_change(change)),
            *(isolate(_shorten(change[part])) for part in ("before", "after", "reason")),
        ]
        for change in source.facts.changes
    ]
    yield Table("changes", "Changes after the launch", columns, rows)


def _name_change(change: dict[str, Any]) -> str:
    if change["kind"] == "renamed":
        return "Name of a system"
    if change["kind"] == "corrected":
        return f"Output {change['output']} of {change['item']}"
    return f"{change['item']}, withdrawn"


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}…"


# --- how the report is checked and repeated


def make_repeat(source: Source) -> Iterator[Block]:
    yield Heading("Check and repeat", 2, "repeat")
    facts = source.facts
    version = f" The study’s texts and settings are those of {facts.version}."
    yield Sentence(
        "data_hash",
        f"SHA-256 of ratings.csv: {facts.sha256}.{version if facts.version else ''}",
    )
    yield Sentence(
        "verify",
        "The first command computes every figure of this report again from the study’s bundle; the "
        "second compares a repetition of the study with this one. The scripts in the bundle print "
        f"the same verdicts{_except_orders(source)}.",
    )
    yield Code("sh", "evalsite verify bundle.zip\nevalsite repeat bundle.zip")


def _except_orders(source: Source) -> str:
    has_orders = any(criterion.family.orders for criterion in source.criteria)
    return ", except on questions that are answered by an order" if has_orders else ""
