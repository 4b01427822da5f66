"""Write rows of a study as records, and store records as rows, by what `tables.py` declares.

What a field can't hold, what refers to something unknown, and what a constraint of the database
refuses is a BadBundle that names the file and the line.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any, cast
from uuid import uuid4

from django.db import DatabaseError, models, transaction
from django.db.models import Count, F, Q

from evalsite.data.bundle.fields import InvalidField, read_field, read_whole
from evalsite.data.bundle.format import Contents, to_plain
from evalsite.data.bundle.read import UNREADABLE, BadBundle, Row, in_pages
from evalsite.data.bundle.tables import Rows
from evalsite.data.files.selection import shared
from evalsite.handout.models import Annotation
from evalsite.instruments.scales import Scale
from evalsite.instruments.schema import EntryQuestion
from evalsite.participation.held_items import REPORTS_TO_HOLD
from evalsite.studies.models import Item, Output, Study
from evalsite.studies.questions import list_person_questions

Plain = dict[str, Any]
# how many rows are stored at once, and how many names are in one condition of a query
_STORED = 2_000
_NAMES = 500
# counted from 0 in the database and from 1 in bundles
_FROM_0 = "no"


# --- writing --------------------------------------------------------------------------------


class Writer:
    """Writes the rows of a study once, and counts them; use it inside a consistent cut."""

    def __init__(self, study: Study, contents: Contents) -> None:
        self.study = study
        self.contents = contents
        # whose answers are in it; all but pilots, unless it is for the public
        self.is_partial = contents.has_data and contents.is_public and study.asks_to_share
        self.counts: Counter[type[models.Model]] = Counter()
        self.tallies: defaultdict[str, Counter[str]] = defaultdict(Counter)
        # passages among the ratings
        self.marks = 0
        self._positions: dict[int, int] = {}

    def write(self, rows: Rows) -> Iterator[Plain]:
        """Return the records of all rows that a bundle holds."""
        manager = rows.model._default_manager
        selected = rows.select(self) if rows.select else manager.filter(study=self.study)
        # plain values: making objects of them takes longer than all the rest
        values = selected.order_by(*rows.order.split()).values_list("pk", *rows.paths.values())
        for page in in_pages(values.iterator(chunk_size=rows.page), rows.page):
            ids = [pk for pk, *_ in page]
            parts = {
                name: self._write_parts(part, rows.model, ids) for name, part in rows.parts.items()
            }
            for pk, record in self._write_page(rows, page):
                yield record | {name: records[pk] for name, records in parts.items()}

    def _write_parts(
        self, rows: Rows, parent: type[models.Model], ids: list[Any]
    ) -> dict[Any, list[Any]]:
        """Return the records of what belongs to these rows, by their ids."""
        link = find_link(rows.model, parent)
        belonging = rows.model._default_manager.filter(**{f"{link}__in": ids})
        values = belonging.order_by(*rows.order.split()).values_list(link, *rows.paths.values())
        records = defaultdict(list)
        for pk, record in self._write_page(rows, list(values)):
            records[pk].append(rows.to_cells(record) if rows.is_list else record)
        return records

    def _write_page(self, rows: Rows, page: list[Any]) -> Iterator[tuple[Any, Plain]]:
        """Return the record of each row, with the cell that comes first."""
        shifted = [name for name, path in rows.paths.items() if path.endswith(f"__{_FROM_0}")]
        records = [
            (pk, dict(zip(rows.paths, map(to_plain, cells), strict=True))) for pk, *cells in page
        ]
        listed = [record[shown] for _, record in records for shown in rows.lists.values()]
        keys = _name_items({pk for ids in listed for pk in ids})
        for pk, record in records:
            for name in shifted:
                record[name] = None if record[name] is None else record[name] + 1
            for shown in rows.lists.values():
                record[shown] = [keys[item] for item in record[shown]]
            if rows.encode and rows.encode(record, self) is False:
                continue
            self.counts[rows.model] += 1
            if rows.optional and not rows.is_list:
                record = {
                    name: value
                    for name, value in record.items()
                    if name not in rows.optional or value != rows.optional[name]
                }
            yield pk, record

    def find_position(self, pk: int | None) -> int | None:
        """Return the position of an output in its item."""
        if pk is None:
            return None
        if pk not in self._positions:
            beside = Output.objects.filter(item__outputs=pk).order_by()
            self._positions.update(beside.values_list("pk", "position"))
        return self._positions[pk]

    @cached_property
    def scales(self) -> dict[str, Scale]:
        """Return the scale of each criterion by its key."""
        return {criterion.key: criterion.scale for criterion in self.study.config.criteria}

    @cached_property
    def questions(self) -> dict[str, EntryQuestion]:
        """Return the entry questions, which say what was offered."""
        asked = list_person_questions(self.study)
        return {name: question for name, (_, question) in asked.items()}

    @cached_property
    def choices(self) -> Collection[str]:
        """Return what questions about the instructions offer."""
        asked = self.study.config.comprehension
        return {choice for question in asked for choice in question.choices}

    @cached_property
    def unexplained(self) -> set[str]:
        """Return the items that are held for reports of people who are left out."""
        if not self.is_partial:
            return set()
        items = Item.objects.filter(study=self.study, held_at__isnull=False).order_by()
        reports = Annotation.objects.reports().filter(shared("participant__"), item__in=items)
        is_new = Q(item__released_at__isnull=True) | Q(submitted_at__gt=F("item__released_at"))
        counts = reports.filter(is_new).order_by().values("item").annotate(n=Count("pk"))
        explained = counts.filter(n__gte=REPORTS_TO_HOLD).values("item")
        return set(items.exclude(pk__in=explained).values_list("key", flat=True))


def _name_items(ids: Iterable[int]) -> dict[int, str]:
    """Return the key of each item."""
    keys: dict[int, str] = {}
    for page in in_pages(ids, _NAMES):
        keys.update(Item.objects.filter(pk__in=page).values_list("pk", "key"))
    return keys


def find_link(model: type[models.Model], parent: type[models.Model]) -> str:
    """Return the field by which rows of a model belong to rows of another."""
    return next(field.name for field in model._meta.fields if field.related_model is parent)


# --- reading --------------------------------------------------------------------------------


class Reader:
    """Stores records as rows of one study, a page at a time; nothing is kept between pages.

    `is_copy`: the study gets new ids. `has_data`: answers come too, with all that belongs to them.
    """

    def __init__(self, study: Study, *, is_copy: bool, has_data: bool) -> None:
        self.study = study
        self.is_copy = is_copy
        self.has_data = has_data
        # of a copy: ids here by those in the bundle
        self._ids: dict[Any, Any] = {}
        self._outputs: dict[str, dict[int, int]] = {}

    def store(self, rows: Rows, records: Iterable[Row]) -> None:
        """Store records with their parts; rows they refer to must be there."""
        for page in in_pages(records, rows.page):
            self._outputs.clear()
            pairs = self._store_page(rows, [(record, {}) for record in page])
            for name, part in rows.parts.items():
                for children in in_pages(self._list_parts(rows, name, pairs), _STORED):
                    self._store_page(part, children)

    def _list_parts(
        self, rows: Rows, name: str, pairs: list[tuple[Row, models.Model]]
    ) -> Iterator[tuple[Row, Plain]]:
        """Return the records that belong to these rows, each with the fields that say so."""
        part = rows.parts[name]
        link = find_link(part.model, rows.model)
        for row, parent in pairs:
            with reading(row):
                inherited = {part.inherited: row.values[part.inherited]} if part.inherited else {}
                for place, record in enumerate(row.values[name]):
                    values = part.from_cells(record) if part.is_list else record
                    fields = {f"{link}_id": parent.pk}
                    if part.numbered:
                        fields[part.numbered] = place
                    yield Row(row.file, row.line, {**values, **inherited}), fields

    def _store_page(
        self, rows: Rows, page: list[tuple[Row, Plain]]
    ) -> list[tuple[Row, models.Model]]:
        """Store records of one model, each with more fields that aren't in it; return the rows."""
        fields = {field.name for field in rows.model._meta.fields}
        references = self._find_all(rows, [row for row, _ in page])
        keys = self._find_listed(rows, [row for row, _ in page])
        pairs = []
        for (row, more), ids in zip(page, references, strict=True):
            with reading(row):
                values = rows.read(row.values) | more | ids
                if self.is_copy and "id" in values:
                    new = uuid4()
                    self._ids[values["id"]] = new
                    values["id"] = new
                for name, shown in rows.lists.items():
                    values[name] = [_get(keys, key, "item") for key in row.values[shown]]
                if "study" in fields:
                    values["study_id"] = self.study.pk
                if rows.decode:
                    rows.decode(values, row.values, self)
                pairs.append((row, rows.model(**values)))
        _store_with_times(rows, pairs)
        return pairs

    def _find_all(self, rows: Rows, page: list[Row]) -> list[Plain]:
        """Return the ids of what each record refers to, by field."""
        ids: list[Plain] = [{} for _ in page]
        for name, lookups in rows.refs.items():
            target = _follow(rows.model, name)
            named = []
            for row in page:
                with reading(row):
                    named.append(
                        tuple(
                            self._read_name(target, lookup, row.values[shown], shown)
                            for lookup, shown in lookups.items()
                        )
                    )
            known = self._find(target, list(lookups), {names[0] for names in named})
            is_null = rows.model._meta.get_field(name).null
            for row, names, mine in zip(page, named, ids, strict=True):
                with reading(row):
                    is_none = names[-1] is None and is_null
                    shown = list(lookups.values())[-1]
                    mine[f"{name}_id"] = None if is_none else _get(known, names, shown)
        return ids

    def _find_listed(self, rows: Rows, page: list[Row]) -> dict[str, int]:
        """Return the ids of the items that these records list."""
        keys: set[str] = set()
        for row in page:
            with reading(row):
                for shown in rows.lists.values():
                    keys.update(
                        self._read_name(Item, "key", key, shown) for key in row.values[shown]
                    )
        return {key: pk for (key,), pk in self._find(Item, ["key"], keys).items()}

    def _read_name(self, model: type[models.Model], path: str, value: Any, shown: str) -> Any:
        """Return what names a row of this model, as the database has it."""
        *through, name = path.split("__")
        for link in through:
            model = _follow(model, link)
        if value is None:
            return None
        made = read_field(model, name, read_whole(value) - 1 if name == _FROM_0 else value, shown)
        return self._ids.get(made, made)

    def _find(
        self, model: type[models.Model], lookups: list[str], names: set[Any]
    ) -> dict[tuple[Any, ...], Any]:
        """Return the ids of this study's rows by what names them; `names`: what comes first."""
        rows = model._default_manager.filter(study=self.study).order_by()
        ids: dict[tuple[Any, ...], Any] = {}
        for page in in_pages(names - {None}, _NAMES):
            values = rows.filter(**{f"{lookups[0]}__in": page}).values_list(*lookups, "pk")
            ids.update((tuple(cells), pk) for *cells, pk in values)
        return ids

    def find_output(self, item: Any, position: Any) -> int:
        """Return the id of an output by its item's key and its position; else InvalidField."""
        key = self._read_name(Item, "key", item, "item")
        if key not in self._outputs:
            outputs = Output.objects.filter(study=self.study, item__key=key).order_by()
            self._outputs[key] = dict(outputs.values_list("position", "pk"))
        return cast(int, _get(self._outputs[key], read_whole(position), "output"))


def _follow(model: type[models.Model], name: str) -> type[models.Model]:
    return cast(type[models.Model], model._meta.get_field(name).related_model)


def _get(known: Any, name: Any, shown: str) -> Any:
    if name not in known:
        last = name[-1] if isinstance(name, tuple) else name
        raise InvalidField(f"there is no {shown} {str(last)[:60]}")
    return known[name]


@contextmanager
def reading(row: Row) -> Iterator[None]:
    """Turn what can't be read in a row into a BadBundle that names the line."""
    try:
        yield
    except (InvalidField, *UNREADABLE) as error:
        words = str(error) if isinstance(error, InvalidField) else ""
        message = f"{words or 'something is missing or has the wrong type'}."
        raise BadBundle("row_invalid", message, row.file, row.line) from None


def _store_with_times(rows: Rows, pairs: list[tuple[Row, models.Model]]) -> None:
    """Store rows, with the times that columns set themselves when a row is made."""
    fields = [rows.model._meta.get_field(name) for name in rows.fields.split()]
    times = [field.name for field in fields if getattr(field, "auto_now_add", False)]
    moments = [{name: getattr(made, name) for name in times} for _, made in pairs]
    store_rows(pairs)
    if times:
        for (_, made), values in zip(pairs, moments, strict=True):
            vars(made).update(values)
        rows.model._default_manager.bulk_update([made for _, made in pairs], times, batch_size=500)


def store_rows(pairs: list[tuple[Row, models.Model]]) -> None:
    """Store rows of one model; if the database refuses one, the BadBundle names its line."""
    for page in in_pages(pairs, _STORED):
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
        columns = [f"{model._meta.db_table}.{getattr(field, 'column', '')}" for field in fields]
        if constraint.name in text or (columns and text.endswith(f": {', '.join(columns)}")):
            return f"this breaks the rule “{constraint.name.replace('_', ' ')}”."
    return f"the database refuses this: {text.splitlines()[0]}."
