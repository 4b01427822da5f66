"""Until the first release each app has one migration, made again with its date in its name."""

import re

from django.apps import apps
from django.db.migrations.loader import MigrationLoader

NAME = re.compile(r"0001_of_\d{4}_\d{2}_\d{2}_\d{4}")


def test_each_app_has_one_migration_and_all_have_one_date():
    ours = {app.label for app in apps.get_app_configs() if app.name.startswith("evalsite.")}
    found = [one for one in MigrationLoader(None).disk_migrations if one[0] in ours]

    assert len(found) == len({label for label, _ in found})
    assert len({name for _, name in found}) == 1
    assert NAME.fullmatch(found[0][1])
