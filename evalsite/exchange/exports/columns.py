"""The columns of exported files: declared once, for the writer and for the codebook."""

from evalsite.exchange.exports.annotation_columns import ANNOTATIONS
from evalsite.exchange.exports.highlight_columns import HIGHLIGHTS
from evalsite.exchange.exports.item_columns import list_item_columns
from evalsite.exchange.exports.metric_columns import METRICS
from evalsite.exchange.exports.people_columns import PARTICIPANTS
from evalsite.exchange.exports.rating_columns import RATINGS
from evalsite.exchange.exports.shared_columns import ONE_OF, TEXT, YES_NO, Column
from evalsite.exchange.exports.wide_columns import list_wide
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
    files = FILES | {"ratings_wide": list_wide(config), "items": list_item_columns(config)}
    is_there = {"highlights": config.has_highlight}
    return {name: files[name] for name in NAMES if is_there.get(name, True)}
