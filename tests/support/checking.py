"""What a file contains for a study: the first step of an import, which stores nothing."""

from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

from evalsite.data.importing import aim_at_study, check_source
from evalsite.data.items.importer import ITEMS
from evalsite.data.items.items import CheckedItems
from evalsite.data.judges.importer import JUDGES, CheckedLabels
from evalsite.data.metrics.importer import METRICS, CheckedScores
from evalsite.data.ratings.answers import CheckedRatings
from evalsite.data.ratings.importer import RATINGS
from evalsite.data.tables.reader import FileMapping
from evalsite.data.tables.table import Limits
from evalsite.studies.models import Study


def check_file(
    source: BinaryIO,
    *,
    study: Study,
    mapping: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    tell: Callable[[int], None] | None = None,
) -> CheckedItems:
    """What a file of items contains for this study."""
    checked: CheckedItems = check_source(
        ITEMS,
        source,
        target=aim_at_study(study),
        limits=limits,
        tell=tell,
        mapping=FileMapping.read(mapping, options),
    )
    return checked


def check_scores(
    source: BinaryIO,
    *,
    study: Study,
    mapping: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> CheckedScores:
    """What a file of scores contains for this study."""
    checked: CheckedScores = check_source(
        METRICS, source, target=aim_at_study(study), mapping=FileMapping.read(mapping, options)
    )
    return checked


def check_labels(
    source: BinaryIO,
    *,
    study: Study,
    mapping: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
) -> CheckedLabels:
    """What a file of judges' labels contains for this study."""
    checked: CheckedLabels = check_source(
        JUDGES, source, target=aim_at_study(study), mapping=FileMapping.read(mapping, options)
    )
    return checked


def check_ratings(
    source: BinaryIO,
    *,
    study: Study,
    mapping: Mapping[str, str] | None = None,
    options: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
) -> CheckedRatings:
    """What a file of ratings contains for this study."""
    checked: CheckedRatings = check_source(
        RATINGS,
        source,
        target=aim_at_study(study),
        limits=limits,
        mapping=FileMapping.read(mapping, options),
    )
    return checked
