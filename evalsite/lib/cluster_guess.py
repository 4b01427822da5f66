"""Clusters that a file doesn't name: items of one talk or document resemble each other."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

# columns, and what their values are called
_NOUNS = {
    "document": "documents", "doc": "documents", "doc_id": "documents",
    "conversation": "conversations", "dialogue": "dialogues", "thread": "threads",
    "session": "sessions", "talk": "talks", "article": "articles", "story": "stories",
    "passage": "passages", "episode": "episodes", "chapter": "chapters", "source_id": "sources",
    "context_id": "contexts", "topic": "topics", "url": "pages",
}  # fmt: skip
_FEWEST = 3
# of as many clusters as items there is nothing to learn
_MOST_OF_ITEMS, _MOST_OF_IDS = 0.6, 0.5
_SPLIT, _SHARED = 0.9, 0.8  # of ids: those with a prefix, and those that share theirs
_ID = re.compile(r"(.+)[-_.:/#|][A-Za-z0-9]{1,8}", re.DOTALL)
FEW_CLUSTERS = 5


@dataclass(frozen=True, kw_only=True)
class ClusterGuess:
    """What items seem to belong to: the values of a `column` or, if it is "", the beginnings of
    their ids. `is_likely` is the answer that is suggested."""

    column: str
    clusters: Mapping[str, str]  # of each item
    is_likely: bool

    @property
    def number(self) -> int:
        return len(set(self.clusters.values()))

    @property
    def noun(self) -> str:
        """Return what the clusters are called: "talks"."""
        return _NOUNS.get(_fold(self.column), "clusters")


def is_cluster_name(column: str) -> bool:
    """Return whether a column is called like something that items belong to."""
    return _fold(column) in _NOUNS


def _fold(column: str) -> str:
    return column.strip().casefold().replace(" ", "_")


def guess_clusters(
    items: Sequence[str], columns: Mapping[str, Iterable[tuple[str, str]]]
) -> ClusterGuess | None:
    """Return what the items seem to belong to, if anything.

    `columns`: of each column that may say so, pairs of item and value.
    """
    items = list(dict.fromkeys(items))
    for column, cells in columns.items():
        if not is_cluster_name(column):
            continue
        values = dict(cells)
        # an item with two values belongs to neither
        is_clear = all(values[item] == value for item, value in cells)
        number = len(set(values.values()))
        if (
            is_clear
            and len(values) == len(items)
            and _FEWEST <= number <= _MOST_OF_ITEMS * len(items)
        ):
            return ClusterGuess(column=column, clusters=values, is_likely=True)
    return _guess_by_ids(items)


def _guess_by_ids(items: Sequence[str]) -> ClusterGuess | None:
    split = {item: match[1] for item in items if (match := _ID.fullmatch(item))}
    counts = Counter(split.values())
    shared = sum(count for count in counts.values() if count > 1)
    if (
        len(split) < _SPLIT * len(items)
        or not _FEWEST <= len(counts) <= _MOST_OF_IDS * len(items)
        or shared < _SHARED * len(items)
    ):
        return None
    clusters = {item: split.get(item, item) for item in items}
    # three or four beginnings are as well three or four files
    return ClusterGuess(column="", clusters=clusters, is_likely=len(counts) >= FEW_CLUSTERS)
