"""Which constraint the database enforced when it refused a row."""

from django.db import IntegrityError
from django.db.models import Model, UniqueConstraint


def is_violation(error: IntegrityError, model: type[Model], *names: str) -> bool:
    """Return whether the error comes from one of these unique constraints of the model.

    PostgreSQL reports the constraint's name, SQLite the columns that must be unique together.
    """
    diagnosis = getattr(error.__cause__, "diag", None)
    if diagnosis is not None:
        return diagnosis.constraint_name in names
    return str(error) in {_describe_on_sqlite(model, name) for name in names}


def _describe_on_sqlite(model: type[Model], name: str) -> str:
    constraints = {constraint.name: constraint for constraint in model._meta.constraints}
    constraint = constraints[name]
    assert isinstance(constraint, UniqueConstraint)
    columns = [
        f"{model._meta.db_table}.{model._meta.get_field(field).column}"  # type: ignore[union-attr]
        for field in constraint.fields
    ]
    return f"UNIQUE constraint failed: {', '.join(columns)}"
