"""Drop what django-axes kept, and give everyone who works here the group of researchers."""

from django.db import migrations

_AXES = ("accessattemptexpiration", "accessattempt", "accessfailurelog", "accesslog")


def drop_axes(apps, schema_editor):
    connection = schema_editor.connection
    present = set(connection.introspection.table_names())
    for name in _AXES:
        table = f"axes_{name}"
        if table in present:
            schema_editor.execute(f"DROP TABLE {schema_editor.quote_name(table)}")
    # with their permissions
    apps.get_model("contenttypes", "ContentType").objects.filter(app_label="axes").delete()


def group_researchers(apps, schema_editor):
    group, _ = apps.get_model("auth", "Group").objects.get_or_create(name="Researchers")
    for user in apps.get_model("auth", "User").objects.filter(is_staff=True):
        user.groups.add(group)


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0001_initial'),
        ('auth', '0012_alter_user_first_name_max_length'),
        ('contenttypes', '0002_remove_content_type_name'),
    ]

    operations = [
        migrations.RunPython(drop_axes, migrations.RunPython.noop),
        migrations.RunPython(group_researchers, migrations.RunPython.noop),
    ]
