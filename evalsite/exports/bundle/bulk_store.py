"""Store rows of a bundle in bulk; whatever is refused is a BadBundle that names its line."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from django.db import DatabaseError, models, transaction

from evalsite.exports.bundle.fields import Misshapen
from evalsite.exports.bundle.read import UNREADABLE, BadBundle, Row, in_pages

PAGE = 2_000


@contextmanager
def reading(row: Row) -> Iterator[None]:
    """Turn what can't be read in a row into a BadBundle that names the line."""
    try:
        yield
    except (Misshapen, *UNREADABLE) as error:
        words = str(error) if isinstance(error, Misshapen) else ""
        message = f"{words or 'something is missing or has the wrong type'}."
        raise BadBundle("row_invalid", message, row.file, row.line) from None


def store_rows(pairs: Iterable[tuple[Row, models.Model]]) -> None:
    """Store rows of one model; if the database refuses one, the BadBundle names its line."""
    for page in in_pages(pairs, PAGE):
        model = type(page[0][1])
        try:
            with transaction.atomic():
                model._default_manager.bulk_create([made for _, made in page])
        except DatabaseError:
            _find_refused(page)
            raise


def _find_refused(page: list[tuple[Row, models.Model]]) -> None:
    """Store rows again one by one, up to the one that is refused."""
    for row, made in page:
        try:
            with transaction.atomic():
                made.save(force_insert=True)
        except DatabaseError as error:
            message = explain(error, type(made))
            raise BadBundle("row_refused", message, row.file, row.line) from None


def explain(error: DatabaseError, model: type[models.Model]) -> str:
    """Return which rule of the database a row breaks, in the words of its constraint."""
    text = str(error)
    for constraint in model._meta.constraints:
        names = getattr(constraint, "fields", ())
        fields = [model._meta.get_field(name) for name in names]
        columns = [f"{model._meta.db_table}.{getattr(one, 'column', '')}" for one in fields]
        if constraint.name in text or (columns and text.endswith(f": {', '.join(columns)}")):
            return f"this breaks the rule “{constraint.name.replace('_', ' ')}”."
    return f"the database refuses this: {text.splitlines()[0]}."
