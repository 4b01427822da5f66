"""The methods paragraph of a paper, in LaTeX: what its templates need to know.

The sentences are in templates/results/report/latex; text from a study is escaped there.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from evalsite.analysis.families.turns import TURNS
from evalsite.analysis.figure import ALL_EQUAL
from evalsite.results.analysis_plan.wording import describe_moment, describe_size
from evalsite.results.report.agreement_tables import write_agreement
from evalsite.results.report.criterion_tables import is_by_model
from evalsite.results.report.criterion_view import list_planned
from evalsite.results.report.prose import write_prose
from evalsite.results.report.sentences import METHOD_WORDS, write_sentence
from evalsite.results.report.study_facts import Facts, make_context
from evalsite.results.report.wording import (
    is_about_pairs,
    name_figure,
    write_interval,
    write_value,
)

Criteria = Sequence[dict[str, Any]]
Context = dict[str, Any]

# what the templates name, in the order in which a paper does, by how names of figures begin
_MOST_LISTED = 3  # more criteria of one kind are "all other criteria"
_AGREEMENT = ("alpha", "ac1", "ac2", "ICC", "kendall_w", "fleiss")
_OTHER_AGREEMENT = ("percent_agreement", "within_1", "pairwise_spearman", "pairwise_tau_b")
_OTHER_TESTS = ("wilcoxon", "sign_flip", "sign_test", "sign_test_of_majorities", "sign_within")
_TESTS_OF_ALL = ("friedman", "mcnemar", "cochran_q")
_ASSUMPTIONS = ("equal_spacing", "missing_at_random", "shown_unknown")
_SIZES = ("superiority", "dz", "gz", "rank_biserial", "cliffs_delta", "win_share")


def write_methods(facts: Facts, found: dict[str, Any]) -> str:
    """Return what was done, from the items to the tests."""
    criteria = found["criteria"]
    context = {
        **make_context(facts),
        "scales": [(asked.label, asked.scale) for asked in facts.criteria],
        "pay": write_prose("facts/_pay.txt", make_context(facts)),
        # what is said of authors and licence is in the datasheet
        "source": facts.origin.partition(";")[0].rstrip("."),
        "per_output": _find_per_output(found),
        "size": describe_size(facts.plan) if facts.plan.get("size") else "",
        **_collect_rule(facts),
        **_collect_headlines(criteria),
        **collect_tests(criteria, facts, found.get("family") or {}),
        **_collect_agreement(found),
        **_collect_other_methods(found),
        **_collect_metrics(criteria),
    }
    return write_prose("latex/methods.tex", context)


def summarise_method(facts: Facts, found: dict[str, Any]) -> str:
    """Return how systems were compared, in the plain sentences of the report's page."""
    tests = collect_tests(found["criteria"], facts, found.get("family") or {})
    return write_prose("facts/method.txt", {**tests, "words": METHOD_WORDS})


def write_findings(criterion: dict[str, Any]) -> str:
    """Return what was found by one criterion: its comparisons, then its first coefficient."""
    known = [one for one in criterion["agreement"] if one["value"] is not None]
    context = {
        "label": criterion["label"],
        "findings": [write_sentence(pair["finding"]) for pair in criterion["pairs"]],
        "conclusions": [write_sentence(note) for note in criterion.get("conclusions", ())],
        "margins": [write_sentence(note) for note in list_planned(criterion)],
        "agreement": _write_coefficient(known[0]) if known else None,
        "reliability": write_agreement(criterion, "reliability_of_mean"),
    }
    return write_prose("latex/findings.tex", context)


def _write_coefficient(figure: dict[str, Any]) -> dict[str, Any]:
    interval = write_interval(figure)
    return {
        "name": name_figure(figure),
        "value": write_value(figure),
        "interval": interval,
        "level": round(figure["level"] * 100) if interval else None,
    }


# --- the study ----------------------------------------------------------------------------


def _find_per_output(found: dict[str, Any]) -> Context | None:
    """Find how many ratings an output has, or answers a comparison; None if it isn't known."""
    for figure in found["design"]:
        if figure["name"] == "ratings_per_output" and figure["value"] is not None:
            least, most = figure["details"]["least"], figure["details"]["most"]
            return {
                "is_about_pairs": is_about_pairs(found),
                "count": int(least),
                "least": f"{least:g}",
                "most": f"{most:g}",
                "median": f"{figure['value']:g}",
            }
    return None


def _collect_rule(facts: Facts) -> Context:
    """Collect the exclusion rule, and whether it was worded before data were seen."""
    rules = list((facts.plan or {}).get("rules") or ())
    if not (facts.plan and facts.plan["exclusion_rule"]):
        return {"rule": "", "rules": rules}
    return {
        "rules": rules,
        "rule": " ".join(facts.plan["exclusion_rule"].split()),
        "rule_moment": describe_moment(facts.plan, "exclusion_rule"),
    }


# --- the analysis -------------------------------------------------------------------------


def _collect_headlines(criteria: Criteria) -> Context:
    named = [one for one in criteria if _headline(one).get("name")]
    headlines = [
        {"name": name, "labels": _list_labels(some)} for name, some in _group(named, _name_headline)
    ]
    bootstrapped = [one for one in criteria if _headline(one).get("details", {}).get("draws")]
    drawn = [
        {
            "has_raters": has_raters,
            "labels": _list_labels(some),
            "is_all": len(some) == len(criteria),
            "draws": _headline(bootstrapped[0])["details"]["draws"],
            "level": round(_headline(bootstrapped[0])["level"] * 100),
        }
        for has_raters, some in _group(bootstrapped, lambda one: "raters" in _headline(one)["n"])
    ]
    return {
        "headlines": headlines,
        "modelled": _list_labels([one for one in criteria if is_by_model(one)]),
        "are_all_modelled": all(is_by_model(one) for one in criteria),
        "has_position_effect": any(
            figure["name"] == "position_effect" and figure["value"] is not None
            for one in criteria
            for figure in one["tests"]
        ),
        "drawn": drawn,
    }


def collect_tests(criteria: Criteria, facts: Facts, family: dict[str, Any]) -> Context:
    wanted = [one for one in criteria if one["pairs"]]
    compared = [one for one in wanted if _list_tested(one)]
    others = [one for one in wanted if one not in compared]
    # the largest group last, so that most criteria needn't be listed
    groups = sorted(_group(compared, _find_test), key=lambda group: len(group[1]))
    has_baseline = any(one.get("baseline") for one in compared)
    of_all = any(one["joint"] and one["joint"]["value"] is not None for one in criteria)
    of_effects = any("d" in pair["effect"]["details"] for one in criteria for pair in one["pairs"])
    return {
        "of_all": write_sentence({"code": "joint_test_method", "facts": {}}) if of_all else "",
        "of_effects": write_sentence({"code": "standardised_effect", "facts": {}})
        if of_effects
        else "",
        "tested": [
            {
                "baseline": baseline,
                "methods": methods,
                "terms": terms,
                "labels": _list_labels(some),
                "is_all": len(some) == len(wanted),
                "is_equal": methods == (ALL_EQUAL,),
                "is_rest": len(some) > _MOST_LISTED and some is groups[-1][1] and not others,
            }
            for (baseline, methods, terms), some in groups
        ],
        "untested": [
            {
                "has_effects": has_effects,
                "labels": _list_labels(some),
                "is_all": len(some) == len(wanted),
            }
            for has_effects, some in _group(others, _has_effects)
        ],
        "has_baseline": has_baseline,
        "has_named": any(
            pair["effect"]["details"].get("is_exploratory")
            for one in compared
            for pair in one["pairs"]
        ),
        "is_across": bool(family.get("across")),
        "comparisons": family.get("comparisons", 0),
        "primary": next((one["label"] for one in criteria if one.get("role") == "primary"), ""),
        "assumptions": [
            *map(write_sentence, (facts.plan or {}).get("clusters") or ()),
            *_list_assumptions(criteria),
        ],
        "has_order": any(one.get("order") for one in criteria),
    }


def _list_assumptions(criteria: Criteria) -> list[str]:
    """List what tests assume of these data, each once."""
    notes = [note for one in criteria for note in one["notes"]]
    sentences = [write_sentence(note) for note in notes if note["code"] in _ASSUMPTIONS]
    return list(dict.fromkeys(sentences))


def _list_tested(criterion: dict[str, Any]) -> list[dict[str, Any]]:
    """List the differences that were tested; those without a value were not compared."""
    effects = [pair["effect"] for pair in criterion["pairs"]]
    return [
        one for one in effects if one["value"] is not None and not one["details"].get("untested")
    ]


def _has_effects(criterion: dict[str, Any]) -> bool:
    """Return whether systems were compared, though not tested: there is one rater."""
    return any(pair["effect"]["value"] is not None for pair in criterion["pairs"])


def _find_test(criterion: dict[str, Any]) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """Find the baseline, the methods, and the terms of the model if it is one of them."""
    methods = tuple(dict.fromkeys(effect["method"] for effect in _list_tested(criterion)))
    model = criterion.get("model") or {}
    terms = tuple(model["terms"]) if model.get("method") in methods else ()
    return (criterion.get("baseline") or "", methods, terms)


def _collect_agreement(found: dict[str, Any]) -> Context:
    names = {
        figure["name"]
        for criterion in found["criteria"]
        for figure in criterion["agreement"]
        if figure["value"] is not None
    }
    return {
        "words": METHOD_WORDS,
        "agreement": [
            kind
            for kind in _AGREEMENT
            if any(name == kind or name.startswith((f"{kind}_", f"{kind}(")) for name in names)
        ],
        "has_cronbach": bool(found["together"].get("cronbach")),
    }


def _collect_other_methods(found: dict[str, Any]) -> Context:
    """Collect other tests, effect sizes, and agreement by pairs."""
    criteria = found["criteria"]
    pairs = [pair for one in criteria for pair in one["pairs"]]
    correlations = found["together"].get("correlations") or ()
    return {
        "checks": _choose(_OTHER_TESTS, (one for pair in pairs for one in pair["checks"])),
        "tests_of_all": _choose(_TESTS_OF_ALL, (one for each in criteria for one in each["tests"])),
        "sizes": _choose(_SIZES, (one for pair in pairs for one in pair["sizes"])),
        "other_agreement": _choose(
            _OTHER_AGREEMENT, (one for each in criteria for one in each["agreement"])
        ),
        "has_kappas": any(one.get("kappas") for one in criteria),
        "has_correlations": any(figure["value"] is not None for figure in correlations),
    }


def _collect_metrics(criteria: Criteria) -> Context:
    """Collect which automatic metrics were compared with people's ratings, and how."""
    parts = [one["metrics"] for one in criteria if one.get("metrics")]
    levels = {level for part in parts for one in part["metrics"] for level in one["levels"]}
    return {
        "metrics": list(dict.fromkeys(one["metric"] for part in parts for one in part["metrics"])),
        "has_metric_levels": len(levels) > 1,
        "has_means_within": "within_inputs" in levels,
        "are_metrics_compared": any(part["pairs"] for part in parts),
    }


# --- parts --------------------------------------------------------------------------------


def _headline(criterion: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = criterion["systems"][0]["headline"] if criterion["systems"] else {}
    return found


def _list_labels(criteria: Criteria) -> list[str]:
    return [one["label"] for one in criteria]


def _name_headline(criterion: dict[str, Any]) -> str:
    """Return the name of the first figure of a system; means of turns are means of means."""
    name: str = _headline(criterion)["name"]
    return f"{name}_of_turns" if criterion.get("family") == TURNS.name else name


def _group(
    criteria: Criteria, find: Callable[[dict[str, Any]], Any]
) -> list[tuple[Any, list[dict[str, Any]]]]:
    """Group the criteria by what is found of them, in order."""
    groups: dict[Any, list[dict[str, Any]]] = {}
    for criterion in criteria:
        groups.setdefault(find(criterion), []).append(criterion)
    return list(groups.items())


def _choose(kinds: Sequence[str], figures: Iterable[dict[str, Any]]) -> list[str]:
    """Choose the kinds of which some figure has a value."""
    names = {figure["name"].partition(", ")[0] for figure in figures if figure["value"] is not None}
    return [kind for kind in kinds if kind in names]
