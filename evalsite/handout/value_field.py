"""The column of a rating's value."""

from typing import Any

from django.db import models


class ValueField(models.FloatField):
    """A number; a whole one is read as an int, so that nothing writes it with a decimal point."""

    def from_db_value(self, value: float | None, *_: Any) -> float | None:
        return int(value) if value is not None and value.is_integer() else value
