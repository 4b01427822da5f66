"""Exports of many ratings: how long, and how much memory above that of an idle process.

Each file is written by a fresh process inside one consistent cut, as a job worker writes it.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryFile
from time import perf_counter, process_time
from typing import Any

import django

django.setup()

from django.conf import settings  # noqa: E402 (after setup)

from evalsite.studies.models import Study  # noqa: E402
from tests.bench.lines import Line, say  # noqa: E402
from tests.bench.noise import Probe  # noqa: E402

_FILES = ("ratings", "ratings_simple", "annotations", "items")


def main(plan: dict[str, Any]) -> None:
    from tests.bench.answers import make_rated_study  # noqa: PLC0415 (needs the database's tables)

    say(f"\n{plan['name']}, exports of {plan['ratings']:,} ratings, {os.cpu_count()} cores,")
    say(f"load {os.getloadavg()[0]:.1f} before the start; making the study takes some minutes")
    study = make_rated_study(plan["ratings"])
    probe = Probe()
    for file in _FILES:
        probe.time_loop()
        done = subprocess.run(
            [sys.executable, "-m", "tests.bench.exporting", "write", str(study.pk), file],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        told = json.loads(done.stdout)
        has_budget = file == "ratings"
        for line in (
            Line(f"{file}.csv: rows", told["rows"]),
            Line(f"{file}.csv: size", told["mebibytes"], unit="MiB"),
            Line(f"{file}.csv: by the clock", told["seconds"], 10 if has_budget else None, "s"),
            Line(f"{file}.csv: processor time of the writer", told["cpu"], unit="s"),
            Line(f"{file}.csv: memory above idle", told["above_idle"], 30, "MiB"),
        ):
            say(str(line))
    say(f"Noise: {probe}.")


def write(study_id: str, file: str) -> None:
    """What a job worker does; in a fresh process, since memory is given back to nobody."""
    from evalsite.data.files.jobs import collect_seldom  # noqa: PLC0415
    from evalsite.data.files.services import Choice, write_file  # noqa: PLC0415
    from evalsite.lib.transactions import consistent_cut  # noqa: PLC0415

    study = Study.objects.get(pk=study_id)
    # from here on the most memory that the process ever has is counted again
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    idle, began, cpu = find_peak_kib(), perf_counter(), process_time()
    with TemporaryFile(dir=settings.DATA_DIR) as target:
        with consistent_cut(), collect_seldom():
            written = write_file(study, Choice(file=file), target)
        size = target.tell()
    told = {
        "rows": written.rows,
        "mebibytes": size / 1024 / 1024,
        "seconds": perf_counter() - began,
        "cpu": process_time() - cpu,
        "above_idle": (find_peak_kib() - idle) / 1024,
    }
    sys.stdout.write(json.dumps(told))


def find_peak_kib() -> int:
    """Return the most memory that this process had; unlike `ru_maxrss`, not its parent's."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(*sys.argv[2:])
    else:
        main(json.loads(sys.argv[1]))
