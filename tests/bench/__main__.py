"""`python -m tests.bench`: the budgets of the design, measured on this machine.

Loopback only, databases of its own in a temporary folder, nothing left behind. Rate limits don't
exist here. Other work on the machine makes every figure worse; the ratio suffers least.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

from tests.support.databases import Cluster, find_binaries

# what there is to measure, each in a process of its own
MEASURES = {
    "weighing": "tests.bench.weighing",
    "painting": "tests.bench.painting",
    "saving": "tests.bench.measure",
    "staff": "tests.bench.staff",
    "importing": "tests.bench.importing",
    "converting": "tests.bench.converting",
    "exporting": "tests.bench.exporting",
    "bundles": "tests.bench.bundles",
    "analysing": "tests.bench.analysing",
}


def main() -> int:
    """Each database in a process of its own, since Django is set up once in a process."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--database", choices=["sqlite", "postgresql", "both"], default="both")
    parser.add_argument("--items", type=int, nargs="+", default=[4_000, 100_000])
    parser.add_argument("--people", type=int, nargs="+", default=[1, 16, 64])
    parser.add_argument(
        "--saves", type=int, default=320, help="in each of the rounds; ten for each person at least"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=[*MEASURES], nargs="+", default=[*MEASURES])
    parser.add_argument(
        "--rows", type=int, default=100_000, help="of a file to import, or of outputs to join"
    )
    parser.add_argument(
        "--ratings",
        type=int,
        default=1_000_000,
        help="of a study to export or pack, and of the larger report",
    )
    given = parser.parse_args()
    names = ["sqlite", "postgresql"] if given.database == "both" else [given.database]
    chosen = ("items", "people", "saves", "rounds", "rows", "ratings")
    plan = {name: getattr(given, name) for name in chosen}
    worst = 0
    for measure, name in product(given.only, names):
        if measure in ("weighing", "painting", "converting") and name != names[0]:
            continue  # no database changes how pages weigh and paint, or how files are joined
        with database(name) as url:
            if url is None:
                sys.stdout.write("PostgreSQL skipped: no server binaries are installed.\n")
                continue
            done = subprocess.run(
                [sys.executable, "-m", MEASURES[measure], json.dumps({"name": name, **plan})],
                env=os.environ | url,
                check=False,
            )
            worst = max(worst, done.returncode)
    return worst


@contextmanager
def database(name: str) -> Iterator[dict[str, str] | None]:
    """The environment of a site on an empty database; None if there is no such server."""
    folder = Path(tempfile.mkdtemp(prefix="evalsite-bench-"))
    environment = {
        "DJANGO_SETTINGS_MODULE": "tests.bench.settings",
        "EVALSITE_SECRET_KEY": "only-for-the-bench-" + "b" * 50,
        "EVALSITE_URL": "http://127.0.0.1",
        "EVALSITE_HOSTS": "testserver",
        "EVALSITE_DEBUG": "off",
        "EVALSITE_DATA_DIR": str(folder),
        "EVALSITE_DATABASE": f"sqlite:///{folder}/bench.sqlite3",
    }
    binaries = find_binaries() if name == "postgresql" else None
    cluster = Cluster(binaries, is_durable=True) if binaries else None
    try:
        if name == "postgresql" and cluster is None:
            yield None
            return
        if cluster:
            cluster.start()
            environment["EVALSITE_DATABASE"] = cluster.url.replace("/evalsite?", "/postgres?")
        yield environment
    finally:
        if cluster:
            cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
