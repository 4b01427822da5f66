"""Columns and constraints for kinds of answers to come.

On SQLite, Django copies the whole table for nearly each of these operations. Here it copies each
table once: columns are added in place, and the last operation of each table copies it with all its
new constraints. On PostgreSQL, every operation runs as usual.
"""

from typing import Any

from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


class AddColumn(migrations.AddField):
    """Add a field with a constant default, on SQLite too by ALTER TABLE ADD COLUMN."""

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        if schema_editor.connection.vendor != "sqlite":
            super().database_forwards(app_label, schema_editor, from_state, to_state)
            return
        model = to_state.apps.get_model(app_label, self.model_name)
        BaseDatabaseSchemaEditor.add_field(
            schema_editor, model, model._meta.get_field(self.name)
        )


class AddConstraint(migrations.AddConstraint):
    """Add a constraint; on SQLite, a later operation does so when it copies the table."""

    def database_forwards(self, app_label: str, schema_editor: Any, *states: Any) -> None:
        if schema_editor.connection.vendor != "sqlite":
            super().database_forwards(app_label, schema_editor, *states)


class RemoveConstraint(migrations.RemoveConstraint):
    """Remove a constraint; on SQLite, a later operation does so when it copies the table."""

    def database_forwards(self, app_label: str, schema_editor: Any, *states: Any) -> None:
        if schema_editor.connection.vendor != "sqlite":
            super().database_forwards(app_label, schema_editor, *states)


def is_not_applicable() -> models.Case:
    return models.Case(
        models.When(detail__na=True, then=True), default=False, output_field=models.BooleanField()
    )


class Migration(migrations.Migration):
    dependencies = [
        ("annotation", "0007_consent_and_places"),
    ]

    operations = [
        # ratings
        AddColumn(
            model_name="rating",
            name="turn",
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
        AddColumn(
            model_name="rating",
            name="part",
            field=models.CharField(blank=True, db_default="", default="", max_length=40),
        ),
        AddColumn(
            model_name="rating",
            name="text",
            field=models.TextField(blank=True, db_default="", default=""),
        ),
        AddColumn(
            model_name="rating",
            name="detail",
            field=models.JSONField(null=True),
        ),
        RemoveConstraint(
            model_name="rating",
            name="one_rating_per_criterion_and_output",
        ),
        RemoveConstraint(
            model_name="rating",
            name="one_tie_per_criterion",
        ),
        AddConstraint(
            model_name="rating",
            constraint=models.UniqueConstraint(
                condition=models.Q(("output__isnull", False)),
                fields=("annotation", "criterion", "output", "turn", "part", "study"),
                name="one_rating_of_an_output_per_criterion_turn_and_part",
            ),
        ),
        AddConstraint(
            model_name="rating",
            constraint=models.UniqueConstraint(
                condition=models.Q(("output__isnull", True)),
                fields=("annotation", "criterion", "turn", "part", "study"),
                name="one_rating_of_an_item_per_criterion_turn_and_part",
            ),
        ),
        AddConstraint(
            model_name="rating",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("value__isnull", False), models.Q(is_not_applicable(), _negated=True)
                    ),
                    models.Q(
                        ("value__isnull", True),
                        models.Q(
                            models.Q(("text", ""), _negated=True),
                            is_not_applicable(),
                            _connector="OR",
                        ),
                    ),
                    _connector="OR",
                ),
                name="ratings_have_a_value_or_a_text_or_are_not_applicable",
            ),
        ),
        # copies the table on SQLite
        migrations.AlterField(
            model_name="rating",
            name="value",
            field=models.IntegerField(null=True),
        ),
        # highlights
        AddColumn(
            model_name="highlight",
            name="criterion",
            field=models.CharField(blank=True, db_default="", default="", max_length=40),
        ),
        AddColumn(
            model_name="highlight",
            name="category",
            field=models.CharField(blank=True, db_default="", default="", max_length=40),
        ),
        AddColumn(
            model_name="highlight",
            name="severity",
            field=models.CharField(blank=True, db_default="", default="", max_length=40),
        ),
        RemoveConstraint(
            model_name="highlight",
            name="one_highlight_at_a_start",
        ),
        RemoveConstraint(
            model_name="highlight",
            name="highlights_end_after_their_start",
        ),
        AddConstraint(
            model_name="highlight",
            constraint=models.UniqueConstraint(
                condition=models.Q(("criterion", "")),
                fields=("annotation", "output", "start", "study"),
                name="highlights_without_a_criterion_start_apart",
            ),
        ),
        AddConstraint(
            model_name="highlight",
            constraint=models.UniqueConstraint(
                condition=models.Q(("criterion", ""), _negated=True),
                fields=(
                    "annotation", "output", "criterion", "start", "end", "category", "study",
                ),
                name="one_highlight_per_criterion_span_and_category",
            ),
        ),
        # copies the table on SQLite
        migrations.AddConstraint(
            model_name="highlight",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("end__gt", models.F("start")),
                    models.Q(
                        ("end", models.F("start")), models.Q(("category", ""), _negated=True)
                    ),
                    _connector="OR",
                ),
                name="highlights_have_a_length_or_a_category",
            ),
        ),
    ]
