"""Start a task on a bundle in a scratch database: its check, or a copy of it.

Run by verify.py in a separate process: `python -m evalsite.data.bundle.scratch FOLDER CACHE
TASK`, with the bundle as standard input. Writes FOLDER/findings.json. An empty database with
today's schema is kept in CACHE, so that migrations run once for each version of the code.
"""

import json
import resource
import shutil
import sys
from contextlib import suppress
from dataclasses import astuple
from hashlib import sha256
from pathlib import Path

import django

_MEMORY = 4 * 1024**3
_CPU_SECONDS = 300
_FILE_BYTES = 2 * 1024**3
_EMPTY = "empty-database-"


def main() -> None:
    folder, cache, task = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    limit_resources()
    _set_up(folder, cache)
    # models can be imported only now
    from evalsite.data.bundle.anonymous import make_copy  # noqa: PLC0415
    from evalsite.data.bundle.compare import Findings, check_bundle  # noqa: PLC0415
    from evalsite.data.bundle.copy import copy_bundle, write_pages  # noqa: PLC0415
    from evalsite.data.bundle.read import BadBundle, Fault, open_bundle  # noqa: PLC0415

    findings = Findings()
    try:
        with open_bundle(sys.stdin.buffer) as bundle:
            if task == "anonymise":
                make_copy(bundle, folder)
            elif task == "copy":
                copy_bundle(bundle, folder)
            elif task == "page":
                write_pages(bundle, findings, folder)
            else:
                check_bundle(bundle, findings, folder)
    except BadBundle as error:
        findings.faults.append(error.fault)
    except MemoryError:
        message = f"Checking it takes more than {_MEMORY // 1024**3} GB of memory."
        findings.faults.append(Fault("too_large", message))
    (folder / "findings.json").write_text(
        json.dumps(
            {
                "checks": findings.checks,
                "remarks": findings.remarks,
                "faults": [astuple(fault) for fault in findings.faults],
                "plan_versions": findings.plan_versions,
                "computed": findings.computed,
            }
        ),
        encoding="utf-8",
    )


def limit_resources() -> None:
    """Have the system end this process if it takes too much, whatever the bundle does to it."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (_CPU_SECONDS, _CPU_SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_FILE_BYTES, _FILE_BYTES))


# --- the scratch database -----------------------------------------------------------------


def _set_up(folder: Path, cache: Path) -> None:
    """Start Django with an empty database in this folder, whatever the settings name."""
    from django.conf import settings  # noqa: PLC0415

    path = folder / "scratch.sqlite3"
    settings.DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(path)}}
    settings.DATA_DIR = folder
    settings.LOGGING_CONFIG = None
    django.setup()
    from django.core.management import call_command  # noqa: PLC0415
    from django.db import connection  # noqa: PLC0415

    kept = cache / f"{_EMPTY}{_hash_migrations()}.sqlite3"
    try:
        shutil.copyfile(kept, path)
    except FileNotFoundError:
        call_command("migrate", verbosity=0)
        connection.close()
        part = folder / kept.name
        shutil.copyfile(path, part)
        for old in cache.glob(f"{_EMPTY}*"):
            old.unlink(missing_ok=True)
        with suppress(OSError):
            shutil.move(part, kept)
    with connection.cursor() as cursor:
        # nothing here outlives the process
        cursor.execute("PRAGMA synchronous = OFF")
        cursor.execute("PRAGMA journal_mode = TRUNCATE")
        # SQLite sorts rows in as much memory as its cache may have
        cursor.execute("PRAGMA cache_size = -16384")


def _hash_migrations() -> str:
    """Return a hash of what the schema depends on: all migrations, and Django's version."""
    from django.apps import apps  # noqa: PLC0415

    digest = sha256(django.__version__.encode())
    for config in apps.get_app_configs():
        for path in sorted(Path(config.path, "migrations").glob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


if __name__ == "__main__":
    main()
