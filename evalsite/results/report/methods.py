"""The methods paragraph of a paper, in LaTeX: complete sentences, numbers from the report.

Texts in here are LaTeX already; whatever comes from a study goes through `escape`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from evalsite.results.analysis_plan.wording import describe_moment
from evalsite.results.report.criterion_tables import is_by_model
from evalsite.results.report.latex import escape
from evalsite.results.report.study_facts import Facts, describe_pay, read_day
from evalsite.results.report.wording import (
    is_about_pairs,
    name_figure,
    write_interval,
    write_value,
)
from evalsite.studies.summary_lines import count_of, list_of

Criteria = Sequence[dict[str, Any]]

_HEADLINES = {
    "mean": "the mean of all ratings of a system, beside the full distribution",
    "geometric_mean": "the geometric mean of the scores of a system; scores are analysed as "
    "logarithms, so that systems differ by ratios",
    "share": "the share of decisions that are yes",
    "win_share": "the share of answers in which a system is preferred, a tie counting as half",
    "strength": r"the log strengths of Davidson's model with ties, which sum to zero "
    r"\citep{davidson1970}",
}
_P = re.compile(r"\bp[ ~]\$?([<>=])\$?[ ~](\.\d+)")
# more metrics than this are counted, not named
_MOST_NAMED = 6
_TESTS = {
    "REML, crossed random intercepts (Satterthwaite)": "a linear mixed model with crossed random "
    "intercepts, fitted by restricted maximum likelihood, with degrees of freedom after "
    r"Satterthwaite \citep{satterthwaite1946}",
    "crossed test (Satterthwaite)": "a crossed test, in which raters and inputs are both random, "
    r"with degrees of freedom after Satterthwaite \citep{satterthwaite1946}",
    "bootstrap over items and raters": "a bootstrap over inputs and raters "
    r"\citep{owen2007}",
    "bootstrap over items": "a bootstrap over inputs, which says nothing about other raters",
    "t test over items (generalises over items, not raters)": "a $t$ test over inputs, which says "
    "nothing about other raters",
    "t test over raters (generalises over raters, not items)": "a $t$ test over raters, which "
    "says nothing about other inputs",
}
_TERMS = {
    "rater": "raters",
    "group": "inputs",
    "cluster": "clusters of inputs",
    "group:system": "inputs by systems",
    "rater:system": "raters by systems",
    "rater:group": "raters by inputs",
}
_AGREEMENT = (
    ("alpha", r"Krippendorff's $\alpha$ \citep{krippendorff2004}"),
    ("ac1", r"Gwet's AC1 \citep{gwet2008}"),
    ("ac2", r"Gwet's AC2 \citep{gwet2008}"),
    ("ICC", r"intraclass correlations \citep{shrout1979}"),
    ("kendall_w", r"Kendall's $W$ \citep{kendall1939}"),
    ("fleiss", r"Fleiss' $\kappa$ \citep{fleiss1971}"),
)
_GROUPS = {
    "together": "Items of one input followed one another in a set.",
    "once": "A participant met an input in one item only.",
    "free": "A participant could meet an input in several items.",
}
_ORDERS = {
    "random": "The order of items was random for each participant.",
    "uploaded": "Items were handed out in the order of the batch.",
    "blocked": "Items that hang together followed one another.",
}


def write_methods(facts: Facts, found: dict[str, Any]) -> str:
    """What was done, from the items to the tests."""
    phrases = [
        *_describe_instrument(facts),
        *(_describe_hand_out(facts) if facts.is_collected_here else ()),
        *_describe_data(facts, found),
        *_describe_rule(facts),
        *_describe_headlines(found["criteria"], has_clusters=bool(facts.data["clusters"])),
        *_describe_tests(found["criteria"], facts),
        *_describe_agreement(found),
        *describe_other_methods(found),
        *_describe_metrics(found["criteria"]),
        *_describe_making(facts),
    ]
    return " ".join(filter(None, phrases))


# --- the study ----------------------------------------------------------------------------


def _describe_instrument(facts: Facts) -> Iterator[str]:
    data = facts.data
    systems = [escape(system) for system in data["systems"]]
    clusters = f" in {count_of(data['clusters'], 'cluster')}" if data["clusters"] else ""
    criteria = [f"{escape(one.label)} ({escape(one.scale)})" for one in facts.criteria]
    yield (
        f"We evaluated the outputs of {count_of(len(systems), 'system')} ({list_of(systems)}) for "
        f"{count_of(data['groups'], 'input')}{clusters} on "
        f"{count_of(len(criteria), 'criterion', 'criteria')}: {list_of(criteria)}."
    )
    if facts.origin:
        # what is said of authors and licence stands in the datasheet
        source = facts.origin.partition(";")[0].rstrip(".")
        yield f"The instrument was ``{escape(facts.protocol)}'', made after: {escape(source)}."


def _describe_hand_out(facts: Facts) -> Iterator[str]:
    settings = facts.settings
    if facts.data["origins"]["imported"]:
        yield "Of the ratings that were not imported, this holds:"
    yield (
        f"Each item was to be rated by {count_of(settings['k'], 'participant')}, who worked in "
        f"sets of {count_of(settings['set_size'], 'item')}."
    )
    yield _GROUPS.get(settings["groups"], "")
    yield _ORDERS.get(settings["item_order"], "")
    if facts.has_practice:
        yield (
            f"Before any work, participants took a test, with a pass mark of "
            rf"{settings['pass_mark']}\,\%."
            if settings["is_qualification_on"]
            else "Before any work, participants did practice items with feedback."
        )
    if settings["check_every"]:
        every = count_of(settings["check_every"], "item")
        yield f"A gold or attention item followed after every {every}."
    if settings["repeat_percent"]:
        yield (
            rf"Of the items, {settings['repeat_percent']}\,\% were shown to a participant a second "
            f"time, at least {settings['repeat_distance']} items later; only the first rating "
            "counts."
        )
    if pay := describe_pay(facts):
        yield f"Participants were paid {escape(pay)}."


def _describe_data(facts: Facts, found: dict[str, Any]) -> Iterator[str]:
    data, raters = facts.data, "raters, not all single persons,"
    if data["raters_known"]:
        raters = "participant" if data["participants"] == 1 else "participants"
    days = list(dict.fromkeys(read_day(data.get(key)) for key in ("first_at", "last_at")))
    when = f" on {days[0]}" if len(days) == 1 else f" from {days[0]} to {days[1]}"
    yield (
        f"{data['participants']:,} {raters} gave {count_of(data['ratings'], 'rating')} in "
        f"{count_of(data['annotations'], 'annotation')}{when if days[0] else ''}."
    )
    origins = data["origins"]
    if origins["imported"]:
        yield f"Of these, {count_of(origins['imported'], 'rating')} were collected elsewhere."
    if origins["simulated"]:
        yield (
            rf"\textbf{{Of these, {count_of(origins['simulated'], 'rating')} are simulated: they "
            "are no data about anything.}"
        )
    for figure in found["design"]:
        if figure["name"] == "ratings_per_output" and figure["value"] is not None:
            one, what = (
                ("A comparison", "answer") if is_about_pairs(found) else ("An output", "rating")
            )
            least, most = figure["details"]["least"], figure["details"]["most"]
            yield (
                f"{one} has {count_of(int(least), what)}."
                if least == most
                else f"{one} has {least:g} to {most:g} {what}s (median {figure['value']:g})."
            )
    excluded = data["left_out"]["excluded"]
    yield (
        f"We left out {count_of(excluded, 'excluded annotation')}; the headline figures with them "
        "stand beside those without."
        if excluded
        else "No annotation was excluded."
    )


def _describe_rule(facts: Facts) -> Iterator[str]:
    """The rule of exclusions, and whether it was worded before data were seen."""
    if facts.plan and facts.plan["exclusion_rule"]:
        rule = " ".join(facts.plan["exclusion_rule"].split())
        yield (
            f"The rule of exclusions was worded {describe_moment(facts.plan, 'exclusion_rule')}: "
            rf"``{escape(rule)}''{'' if rule.endswith('.') else '.'}"
        )
    elif facts.plan:
        yield "No rule of exclusions was written down."


# --- the analysis -------------------------------------------------------------------------


def _describe_headlines(criteria: Criteria, *, has_clusters: bool) -> Iterator[str]:
    for name, labels in _by(criteria, lambda one: _headline(one).get("name", "")).items():
        if name:
            phrases = _HEADLINES.get(name, escape(name.replace("_", " ")))
            yield f"For {list_of(labels)} we report {phrases}."
    modelled = [escape(one["label"]) for one in criteria if is_by_model(one)]
    if modelled:
        yield (
            f"Systems are compared on {list_of(modelled)} by their means in the mixed model, which "
            "are given beside these figures."
        )
    placed = [one for one in criteria if _has(one["tests"], "position_effect")]
    if placed:
        yield "The model has a term for the place of an output on the page."
    drawn = [one for one in criteria if _headline(one).get("details", {}).get("draws")]
    inputs = "clusters of inputs" if has_clusters else "inputs"
    for over, some in _by(drawn, _drawn_over).items():
        draws = _headline(drawn[0])["details"]["draws"]
        level = f"{_headline(drawn[0])['level']:.0%}".replace("%", r"\,\%")
        which = "" if len(some) == len(criteria) else f" for {list_of(some)}"
        yield (
            f"Intervals of {level} of these figures{which} are percentiles of {draws:,} draws of a "
            f"bootstrap over {inputs}{over}."
        )


def _drawn_over(criterion: dict[str, Any]) -> str:
    has_raters = "raters" in _headline(criterion)["n"]
    return r" and raters \citep{owen2007}" if has_raters else ""


def _describe_tests(criteria: Criteria, facts: Facts) -> Iterator[str]:
    wanted = [one for one in criteria if one["pairs"]]
    compared = [one for one in wanted if _list_tested(one)]
    for phrases, labels in _by(compared, _describe_test).items():
        which = "Systems" if len(labels) == len(wanted) else f"For {list_of(labels)}, systems"
        yield f"{which} are compared {phrases}."
    for phrases, labels in _by(
        [one for one in wanted if one not in compared], _describe_why
    ).items():
        yield f"{phrases}." if len(labels) == len(wanted) else f"{list_of(labels)}: {phrases}."
    if any(one.get("baseline") for one in compared) and facts.plan:
        yield f"The baseline was chosen {describe_moment(facts.plan, 'baseline')}."
    if compared:
        has_baseline = any(one.get("baseline") for one in compared)
        over = "these comparisons" if has_baseline else "the pairs"
        yield (
            f"Tests are two-sided. Their $p$ values are corrected by Holm's method over {over} "
            r"of a criterion \citep{holm1979}; intervals of differences are for each pair alone."
        )
    if any(one.get("order") for one in criteria):
        yield (
            r"The order within a page is analysed by the Plackett--Luce model "
            r"\citep{luce1959,plackett1975}; a tie counts as the average over all orders of the "
            "systems tied."
        )


def _list_tested(criterion: dict[str, Any]) -> list[dict[str, Any]]:
    """The differences that were found and tested: what has no value was not compared."""
    effects = [pair["effect"] for pair in criterion["pairs"]]
    return [
        one for one in effects if one["value"] is not None and not one["details"].get("untested")
    ]


def _describe_why(criterion: dict[str, Any]) -> str:
    """Why no two systems of this criterion are tested."""
    if any(pair["effect"]["value"] is not None for pair in criterion["pairs"]):
        return (
            "One rater says nothing about others, so nothing was tested; intervals of differences "
            "are of other inputs that this rater would rate"
        )
    return "No two systems could be compared by these ratings"


def _describe_test(criterion: dict[str, Any]) -> str:
    """ "in pairs by a crossed test ...", "with the baseline A by ..."."""
    baseline = criterion.get("baseline")
    with_what = f"with the baseline {escape(baseline)}" if baseline else "in pairs"
    return f"{with_what} by {_name_test(criterion)}"


def _name_test(criterion: dict[str, Any]) -> str:
    methods = dict.fromkeys(effect["method"] for effect in _list_tested(criterion))
    named = {method: _TESTS.get(method, escape(method)) for method in methods}
    model = criterion.get("model") or {}
    if (own := model.get("method")) in named:
        terms = [_TERMS.get(term, escape(term)) for term in model["terms"]]
        named[own] = named[own].replace("intercepts,", f"intercepts of {list_of(terms)},", 1)
    return list_of(list(named.values()))


def _describe_agreement(found: dict[str, Any]) -> Iterator[str]:
    names = {
        figure["name"]
        for one in found["criteria"]
        for figure in one["agreement"]
        if figure["value"] is not None
    }
    phrases = [
        words
        for start, words in _AGREEMENT
        if any(name == start or name.startswith((f"{start}_", f"{start}(")) for name in names)
    ]
    if phrases:
        yield f"Agreement of raters is given as {list_of(phrases)}."
    if found["together"].get("cronbach"):
        yield (
            r"Cronbach's $\alpha$ is given of all criteria as one scale \citep{cronbach1951}; each "
            "criterion is a Likert item, and that their mean is a Likert scale is not shown by it "
            r"\citep{amidei2019}."
        )


def _describe_metrics(criteria: Criteria) -> Iterator[str]:
    """What automatic metrics were held against people's ratings, and how."""
    parts = [one["metrics"] for one in criteria if one.get("metrics")]
    names = list(dict.fromkeys(one["metric"] for part in parts for one in part["metrics"]))
    if not names:
        return
    phrases = list_of([escape(name) for name in names])
    who = phrases if len(names) <= _MOST_NAMED else f"{len(names)} automatic metrics"
    levels = {level for part in parts for one in part["metrics"] for level in one["levels"]}
    where = "over outputs, within inputs and over systems" if len(levels) > 1 else "over systems"
    compared = any(part["pairs"] for part in parts)
    yield (
        f"The scores of {who} were correlated with the human scores {where} (Pearson, Spearman, "
        r"Kendall's $\tau_b$), with intervals from a bootstrap over inputs"
        + (r"; metrics were compared by Williams' test \citep{williams1959}." if compared else ".")
    )


def _describe_making(facts: Facts) -> Iterator[str]:
    yield (
        f"Figures were computed with {escape(facts.software)} (methods version "
        f"{escape(facts.methods)}, seed {facts.seed}) from ratings whose file has the SHA-256 "
        rf"\texttt{{{facts.sha256[:16]}}}\ldots{{}}"
    )


# --- the results --------------------------------------------------------------------------


def write_findings(criterion: dict[str, Any]) -> str:
    """What was found by one criterion: its comparisons, then its first coefficient."""
    phrases = [set_p(escape(pair["finding"]["text"])) for pair in criterion["pairs"]]
    agreement = [one for one in criterion["agreement"] if one["value"] is not None]
    if agreement:
        first = agreement[0]
        interval = write_interval(first)
        known = rf" ({first['level']:.0%} interval {interval})" if interval else ""
        known = known.replace("%", " %", 1)
        phrases.append(escape(f"{name_figure(first)} is {write_value(first)}{known}."))
    return rf"\paragraph{{{escape(criterion['label'])}.}} " + " ".join(phrases)


# --- parts --------------------------------------------------------------------------------


def set_p(text: str) -> str:
    """The text with every p value as one formula: "p = .012", "p $<$ .001"."""
    return _P.sub(lambda found: f"$p {found[1]} {found[2]}$", text)


def _headline(criterion: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = criterion["systems"][0]["headline"] if criterion["systems"] else {}
    return found


def _has(figures: list[dict[str, Any]], name: str) -> bool:
    """Whether there is a figure of this name that has a value."""
    return any(one["name"] == name and one["value"] is not None for one in figures)


def _by(criteria: Criteria, describe: Any) -> dict[str, list[str]]:
    """The labels of criteria, escaped, by what is told of them, in order."""
    found: dict[str, list[str]] = {}
    for criterion in criteria:
        found.setdefault(describe(criterion), []).append(escape(criterion["label"]))
    return found


# by the names that figures begin with, in the order in which a paper tells them
_OTHER_TESTS = {
    "wilcoxon": r"Wilcoxon's signed-rank test over inputs \citep{wilcoxon1945}",
    "sign_flip": "sign-flip permutations of the differences of inputs",
    "sign_test": "exact sign tests of answers",
    "sign_test_of_majorities": "exact sign tests of majorities",
    "sign_within": "a sign test of the order within pages",
}
_TESTS_OF_ALL = {
    "friedman": r"Friedman's test over inputs \citep{friedman1937}",
    "mcnemar": r"McNemar's exact test \citep{mcnemar1947}",
    "cochran_q": r"Cochran's $Q$ test \citep{cochran1950}",
}
_SIZES = {
    "superiority": "the probability that one output of an input is rated higher, ties as half",
    "dz": "the standardised mean difference of inputs, Cohen's $d$",
    "gz": r"Hedges' $g$ of inputs \citep{hedges1981}",
    "rank_biserial": r"the matched rank-biserial correlation of inputs \citep{kerby2014}",
    "cliffs_delta": r"Cliff's $\delta$ of inputs \citep{cliff1993}",
    "win_share": "the share of answers won, a tie as half",
}
_OTHER_AGREEMENT = {
    "percent_agreement": "the share of pairs of ratings that agree",
    "within_1": "the share of those within one point",
    "pairwise_spearman": "the mean Spearman correlation of two raters",
    "pairwise_tau_b": r"the mean Kendall's $\tau_b$ of two raters",
}


def describe_other_methods(found: Mapping[str, Any]) -> Iterator[str]:
    """What was computed beside the main test: other tests, effect sizes, agreement by pairs."""
    criteria = found["criteria"]
    pairs = [pair for one in criteria for pair in one["pairs"]]
    checks = _name(_OTHER_TESTS, (figure for pair in pairs for figure in pair["checks"]))
    if checks:
        yield f"Beside it, without a correction, stand {list_of(checks)}."
    of_all = _name(_TESTS_OF_ALL, (figure for one in criteria for figure in one["tests"]))
    if of_all:
        yield f"All systems at once are compared by {list_of(of_all)}."
    sizes = _name(_SIZES, (figure for pair in pairs for figure in pair["sizes"]))
    if sizes:
        yield f"Effect sizes are {list_of(sizes)}."
    agreement = _name(_OTHER_AGREEMENT, (figure for one in criteria for figure in one["agreement"]))
    if agreement:
        yield f"Agreement is also told by {list_of(agreement)}."
    if any(one.get("kappas") for one in criteria):
        yield r"Every two raters are compared by quadratically weighted $\kappa$ \citep{cohen1968}."
    if any(figure["value"] is not None for figure in found["together"].get("correlations") or ()):
        yield r"Criteria are correlated over outputs by Spearman's $\rho$ \citep{spearman1904}."


def _name(words: Mapping[str, str], figures: Iterable[dict[str, Any]]) -> list[str]:
    """The words for those of the figures that have a value, in the order of the words."""
    names = {figure["name"].partition(", ")[0] for figure in figures if figure["value"] is not None}
    return [phrases for name, phrases in words.items() if name in names]
