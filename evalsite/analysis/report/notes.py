"""Notes of a report: words to read, warnings, and how figures were computed."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from evalsite.analysis.design import count_parts
from evalsite.analysis.disagreement import SHARES
from evalsite.analysis.explanations import explain_disagreement
from evalsite.analysis.families import find_family, get_numbers
from evalsite.analysis.figure import ALL_EQUAL, METHODS_VERSION, Cautions, Figure, make_note
from evalsite.analysis.other_tests import describe_narrower
from evalsite.analysis.table import Table

# --- words to read --------------------------------------------------------------------


_AT_ONCE = 10_000  # rows; texts may be long
# columns of items.csv that are no inputs; those of gold begin with gold_
_NO_INPUTS = frozenset({
    "study", "batch", "item", "group", "cluster", "kind", "repeat_of", "held", "output_id",
    "system", "output", "output_is_empty", "extra", "item_no", "group_no",
})  # fmt: skip


def count_words(path: Path) -> pd.DataFrame:
    """Of each text of each item in an exported items.csv: `item`, `text` (equal texts have equal
    numbers) and `words`.

    Words are separated by blanks: in scripts without blanks there seem to be few, which
    puts no one below a floor. Without a column output the frame is empty.
    """
    counted = [pd.DataFrame({"item": [], "text": [], "words": []})]
    with pd.read_csv(path, dtype=str, keep_default_na=False, chunksize=_AT_ONCE) as parts:
        counted += [_count(part) for part in parts if "output" in part]
    # a row for each output, every one with the inputs of the item
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


FEW_RATERS = 5
FEW_ITEMS = 10


def warn_about(table: Table) -> list[dict[str, Any]]:
    """What is true of all of the data."""
    rows = table.rows
    found = [
        make_note(origin, ratings=count, total=len(rows))
        for origin in ("simulated", "imported")
        if (count := int((rows.origin == origin).sum()))
    ]
    if not table.raters_known:
        found.append(make_note("raters_unknown"))
    if table.raters_known and count_parts(rows) > 1:
        found.append(make_note("unlinked"))
    return found


def warn_of_few(parts: Mapping[str, Table]) -> list[dict[str, Any]]:
    """Where few raters or inputs count, by criterion; said of all of the data where all do.

    `parts`: of each criterion that has some, its ratings or answers.
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
        make_note("few_raters", key, raters=raters)
        for raters, keys in few_raters.items()
        for key in list_criteria(keys)
    ] + [make_note("few_items", key) for key in list_criteria(few_items) if few_items]


def warn_of_criterion(key: str, cautions: Cautions) -> list[dict[str, Any]]:
    """What is true of one criterion, less what is said elsewhere (as by `warn_of_few`)."""
    # a variance of 0 is a valid answer: the notes tell it
    said_elsewhere = {"few_raters", "raters_unknown", "few_items", "singular_model"}
    return [
        make_note(code, key, **facts)
        for code, facts in cautions.items()
        if code not in said_elsewhere
    ]


# --- how figures were computed --------------------------------------------------------


_TERMS = {
    "rater": "rater",
    "group": "input",
    "cluster": "cluster of inputs",
    "group:system": "input and system",
    "cluster:system": "cluster of inputs and system",
    "input:system": "input and system",
    "rater:system": "rater and system",
    "rater:group": "rater and input",
}

_CLASSICS = {
    "friedman": "A test of all systems",
    "mcnemar": "A classic test beside it",
    "cochran_q": "A classic test of all systems",
}


_ROLES = {
    "primary": "This is the primary criterion of the analysis plan: its corrected p values are the "
    "result of the study.",
    "secondary": "Secondary: p values are corrected within this criterion, not across criteria.",
}


_LEFT_OUT = {
    "inputs_tied": "as many decided yes as no on an output",
    "inputs_incomplete": "no rater decided on the output of a system",
}


def write_notes(criterion: Mapping[str, Any], seed: int) -> list[str]:
    """The sentences for one criterion, whose systems, pairs and agreement are figures."""
    return [*_write(criterion), f"Seed {seed}, methods version {METHODS_VERSION}."]


def _write(criterion: Mapping[str, Any]) -> Iterator[str]:
    systems, pairs = criterion["systems"], criterion["pairs"]
    family = find_family(criterion)
    yield from filter(None, (_ROLES.get(criterion.get("role", "")), family.headline))
    if systems:
        yield _describe_interval(systems[0]["headline"], criterion["drawn"])
        yield from _describe_model_means(systems[0].get("averages", []))
    if slips := criterion.get("slips"):
        yield (
            f"Possible slips, such as 700 for 70: {slips.value:,.0f} of {slips.n['ratings']:,} "
            f"scores ({slips.method}). They count in full; the winsorised mean moves "
            "each to that limit."
        )
    if pairs:
        yield from _describe_pairs(pairs, criterion.get("baseline"))
    yield from _describe_classics(criterion["tests"])
    if order := criterion.get("order"):
        yield _describe_order(order)
    yield from _describe_model(criterion.get("model") or {})
    yield from get_numbers(family).write_notes(criterion)
    if any(one.name == "position_effect" and one.value is not None for one in criterion["tests"]):
        yield "Davidson's model has a term for the place of an output on the page."
    if any(one["rank"] for one in systems):
        yield (
            "A rank range counts the systems that are clearly above, and those that are clearly "
            "below: by simultaneous intervals of all differences, and by the corrected test of the "
            "pair. Ranges are widened where needed, so that no system has a better range than one "
            "with a higher estimate."
        )
    if figures := criterion["agreement"]:
        yield from _describe_agreement(figures)
        yield from explain_disagreement(criterion)


def _describe_interval(headline: Figure, drawn: str) -> str:
    details = headline.details
    draws = details.get("draws")
    if not draws:
        return f"Its interval: {details.get('interval', 'none')}."
    raters = " and raters, both" if "raters" in headline.n else ","
    return (
        f"Its interval holds the middle {headline.level:.0%} of {draws:,} draws of the bootstrap "
        f"over {drawn}{raters} resampled with replacement."
    )


def _describe_model_means(averages: Sequence[Figure]) -> Iterator[str]:
    """Whether there is a mean by the mixed model, and what it is."""
    for one in averages:
        if one.name in ("model_mean", "model_share"):
            yield (
                f"There is no mean by the mixed model ({str(one.reason).replace('_', ' ')})."
                if one.value is None
                else "The mean by the mixed model is the model's own mean of a system, so it "
                f"allows for who rated what: {one.method}. Its predictions for single outputs are "
                "in the table of outputs."
            )


def _describe_pairs(pairs: Sequence[Mapping[str, Any]], baseline: str | None) -> Iterator[str]:
    compared: list[Figure] = [one["effect"] for one in pairs if one["effect"].value is not None]
    if not compared:
        yield "No two systems are compared: the findings say why."
        return
    number = sum(effect.details.get("p") is not None for effect in compared)
    # of a pair that shares its only input, another method than of all other pairs
    methods = [one.method for one in sorted(compared, key=lambda one: "only" in one.details)]
    if methods[0] == ALL_EQUAL:
        yield "All ratings are equal, so nothing is tested."
    else:
        yield f"Systems are compared by: {methods[0]}. The item factor is the input, not the item."
    if methods[-1] != methods[0] and any("only" in one.details for one in compared):
        yield f"Two systems that share their only input, by: {methods[-1]}."
    if any(pair["finding"]["code"] == "one_rater" for pair in pairs):
        yield (
            "Nothing is tested, and there are no ranks: one rater says nothing about others. "
            "Intervals of pairs are of other inputs that this rater would rate."
        )
        return
    yield (
        f"The p values are two-sided and corrected by Holm's method for {number} "
        f"{'pair' if number == 1 else 'pairs'} of this criterion{_describe_family(baseline)}"
        f"{_describe_across(compared)}. "
        "Each interval is for its pair alone, so it may exclude zero although the corrected p is "
        "above .05."
    )
    if any(pair.get("own") is not None for pair in pairs):
        yield (
            "For each pair, the data also hold its difference by a model of the two systems alone, "
            "with a standard error of its own (own_error)."
        )
    checks = [f"({number}) {one.method}" for number, one in enumerate(pairs[0]["checks"], start=1)]
    if checks:
        yield f"Checks, not corrected: {' '.join(checks)}."
        yield from describe_narrower(pairs)
    yield from _describe_sizes(pairs)


def _describe_across(effects: Sequence[Figure]) -> str:
    """That p values are corrected for the comparisons of other criteria too."""
    details = effects[0].details
    across, within = details.get("family", 0), details.get("family_within", 0)
    if across <= within:
        return ""
    others = across - within
    noun = "comparison" if others == 1 else "comparisons"
    return f" and {others:,} {noun} of the other criteria, {across:,} in all"


def _describe_sizes(pairs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """How many draws the effect sizes rest on, and why one may point the other way."""
    draws = {one.details["draws"] for pair in pairs for one in pair["sizes"] if one.low is not None}
    if draws:
        yield f"Intervals of effect sizes: {max(draws):,} draws of the same bootstrap."
    # the share of answers won counts answers, each of which compares both systems
    if draws and any(one.name != "win_share" for pair in pairs for one in pair["sizes"]):
        yield (
            "Effect sizes over inputs compare the means of all ratings of two systems. Where "
            "different raters rated the two, a size may point the other way than the tested "
            "difference."
        )


def _describe_family(baseline: str | None) -> str:
    if baseline is None:
        return ""
    return f": those with the baseline {baseline}, no others are tested"


def _describe_classics(tests: Sequence[Figure]) -> Iterator[str]:
    """The tests that old papers report: they see less of the design."""
    classics = [one for one in tests if one.name.partition(", ")[0] in _CLASSICS]
    for one in classics:
        yield f"{_CLASSICS[one.name.partition(', ')[0]]}: {one.method}. It ignores raters."
        if left_out := one.n.get("inputs_tied", 0) + one.n.get("inputs_incomplete", 0):
            phrases = [
                f"{one.n[key]:,} where {words}"
                for key, words in _LEFT_OUT.items()
                if one.n.get(key, 0)
            ]
            inputs = "1 input" if left_out == 1 else f"{left_out:,} inputs"
            yield f"It leaves out {inputs}: {' and '.join(phrases)}."


def _describe_order(order: Sequence[Mapping[str, Any]]) -> str:
    """How the ranking by the order within a page came about, and what its draws left out."""
    figure: Figure = order[0]["strength"]
    left_out = figure.details.get("draws_separated", 0)
    phrases = ""
    if left_out:
        draws = figure.details.get("draws", 0)
        phrases = (
            f" In {left_out:,} of {draws:,} draws some systems are always above others: those "
            "draws are left out; if they are more than 5% there is no interval."
        )
    return (
        f"Order on a page: {figure.method}; its interval: "
        f"{figure.details.get('interval', 'none')}. Rank ranges and tiers hold for all pairs at "
        f"once.{phrases}"
    )


def _describe_model(model: Mapping[str, Any]) -> Iterator[str]:
    if not model:
        return
    terms = ", ".join(_TERMS.get(term, term) for term in model["terms"])
    yield f"The mixed model of all systems has random effects of: {terms}."
    for term, why in model.get("dropped", {}).items():
        yield f"Left out of it: {_TERMS.get(term, term)}, since it {_name_terms(why)}."
    if variances := model.get("variances"):
        phrases = [f"{_TERMS.get(term, term)} {value:.3g}" for term, value in variances.items()]
        yield f"Its variances: {', '.join(phrases)}, residual {model['residual']:.3g}."
    if model.get("singular"):
        yield "A variance that is estimated as 0 is a valid answer."
    if fallback := model.get("fallback"):
        yield f"It was not used: {fallback}."


def _name_terms(why: str) -> str:
    """The reason with the terms that it names, as in "can't be told from rater and group in these
    ratings", in words."""
    start, end = "can't be told from ", " in these ratings"
    if not (why.startswith(start) and why.endswith(end)):
        return why
    terms = why.removeprefix(start).removesuffix(end).split(" and ")
    return f"{start}{' and from '.join(_TERMS.get(term, term) for term in terms)}{end}"


def _describe_agreement(figures: Sequence[Figure]) -> Iterator[str]:
    left_out = figures[0].n.get("units_left_out", 0)
    # what is no output is answered, not rated
    unit = figures[0].details.get("unit", "output")
    rated, rating = ("rated", "rating") if unit == "output" else ("answered", "answer")
    yield (
        f"Agreement is computed over {unit}s that two or more raters {rated}"
        + (f"; {left_out:,} with one {rating} are left out" if left_out else "")
        + ". Intervals treat raters and inputs as samples, unless a method says otherwise."
    )
    shares = {one.name: one.value for one in figures if one.name.startswith("share_of_")}
    if len(shares) == len(SHARES) and all(value is not None for value in shares.values()):
        yield (
            f"Of the variance of ratings, {shares['share_of_units']:.0%} lies between outputs, "
            f"{shares['share_of_raters']:.0%} between raters who are more or less strict, and "
            f"{shares['share_of_rest']:.0%} is the rest. Where agreement is low, this shows why: "
            "raters set apart by strictness, outputs that hardly differ, or noise."
        )
    if any(one.details.get("warning") for one in figures):
        yield (
            "Not every rater rated the same outputs, so use ICC(1,1) for a single rating, and "
            "ICC(1,k) for the mean of an output's ratings. The other forms assume that every rater "
            "rated every output."
        )
