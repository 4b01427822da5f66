"""What tests of imported ratings share: files for any protocol, and importing them."""

import io
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

from evalsite.data.importing import Source
from evalsite.data.ratings.answers import CheckedRatings
from evalsite.data.ratings.store import import_ratings
from evalsite.handout.models import RatingsFile
from evalsite.instruments.schema import Criterion
from evalsite.studies.models import Item, Study
from tests.support.batches import Row, write_csv
from tests.support.checking import check_ratings

__all__ = ["Row", "check", "load", "rows_for", "value_of", "write_csv"]


def value_of(criterion: Criterion, number: int) -> str:
    """A value that the scale allows; another one for other numbers."""
    scale = criterion.scale
    if scale.keeps_typed:
        return str(50 + 10 * number)
    if words := list(scale.file_words()):
        return words[number % 2].upper()
    return str(scale.minimum + number % (scale.maximum - scale.minimum + 1))


def rows_for(study: Study, people: Iterable[str] = ("w1",), items: Iterable[Any] = ()) -> list[Row]:
    """Each of these people rates each main item of the study, all that is asked."""
    wanted = list(items) or list(Item.objects.main().filter(study=study).order_by("id"))
    rows: list[Row] = []
    for person in people:
        for number, item in enumerate(wanted):
            systems = [output.system.name for output in item.outputs.order_by("position")]
            for criterion in study.config.criteria:
                given = {"participant": person, "item": item.key, "criterion": criterion.key}
                if not criterion.per_output:
                    choices = [*systems, "tie"]
                    rows.append(given | {"preferred": choices[number % 3]})
                    continue
                for place, system in enumerate(systems, start=1):
                    value = value_of(criterion, number + place)
                    rows.append(given | {"system": system, "value": value, "place": str(place)})
    return rows


def check(
    study: Study,
    rows: Sequence[Row] | str,
    mapping: dict[str, str] | None = None,
    **options: Any,
) -> CheckedRatings:
    text = rows if isinstance(rows, str) else write_csv(rows)
    return check_ratings(io.BytesIO(text.encode()), study=study, mapping=mapping, options=options)


def load(
    study: Study,
    rows: Sequence[Row] | str,
    *,
    has_persons: bool = True,
    by: Any = None,
    mapping: dict[str, str] | None = None,
    **options: Any,
) -> RatingsFile:
    """The rows are imported; AssertionError with the faults, if there are any."""
    study.refresh_from_db()
    text = rows if isinstance(rows, str) else write_csv(rows)
    checked = check(study, text, mapping, **options)
    assert [str(fault) for fault in checked.faults] == []
    source = Source(
        study=study,
        file_name="ratings.csv",
        sha256=sha256(text.encode()).hexdigest(),
        options={"has_persons": has_persons},
    )
    return import_ratings(checked=checked, source=source, by=by)
