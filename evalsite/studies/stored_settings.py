"""Settings that have no column of their own: `Study` reads and writes them as if they had.

Each is a field without a column, as Django's `Model.__init__`, forms and `full_clean` know them.
Queries don't: what SQL filters by is a column.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.core.serializers.json import DjangoJSONEncoder
from django.db import models

from evalsite.studies.settings import SETTINGS

FIELDS = {name: setting.make_field() for name, setting in SETTINGS.items() if setting.kind}
# where each is, to save it
COLUMNS = {name: SETTINGS[name].column for name in FIELDS}
_IN_COLUMN = {
    column: [name for name in FIELDS if COLUMNS[name] == column] for column in ("texts", "settings")
}
# JSON has neither amounts nor days
_FROM_TEXT = {
    name: field.to_python
    for name, field in FIELDS.items()
    if isinstance(field, models.DecimalField | models.DateField)
}
_CENT = Decimal("0.01")


class Values(dict[str, Any]):
    """Settings by name, and which of them were set since they were read."""

    changed: frozenset[str] = frozenset()


class SettingsColumn(models.JSONField):
    """Settings by name. Whatever stores them, only what is declared can be stored."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"default": Values, "encoder": DjangoJSONEncoder} | options)

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        values = super().from_db_value(value, expression, connection)
        if not isinstance(values, dict):
            return values
        for name in _FROM_TEXT.keys() & values.keys():
            values[name] = _FROM_TEXT[name](values[name])
        return Values(values)

    def pre_save(self, study: models.Model, add: bool) -> Any:
        values = super().pre_save(study, add)
        if isinstance(values, dict):
            values = Values(self.check_values(values))
            setattr(study, self.attname, values)
        return values

    def get_prep_value(self, value: Any) -> Any:
        return (
            self.check_values(value) if isinstance(value, dict) else super().get_prep_value(value)
        )

    def check_values(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return all settings of this column; ValidationError names those that can't be."""
        checked, faults = {}, {}
        for name in _IN_COLUMN[self.name]:
            try:
                checked[name] = FIELDS[name].clean(values.get(name, FIELDS[name].default), None)
            except ValidationError as error:
                faults[name] = error.error_list
            if isinstance(checked.get(name), Decimal):
                checked[name] = checked[name].quantize(_CENT)
        if unknown := values.keys() - checked.keys() - faults.keys():
            faults |= {name: [ValidationError("There is no such setting.")] for name in unknown}
        if faults:
            raise ValidationError(faults)
        return checked


class StoredSetting:
    """An attribute of `Study` that is kept in one of its columns of settings."""

    def __init__(self, name: str) -> None:
        self.name, self.column, self.field = name, COLUMNS[name], FIELDS[name]
        self.default = self.field.default

    def __get__(self, study: models.Model | None, model: Any = None) -> Any:
        if study is None:
            return self
        return getattr(study, self.column).get(self.name, self.default)

    def __set__(self, study: models.Model, value: Any) -> None:
        before = getattr(study, self.column)
        # a copy, since a study that is copied in memory shares the values
        values = Values({**before, self.name: self.field.to_python(value)})
        values.changed = before.changed | {self.name}
        setattr(study, self.column, values)


def add_settings(model: type[models.Model]) -> None:
    """Let a model have the settings as attributes, and as fields for forms and checks."""
    for name, field in FIELDS.items():
        field.contribute_to_class(model, name, private_only=True)
        field.column, field.concrete = None, False
        setattr(model, name, StoredSetting(name))
