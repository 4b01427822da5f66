"""The columns of exported files: declared once, for the writer and for the codebook."""

from evalsite.exports.annotation_columns import ANNOTATIONS
from evalsite.exports.highlight_columns import HIGHLIGHTS
from evalsite.exports.item_columns import list_item_columns
from evalsite.exports.metric_columns import METRICS
from evalsite.exports.people_columns import PARTICIPANTS
from evalsite.exports.rating_columns import RATINGS, list_rating_columns
from evalsite.exports.shared_columns import ONE_OF, TEXT, YES_NO, Column
from evalsite.exports.wide_columns import list_wide
from evalsite.protocol import Protocol

__all__ = ["FILES", "HIGHLIGHTS", "NAMES", "ONE_OF", "TEXT", "YES_NO", "Column", "list_files"]

# every file there is, in the order in which pages list them
NAMES = (
    "ratings", "ratings_wide", "annotations", "items", "highlights", "participants", "metrics",
)  # fmt: skip
# those that are the same whatever the protocol
FILES: dict[str, tuple[Column, ...]] = {
    "ratings": RATINGS,
    "annotations": ANNOTATIONS,
    "highlights": HIGHLIGHTS,
    "participants": PARTICIPANTS,
    "metrics": METRICS,
}


def list_files(config: Protocol) -> dict[str, tuple[Column, ...]]:
    """The files that a study of this protocol has."""
    files = FILES | {
        "ratings": list_rating_columns(),
        "ratings_wide": list_wide(config),
        "items": list_item_columns(config),
    }
    is_there = {"highlights": config.has_highlight}
    return {name: files[name] for name in NAMES if is_there.get(name, True)}
