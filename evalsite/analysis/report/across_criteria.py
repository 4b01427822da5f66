"""The part of a report across criteria: correlations, decisions beside scores, what was ignored."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from evalsite.analysis.acceptance import compare_with_scores, find_contradictions
from evalsite.analysis.criterion_correlation import correlate_criteria, cronbach, mean_by_output
from evalsite.analysis.families.family import Family
from evalsite.analysis.figure import Figure
from evalsite.analysis.highlights import Seen, Span, compare_highlights
from evalsite.analysis.report.ignored import Ignored, report_ignored
from evalsite.analysis.table import Table

# a decision against all scores: rejected with all of these or more, accepted with one of those
_GOOD_SHARE, _BAD_SHARE = 5 / 6, 1 / 6
MOST_LISTED = 1000


def report_together(
    table: Table,
    others: Mapping[str, pd.DataFrame],
    families: Mapping[str, Family],
    seed: int,
    ignored: Ignored | None = None,
) -> dict[str, Any]:
    """What several criteria say together; each part None where the study has none of it.

    `others`: the exported files highlights and items, as far as there are any. `families`: by
    criterion. `ignored`: what raters ignored, if they ignored anything.
    """
    scored = [key for key, family in families.items() if family.is_scored]
    outputs = mean_by_output(table.rows[table.rows.criterion.isin(scored)])
    block = table.rows.drop_duplicates("output").set_index("output").block
    found: dict[str, Any] = {
        "correlations": [],
        "cronbach": None,
        "decision": None,
        "contradictions": None,
        **report_ignored(ignored, table, seed),
        "highlights": report_marked(table, others.get("highlights"), others.get("items"), seed),
    }
    if (both := _pair_decisions(table, families)) is not None:
        found["decision"] = _report_decisions(*both, seed)
        found["decision"] += _count_contradictions(table, *both)
        found["contradictions"] = _list_contradictions(table, *both)
    # a criterion of the instrument may have no ratings yet
    scored = [key for key in scored if key in outputs]
    if len(scored) > 1 and len(outputs):
        outputs = outputs[scored]
        blocks = outputs.index.map(block)
        correlations = correlate_criteria(outputs, block=blocks, seed=seed)
        found["correlations"] = [
            _describe_of(replace(figure, name="criteria_spearman"), *both)
            for both, figure in correlations.items()
        ]
        found["cronbach"] = cronbach(outputs, block=blocks, seed=seed)
    return found


def _describe_of(figure: Figure, *criteria: str) -> Figure:
    """The figure with the keys of the criteria that it is of; pages show their labels."""
    return replace(figure, details={**figure.details, "criteria": list(criteria)})


def warn_of_likeness(
    together: Mapping[str, Any], labels: Mapping[str, str]
) -> list[dict[str, Any]]:
    """A warning where criteria go together so closely that raters may not tell them apart."""
    alike = [one for one in together["correlations"] if one.details.get("too_alike")]
    if not alike:
        return []
    phrases = [
        f"{' and '.join(labels.get(key, key) for key in one.details['criteria'])} ({one.value:.2f})"
        for one in alike
    ]
    text = (
        f"Raters may not tell these criteria apart, by Spearman over outputs: {', '.join(phrases)}."
    )
    return [{"code": "too_alike", "text": text, "criterion": "together"}]


def _pair_decisions(
    table: Table, families: Mapping[str, Family]
) -> tuple[pd.Series, pd.DataFrame] | None:
    """The decisions and the scores of the same outputs by the same raters, in equal order; None
    where the study has not both."""
    decisions = [key for key, family in families.items() if family.decides]
    scores = [key for key, family in families.items() if family.has_points]
    if not decisions or not scores:
        return None
    wide = table.rows.pivot_table(
        index=["annotation", "output", "block"], columns="criterion", values="value"
    )
    wanted = [*decisions[:1], *scores]
    if not set(wanted) <= set(wide.columns):
        return None
    wide = wide[wanted].dropna()
    return wide[decisions[0]], wide[scores]


def _report_decisions(accepted: pd.Series, scores: pd.DataFrame, seed: int) -> list[Figure]:
    """Whether decisions follow the scores of the same outputs by the same raters."""
    return [
        _describe_of(replace(figure, name=name), one.criterion)
        for one in compare_with_scores(
            accepted=accepted,
            scores=scores,
            block=scores.index.get_level_values("block"),
            seed=seed,
        )
        for name, figure in one.figures.items()
    ]


def _find_contradictions(
    table: Table, accepted: pd.Series, scores: pd.DataFrame
) -> tuple[pd.DataFrame, dict[str, str]] | None:
    """The contradictions and their reasons in words; None where the scale is not known."""
    rows = table.rows[table.rows.criterion.isin(scores.columns)]
    low, high = rows.scale_min.min(), rows.scale_max.max()
    if pd.isna(low) or pd.isna(high):
        return None
    good = low + (high - low) * _GOOD_SHARE
    bad = low + (high - low) * _BAD_SHARE
    texts = {
        "rejected": f"rejected, though every score is {good:g} or more",
        "accepted": f"accepted, though a score is {bad:g} or less",
    }
    return find_contradictions(accepted=accepted, scores=scores, good=good, bad=bad), texts


def _count_contradictions(table: Table, accepted: pd.Series, scores: pd.DataFrame) -> list[Figure]:
    if (known := _find_contradictions(table, accepted, scores)) is None:
        return []
    found, texts = known
    return [
        Figure(
            name=text,
            method="count of annotated outputs",
            value=float((found.why == why).sum()),
            details={"interval": "none: a count"},
            n={"outputs": len(scores)},
        )
        for why, text in texts.items()
    ]


def _list_contradictions(
    table: Table, accepted: pd.Series, scores: pd.DataFrame
) -> list[dict[str, Any]] | None:
    """The first of them, for somebody to look at again; None where there is none."""
    known = _find_contradictions(table, accepted, scores)
    if known is None or not len(known[0]):
        return None
    found, texts = known
    places = table.rows.drop_duplicates("output").set_index("output")[["item", "system"]]
    who = table.rows.drop_duplicates("annotation").set_index("annotation").participant
    first = found.sort_index().head(MOST_LISTED)
    return [
        {
            "annotation": annotation,
            "participant": who[annotation] if annotation else "",
            "item": places["item"][output],
            "system": places.system[output],
            "why": texts[why],
            "scores": {str(key): float(one) for key, one in given.items()},
        }
        for ((annotation, output, _), given), why in zip(
            scores.loc[first.index].iterrows(), first.why, strict=True
        )
    ]


def report_marked(
    table: Table, highlights: pd.DataFrame | None, items: pd.DataFrame | None, seed: int
) -> list[Figure] | None:
    """How much is marked and whether raters mark the same; None without the files for it.

    `highlights` and `items` are the exported files of these names. Every output that was rated
    counts as looked at, also where nothing was marked.
    """
    if highlights is None or items is None or not len(highlights) or not table.raters_known:
        return None
    spans: defaultdict[tuple[str, str], list[Span]] = defaultdict(list)
    for annotation, output, start, end in zip(
        highlights.annotation, highlights.output_id, highlights.start, highlights.end, strict=True
    ):
        spans[annotation, output].append((int(start), int(end)))
    looked_at = table.rows.drop_duplicates(["annotation", "output"])
    seen = [
        Seen(output=output, rater=rater, spans=tuple(spans[annotation, output]), block=block)
        for annotation, output, rater, block in zip(
            looked_at.annotation,
            looked_at.output,
            looked_at.participant,
            looked_at.block,
            strict=True,
        )
    ]
    texts = dict(zip(items.output_id, items.output, strict=True))
    return compare_highlights(seen, texts, seed=seed)
