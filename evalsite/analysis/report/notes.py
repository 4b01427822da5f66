"""Notes of a report: words to read, warnings, and how figures were computed."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from evalsite.analysis.design import count_parts
from evalsite.analysis.direction import CLEAR
from evalsite.analysis.families import find_family, get_numbers
from evalsite.analysis.families.family import name_unit
from evalsite.analysis.figure import (
    ALL_EQUAL,
    METHODS_VERSION,
    REML,
    Cautions,
    Figure,
    make_note,
)
from evalsite.analysis.findings import MODEL_MEANS, explain_disagreement, list_narrower
from evalsite.analysis.icc import SHARES
from evalsite.analysis.missing import find_shift, is_suspect
from evalsite.analysis.table import Table

# --- words to read --------------------------------------------------------------------
_AT_ONCE = 10_000  # rows; texts may be long
# columns of items.csv that aren't inputs; those of gold begin with gold_
_NO_INPUTS = frozenset({
    "study", "batch", "item", "group", "cluster", "kind", "repeat_of", "held", "output_id",
    "system", "output", "output_is_empty", "extra", "item_no", "group_no",
})  # fmt: skip


def count_words(path: Path) -> pd.DataFrame:
    """Return for each text of each item in an exported items.csv: `item`, `text` (equal texts have
    equal numbers) and `words`.

    Words are separated by spaces: a script without spaces seems to have few words, so nobody
    seems too fast. Without a column output the frame is empty.
    """
    counted = [pd.DataFrame({"item": [], "text": [], "words": []})]
    with pd.read_csv(path, dtype=str, keep_default_na=False, chunksize=_AT_ONCE) as parts:
        counted += [_count(part) for part in parts if "output" in part]
    # each output has a row, which repeats the inputs of its item
    return pd.concat(counted[1:] or counted, ignore_index=True).drop_duplicates(["item", "text"])


def _count(rows: pd.DataFrame) -> pd.DataFrame:
    inputs = [
        name for name in rows.columns if name not in _NO_INPUTS and not name.startswith("gold_")
    ]
    texts = rows.melt(id_vars="item", value_vars=["output", *inputs], value_name="of")
    words = texts.of.map(lambda text: len(text.split())).astype(float)
    numbers = pd.util.hash_array(texts.of.to_numpy(dtype=object))
    return pd.DataFrame({"item": texts["item"], "text": numbers, "words": words})


# --- warnings -------------------------------------------------------------------------
FEW_RATERS = 5  # fewer than this and no method rescues a claim about raters
FEW_ITEMS = 10
FEW_CLUSTERS = 5


def warn_about(table: Table) -> list[dict[str, Any]]:
    """Return the warnings about all of the data."""
    rows = table.rows
    warnings = [
        make_note(origin, ratings=count, total=len(rows))
        for origin in ("simulated", "imported")
        if (count := int((rows.origin == origin).sum()))
    ]
    if not table.raters_known:
        warnings.append(make_note("raters_unknown"))
    clusters = rows[rows.cluster != ""].cluster.nunique()
    if 0 < clusters < FEW_CLUSTERS:
        warnings.append(make_note("few_clusters", clusters=clusters))
    if table.raters_known and count_parts(rows) > 1:
        warnings.append(make_note("unlinked"))
    return warnings


def warn_of_few(parts: Mapping[str, Table]) -> list[dict[str, Any]]:
    """Return warnings of few raters or inputs, by criterion, or of all data if all have few.

    `parts`: the ratings or answers of each criterion that has some.
    """
    few_raters: dict[int, list[str]] = {}
    few_items = []
    for key, part in parts.items():
        raters = part.rows.participant.nunique()
        if part.raters_known and raters < FEW_RATERS:
            few_raters.setdefault(raters, []).append(key)
        if part.rows.group.nunique() < FEW_ITEMS:
            few_items.append(key)

    def list_criteria(keys: list[str]) -> list[str | None]:
        return [None] if len(keys) == len(parts) else [*keys]

    return [
        make_note("few_raters", key, raters=raters, keeps_error_rate=False)
        for raters, keys in few_raters.items()
        for key in list_criteria(keys)
    ] + [make_note("few_items", key) for key in list_criteria(few_items) if few_items]


def drop_repeated(
    warnings: Sequence[dict[str, Any]], criteria: Collection[str]
) -> list[dict[str, Any]]:
    """Return the warnings without those of few raters where "one rater" says the same and more.

    `criteria`: the keys of all that have ratings, which a warning of no criterion is about.
    """
    of_one = {note["criterion"] for note in warnings if note["code"] == "one_rater"}
    return [
        note
        for note in warnings
        if note["code"] != "few_raters"
        or note["facts"]["raters"] > 1
        or not ({note["criterion"]} if note["criterion"] else set(criteria)) <= of_one
    ]


# warnings that contradict the claim that tests keep their error rate
_DOUBTS = frozenset({
    "simulated", "raters_unknown", "own_error_differs", "copied", "both_alike",
    "missing_by_system", "clusters_not_named",
})  # fmt: skip
_CLAIMED_FROM = 3  # raters, the fewest in the simulations


def claim_error_rate(
    warnings: Sequence[dict[str, Any]], criteria: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return the warnings, those of few raters with a fact: whether simulations back the tests.

    They do if each criterion is compared by the model of all systems and nothing else is in doubt.
    `criteria`: with their pairs.
    """

    def is_claimed(note: Mapping[str, Any]) -> bool:
        key = note["criterion"]
        doubted = {
            other["code"] for other in warnings if key is None or other["criterion"] in (None, key)
        }
        effects = [
            pair["effect"]
            for criterion in criteria
            if key in (None, criterion["key"])
            for pair in criterion["pairs"]
        ]
        return (
            note["facts"]["raters"] >= _CLAIMED_FROM
            and not doubted & _DOUBTS
            and bool(effects)
            and all(effect.method == REML and effect.value is not None for effect in effects)
        )

    return [
        note
        if note["code"] != "few_raters"
        else {**note, "facts": {**note["facts"], "keeps_error_rate": is_claimed(note)}}
        for note in warnings
    ]


def warn_of_missing(
    criterion: Mapping[str, Any], absent: Sequence[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Return a warning for each system whose ratings are missing more often than the others'."""
    pairs, better = criterion["pairs"], criterion["better"]
    effect = pairs[0]["effect"].name if pairs else "difference"
    return [
        make_note(
            "missing_by_system",
            criterion["key"],
            **entry,
            better=better,
            unit=name_unit(criterion),
            effect=effect,
            shift=find_shift(entry, pairs, better),
        )
        for entry in absent
        if is_suspect(entry)
    ]


def warn_of_criterion(key: str, cautions: Cautions) -> list[dict[str, Any]]:
    """Return the warnings of a criterion, without those that `warn_of_few` or notes give."""
    # a variance of 0 is a valid answer, so a note reports it
    reported_elsewhere = {"raters_unknown", "singular_model"}
    return [
        make_note(code, key, **facts)
        for code, facts in cautions.items()
        if code not in reported_elsewhere
    ]


# --- how figures were computed --------------------------------------------------------
_CLASSICS = ("friedman", "mcnemar", "cochran_q")


def list_conclusions(criterion: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return which clear pairs share a tier, where two models decide on these, and what a study
    like this one detects, if a planned comparison isn't clear."""
    return [*_find_clear_within_tier(criterion), *_find_power(criterion)]


def _find_clear_within_tier(criterion: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if not find_family(criterion).compares:
        return
    tiers = {system["system"]: system["cluster"] for system in criterion["systems"]}
    together = [
        [pair["system_1"], pair["system_2"]]
        for pair in criterion["pairs"]
        if pair["finding"]["code"] in CLEAR
        and tiers[pair["system_1"]] == tiers[pair["system_2"]] is not None
    ]
    if together:
        yield make_note("clear_within_tier", pairs=together)


def _find_power(criterion: Mapping[str, Any]) -> list[dict[str, Any]]:
    pairs = criterion["pairs"]
    detectable = criterion.get("detectable")
    is_unclear = any(
        pair["finding"]["code"] == "not_enough" and not pair["finding"]["facts"]["is_exploratory"]
        for pair in pairs
    )
    if detectable is None or not is_unclear:
        return []
    if detectable.value is None:
        return [make_note("nothing_detectable")]
    return [
        make_note(
            "detectable",
            unit=name_unit(criterion),
            effect=pairs[0]["effect"].name,
            value=detectable.value,
            low=detectable.low,
            high=detectable.high,
            tests=detectable.details["tests"],
        )
    ]


def list_notes(criterion: Mapping[str, Any], seed: int) -> list[dict[str, Any]]:
    """Return the notes on one criterion, whose systems, pairs and agreement are figures."""
    return [*_list_all(criterion), make_note("seed", seed=seed, methods=METHODS_VERSION)]


def _list_all(criterion: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    systems, pairs = criterion["systems"], criterion["pairs"]
    family = find_family(criterion)
    if role := criterion.get("role"):
        yield make_note(f"{role}_criterion")
    yield make_note("headline", family=family.name)
    if family.has_points:
        yield make_note("equal_spacing")
    if systems:
        yield from _describe_system(systems[0], criterion["drawn"])
    if slips := criterion.get("slips"):
        yield make_note(
            "slips_counted",
            slips=slips.value,
            scores=slips.n["ratings"],
            method=slips.method,
        )
    if pairs:
        yield from _describe_pairs(pairs, criterion.get("baseline"))
    yield from _describe_classics(criterion["tests"])
    if order := criterion.get("order"):
        strength: Figure = order[0]["strength"]
        yield make_note(
            "order_on_page",
            method=strength.method,
            interval=strength.details.get("interval", ""),
            draws=strength.details.get("draws", 0),
            left_out=strength.details.get("draws_separated", 0),
        )
    yield from _describe_model(criterion.get("model") or {})
    yield from get_numbers(family).list_notes(criterion)
    tests = criterion["tests"]
    if any(test.name == "position_effect" and test.value is not None for test in tests):
        yield make_note("place_in_model")
    if ranks := [system["rank"] for system in systems if system["rank"]]:
        yield make_note("rank_ranges")
        yield from _describe_overlap(ranks)
    if figures := criterion["agreement"]:
        yield from _describe_agreement(figures)
        yield from explain_disagreement(criterion)


def _describe_overlap(ranks: Sequence[Mapping[str, int]]) -> Iterator[dict[str, Any]]:
    """Yield a note that names the ranges that overlap with another."""
    ranges = sorted({(rank["low"], rank["high"]) for rank in ranks})
    overlapping = [
        [low, high]
        for low, high in ranges
        if any(
            low <= other_high and other_low <= high
            for other_low, other_high in ranges
            if (other_low, other_high) != (low, high)
        )
    ]
    if overlapping:
        yield make_note("ranks_overlap", ranges=overlapping)


def _describe_system(system: Mapping[str, Any], drawn: str) -> Iterator[dict[str, Any]]:
    yield _describe_interval(system["headline"], drawn)
    for figure in system.get("averages", []):
        if figure.name in MODEL_MEANS and figure.value is None:
            yield make_note("no_model_mean", reason=str(figure.reason))
        elif figure.name in MODEL_MEANS:
            yield make_note("model_mean", method=figure.method)


def _describe_interval(headline: Figure, drawn: str) -> dict[str, Any]:
    draws = headline.details.get("draws")
    if not draws:
        return make_note("interval_of_headline", how=headline.details.get("interval", ""))
    return make_note(
        "interval_by_draws",
        level=headline.level,
        draws=draws,
        drawn=drawn,
        has_raters="raters" in headline.n,
    )


def _describe_pairs(
    pairs: Sequence[Mapping[str, Any]], baseline: str | None
) -> Iterator[dict[str, Any]]:
    effects: list[Figure] = [pair["effect"] for pair in pairs]
    compared = [effect for effect in effects if effect.value is not None]
    if not compared:
        yield make_note("nothing_compared")
        return
    # a pair that shares its only input is compared by another method than all other pairs
    methods = [
        effect.method for effect in sorted(compared, key=lambda effect: "only" in effect.details)
    ]
    if methods[0] == ALL_EQUAL:
        yield make_note("nothing_tested")
    else:
        yield make_note("compared_by", method=methods[0])
    if methods[-1] != methods[0] and any("only" in effect.details for effect in compared):
        yield make_note("compared_on_one_input", method=methods[-1])
    if any(pair["finding"]["code"] == "by_one_rater" for pair in pairs):
        yield make_note("not_tested_by_one_rater")
        return
    details = compared[0].details
    family, within = details.get("family", 0), details.get("family_within", 0)
    yield make_note(
        "corrected",
        pairs=sum(effect.details.get("p") is not None for effect in compared),
        baseline=baseline,
        family=family,
        elsewhere=max(0, family - within),
    )
    if any(pair.get("own") is not None for pair in pairs):
        yield make_note("own_errors_in_data")
    if checks := [check.method for check in pairs[0]["checks"]]:
        yield make_note("checks", methods=checks)
        if narrower := list_narrower(pairs):
            yield make_note("checks_over_inputs", pairs=narrower)
    sizes = [size for pair in pairs for size in pair["sizes"]]
    if draws := [size.details["draws"] for size in sizes if size.low is not None]:
        yield make_note("draws_of_sizes", draws=max(draws))
        # the share of wins counts answers, each of which compares both systems
        if any(size.name != "win_share" for size in sizes):
            yield make_note("sizes_over_inputs")


def _describe_classics(tests: Sequence[Figure]) -> Iterator[dict[str, Any]]:
    """Yield notes on the tests that old papers report, which see less of the design."""
    for test in tests:
        if test.name in _CLASSICS:
            yield make_note(
                "classic_test",
                test=test.name,
                method=test.method,
                tied=test.n.get("inputs_tied", 0),
                incomplete=test.n.get("inputs_incomplete", 0),
            )


def _describe_model(model: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if not model:
        return
    yield make_note("model_terms", terms=list(model["terms"]))
    for term, why in model.get("dropped", {}).items():
        yield make_note("model_term_left_out", term=term, why=why)
    if variances := model.get("variances"):
        yield make_note("model_variances", variances=dict(variances), residual=model["residual"])
    if model.get("singular"):
        yield make_note("variance_of_zero")
    if fallback := model.get("fallback"):
        yield make_note("model_not_used", why=fallback)


def _describe_agreement(figures: Sequence[Figure]) -> Iterator[dict[str, Any]]:
    yield make_note(
        "agreement_over",
        # only outputs are rated; other units are answered
        unit=figures[0].details.get("unit", "output"),
        left_out=figures[0].n.get("units_left_out", 0),
    )
    shares = {
        figure.name: figure.value for figure in figures if figure.name.startswith("share_of_")
    }
    if len(shares) == len(SHARES) and all(value is not None for value in shares.values()):
        yield make_note(
            "shares_of_variance",
            units=shares["share_of_units"],
            raters=shares["share_of_raters"],
            rest=shares["share_of_rest"],
        )
    if any(figure.details.get("warning") for figure in figures):
        yield make_note("icc_with_gaps")
