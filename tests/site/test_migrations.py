"""Migrations that have landed stay as they are: databases out there have had them."""

from hashlib import sha256
from pathlib import Path

from django.db.migrations.loader import MigrationLoader

ROOT = Path(__file__).resolve().parents[2]
LIST = ROOT / "fixtures" / "migrations.sha256"


def read_landed() -> dict[str, str]:
    """Return app label.name -> hash, as they landed."""
    lines = LIST.read_text(encoding="ascii").splitlines()
    return {name: digest for digest, name in (line.split("  ") for line in lines)}


def hash_present() -> dict[str, str]:
    """Return app label.name -> hash of every migration in this repository."""
    found = {}
    for (label, name), migration in MigrationLoader(None).disk_migrations.items():
        path = ROOT.joinpath(*migration.__module__.split(".")).with_suffix(".py")
        if path.exists():
            found[f"{label}.{name}"] = sha256(path.read_bytes()).hexdigest()
    return found


def test_landed_migrations_are_never_edited_or_removed():
    landed, present = read_landed(), hash_present()

    changed = sorted(name for name in landed if landed[name] != present.get(name))

    assert changed == [], (
        "Databases have had these migrations already. Put the files back as they were, and make "
        "the change in a new migration. (A new migration needs no line in the list. When it has "
        "been released, add one: its hash from sha256sum, two spaces, APP_LABEL.NAME.)"
    )


def test_list_names_each_migration_once_and_in_order():
    names = [line.split("  ")[1] for line in LIST.read_text(encoding="ascii").splitlines()]

    assert names == sorted(set(names))
    assert len(names) >= 23
