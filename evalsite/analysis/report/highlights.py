"""The part of a report on passages that raters marked."""

from collections import defaultdict

import pandas as pd

from evalsite.analysis.figure import Figure
from evalsite.analysis.highlights import Seen, Span, compare_highlights
from evalsite.analysis.table import Table


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
