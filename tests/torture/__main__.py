"""`python -m tests.torture`: servers are killed in mid-load, again and again; nothing may be lost.

Each run: people rate 40 items three times over HTTP. One web process is killed with kill -9, then
PostgreSQL is stopped at once (`pg_ctl -m immediate stop`) and started, then all of the web server
is killed and started. Loopback only, databases of its own in a temporary folder.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.databases import Cluster, find_binaries


def main() -> int:
    """Each database in a process of its own, since Django is set up once in a process."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--database", choices=["sqlite", "postgresql", "both"], default="both")
    parser.add_argument("--runs", type=int, default=10)
    given = parser.parse_args()
    names = ["sqlite", "postgresql"] if given.database == "both" else [given.database]
    return max(run_on(name, given.runs) for name in names)


def run_on(database: str, runs: int) -> int:
    """0 if no run on this database lost anything."""
    binaries = find_binaries() if database == "postgresql" else None
    if database == "postgresql" and binaries is None:
        sys.stdout.write("PostgreSQL skipped: no server binaries are installed.\n")
        return 0
    with tempfile.TemporaryDirectory(prefix="evalsite-torture-") as name:
        Path(name, "static").mkdir()
        environment = os.environ | {
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "EVALSITE_DATA_DIR": name,
            "EVALSITE_DATABASE": f"sqlite:///{name}/torture.sqlite3",
        }
        cluster = Cluster(binaries, is_durable=True) if binaries else None
        if cluster:
            environment["EVALSITE_DATABASE"] = cluster.url.replace("/evalsite?", "/postgres?")
            environment["EVALSITE_TEST_CLUSTER"] = str(cluster.folder)
        try:
            if cluster:
                cluster.start()
            return subprocess.run(
                [sys.executable, "-m", "tests.torture.kill", str(runs)],
                env=environment,
                check=False,
            ).returncode
        finally:
            if cluster:
                cluster.stop()


if __name__ == "__main__":
    sys.exit(main())
