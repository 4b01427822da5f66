"""The methods paragraph, of all that stands beside the main test in the tables of a report.

Texts in here are LaTeX already.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from evalsite.studies.summary_lines import list_of

# by the names that figures begin with, in the order in which a paper tells them
_TESTS = {
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
_AGREEMENT = {
    "percent_agreement": "the share of pairs of ratings that agree",
    "within_1": "the share of those within one point",
    "pairwise_spearman": "the mean Spearman correlation of two raters",
    "pairwise_tau_b": r"the mean Kendall's $\tau_b$ of two raters",
}


def describe_other_methods(found: Mapping[str, Any]) -> Iterator[str]:
    """What was computed beside the main test: other tests, effect sizes, agreement by pairs."""
    criteria = found["criteria"]
    pairs = [pair for one in criteria for pair in one["pairs"]]
    checks = _name(_TESTS, (figure for pair in pairs for figure in pair["checks"]))
    if checks:
        yield f"Beside it, without a correction, stand {list_of(checks)}."
    of_all = _name(_TESTS_OF_ALL, (figure for one in criteria for figure in one["tests"]))
    if of_all:
        yield f"All systems at once are compared by {list_of(of_all)}."
    sizes = _name(_SIZES, (figure for pair in pairs for figure in pair["sizes"]))
    if sizes:
        yield f"Effect sizes are {list_of(sizes)}."
    agreement = _name(_AGREEMENT, (figure for one in criteria for figure in one["agreement"]))
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
