"""One initial migration for each app, made again: `python -m tests.support.initial_migrations`.

Until the first release nobody's database is upgraded, so migrations aren't collected. The name
has the date: a site that starts with tables of an earlier one says so and stops. What
`makemigrations` can't know is added from `evalsite/core/audit/append_only.py`.
"""

import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TRIGGER = "        migrations.RunPython(add_trigger, drop_trigger),\n    ]\n"
IMPORT = "from evalsite.core.audit.append_only import add_trigger, drop_trigger\n"


def main() -> None:
    folders = {path.parent for path in ROOT.glob("evalsite/**/migrations/0*.py")}
    for folder in folders:
        for path in folder.glob("0*.py"):
            path.unlink()
    with tempfile.TemporaryDirectory() as data:
        os.environ |= {"DJANGO_SETTINGS_MODULE": "tests.settings", "EVALSITE_DATA_DIR": data}
        import django
        from django.apps import apps
        from django.core.management import call_command

        django.setup()
        configs = [app for app in apps.get_app_configs() if Path(app.path, "migrations") in folders]
        call_command(
            "makemigrations",
            *(app.label for app in configs),
            name=f"of_{datetime.now(UTC):%Y_%m_%d_%H%M}",
        )
    (path,) = ROOT.glob("evalsite/core/audit/migrations/0001_*.py")
    head, end = path.read_text(encoding="utf-8").removesuffix("    ]\n"), TRIGGER
    path.write_text(head.replace("from django", f"{IMPORT}from django", 1) + end, encoding="utf-8")


if __name__ == "__main__":
    main()
