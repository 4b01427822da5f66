"""Bundles of many ratings: how long writing and verifying take, and the most memory of each.

Each step is a fresh process, as the commands are; verifying has a child of its own.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter
from typing import Any

import django

django.setup()

from django.conf import settings  # noqa: E402 (after setup)

from tests.bench.exporting import find_peak_kib  # noqa: E402
from tests.bench.lines import Line, say  # noqa: E402
from tests.bench.noise import Probe  # noqa: E402


def main(plan: dict[str, Any]) -> None:
    from tests.bench.answers import make_rated_study  # noqa: PLC0415 (needs the database's tables)

    say(f"\n{plan['name']}, bundles of {plan['ratings']:,} ratings, {os.cpu_count()} cores,")
    say(f"load {os.getloadavg()[0]:.1f} before the start; making the study takes some minutes")
    study = make_rated_study(plan["ratings"])
    probe = Probe()
    for step in ("write", "verify"):
        probe.time_loop()
        done = subprocess.run(
            [sys.executable, "-m", "tests.bench.bundles", step, str(study.pk)],
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        measured = json.loads(done.stdout)
        say(str(Line(f"{step}: by the clock", measured["seconds"], unit="s")))
        say(str(Line(f"{step}: peak memory", measured["peak"], unit="MiB")))
        if step == "verify":
            say(str(Line("verify: peak memory of its child", measured["child"], unit="MiB")))
    say(f"Noise: {probe}.")


def run(step: str, study_id: str) -> None:
    from evalsite.data.bundle.format import Contents  # noqa: PLC0415
    from evalsite.data.bundle.verify import verify_bundle  # noqa: PLC0415
    from evalsite.data.bundle.write import write_bundle  # noqa: PLC0415
    from evalsite.studies.models import Study  # noqa: PLC0415

    path = Path(settings.DATA_DIR) / "bench-bundle.zip"
    began = perf_counter()
    if step == "write":
        with path.open("w+b") as file:
            study = Study.objects.get(pk=study_id)
            write_bundle(study.pk, Contents(has_data=True, has_free_text=True), file)
    else:
        with path.open("rb") as file:
            report = verify_bundle(file)
        if not report.is_sound:
            raise SystemExit(f"The bundle has faults: {report.faults[0]}")
    measured = {
        "seconds": perf_counter() - began,
        "peak": find_peak_kib() / 1024,
        "child": getrusage(RUSAGE_CHILDREN).ru_maxrss / 1024,
    }
    sys.stdout.write(json.dumps(measured))


if __name__ == "__main__":
    if sys.argv[1] in ("write", "verify"):
        run(*sys.argv[1:])
    else:
        main(json.loads(sys.argv[1]))
