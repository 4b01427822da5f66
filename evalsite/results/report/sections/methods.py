"""The methods paragraph: what the report prints, and how it was computed."""

from collections.abc import Iterator, Sequence

from evalsite.analysis.figure import ALL_EQUAL, REML
from evalsite.lib.words import count_of, list_of
from evalsite.results.document.blocks import Block, Heading, Sentence, isolate
from evalsite.results.document.methods import write_method
from evalsite.results.report.facts import Facts
from evalsite.results.report.sections.spans import describe_scoring
from evalsite.results.report.source import Criterion, Source

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
}  # fmt: skip
_HOLM = ("holm1979",)
_NAMES = {
    "alpha_ordinal": "Krippendorff’s α (ordinal)",
    "alpha_nominal": "Krippendorff’s α (nominal)",
    "alpha_interval": "Krippendorff’s α (interval)",
    "alpha_log": "Krippendorff’s α (of log scores)",
    "ac1": "Gwet’s AC1",
    "ac2": "Gwet’s AC2 (quadratic weights)",
    "ICC(1,1)": "ICC(1,1)",
}


def make_methods(source: Source) -> Iterator[Block]:
    yield Heading("Methods", 2, "methods")
    yield from _describe_changes(source.facts)
    modelled = [criterion for criterion in source.criteria if _has_model(criterion)]
    if modelled:
        yield _describe_model(modelled)
    yield from _describe_other_tests(source.criteria)
    if any(criterion.family.has_points for criterion in modelled):
        yield Sentence("equal_spacing", "Points are taken as equally spaced.")
    if any(criterion.is_tested for criterion in source.criteria):
        yield _describe_tests(source)
        yield _describe_correction(source)
    if sentence := _describe_agreement(source.criteria):
        yield sentence
    yield from describe_scoring(source)
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
        number = count_of(primary.family_size, "comparison")
        return Sentence(
            "correction_primary",
            f"On the primary question, p values are corrected for {number} (Holm); on secondary "
            "questions, for the pairs within each question, and not across questions.",
            cites=_HOLM,
        )
    number = count_of(max(criterion.family_size for criterion in tested), "comparison")
    return Sentence("correction", f"p values are corrected for {number} (Holm).", cites=_HOLM)


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
