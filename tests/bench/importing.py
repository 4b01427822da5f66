"""Imports of large files: how long, how much memory, and how long others wait to write.

The file is imported by a fresh process, as a job worker or the command does it, while this one
writes a row again and again.
"""

import csv
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter, sleep
from typing import Any

import django

django.setup()

from django.core.management import call_command  # noqa: E402 (after setup)
from django.db import transaction  # noqa: E402

from evalsite.core.audit.models import AuditEntry  # noqa: E402
from evalsite.studies.models import Study  # noqa: E402
from tests.bench.lines import Line, say  # noqa: E402
from tests.bench.noise import Probe  # noqa: E402
from tests.support.factories import make_study  # noqa: E402

_WORDS = re.findall(
    r"\w+",
    "the a of to and in is it you that he was for on are with as his they be at one have this "
    "from or had by hot word but what some we can out other were all there when up use your how "
    "said an each she restaurant cheap food centre near river family friendly price moderate",
)
_SYSTEMS = ("alpha", "beta", "gamma")
# one output an item and three: what takes most differs
_KINDS = {"fluency": "dialogue", "magnitude": "mr"}


def main(plan: dict[str, Any]) -> None:
    call_command("migrate", run_syncdb=True, verbosity=0)
    say(f"\n{plan['name']}, imports of {plan['rows']:,} rows, {os.cpu_count()} cores,")
    say(f"load {os.getloadavg()[0]:.1f} before the start; another process writes all the while")
    probe = Probe()
    for protocol, column in _KINDS.items():
        probe.time_loop()
        with tempfile.NamedTemporaryFile(suffix=".csv") as file:
            path = Path(file.name)
            _write_file(path, column, plan["rows"], is_single=protocol == "fluency")
            study = make_study(items=0, protocol=protocol)
            for line in _measure(study, path, protocol):
                say(str(line))
    probe.time_loop()
    say(f"Noise: {probe}.")


def _measure(study: Study, path: Path, protocol: str) -> list[Line]:
    size = path.stat().st_size / 1024 / 1024
    lines = [Line(f"{protocol}: size of the file", size, unit="MiB")]
    for what in ("import", "undo"):
        worker = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.importing", what, str(study.pk), str(path)],
            stdout=subprocess.PIPE,
            text=True,
        )
        longest = _write_meanwhile(worker)
        told = json.loads(worker.communicate()[0])
        is_import = what == "import"
        lines += [
            Line(f"{protocol}: {what}", told["seconds"], 10 if is_import else None, "s"),
            Line(f"{protocol}: {what}, processor time", told["cpu"], unit="s"),
            Line(f"{protocol}: {what}, peak memory", told["mebibytes"], 150, "MiB"),
            Line(f"{protocol}: {what}, longest wait of another writer", longest, 1, "s"),
        ]
    return lines


def _write_meanwhile(worker: "subprocess.Popen[str]") -> float:
    """The longest that a short transaction of another took while the worker was at work."""
    longest = 0.0
    while worker.poll() is None:
        began = perf_counter()
        with transaction.atomic():
            AuditEntry.objects.record("bench", by=None, study_id=None)
        longest = max(longest, perf_counter() - began)
        sleep(0.02)
    return longest


def _write_file(path: Path, column: str, rows: int, *, is_single: bool) -> None:
    """A file in the long form, of texts as long as real ones, the same each time."""
    rows -= rows % len(_SYSTEMS)
    random_words = random.Random(1)

    def text(words: int) -> str:
        return " ".join(random_words.choices(_WORDS, k=words))

    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", column, "system", "output"])
        for number in range(rows):
            if is_single or number % len(_SYSTEMS) == 0:
                inputs = "\n".join(f"{'AB'[turn % 2]}: {text(10)}" for turn in range(3))
                item = f"item-{number}"
            system = _SYSTEMS[number % len(_SYSTEMS)]
            writer.writerow([item, inputs, system, f"{text(12).capitalize()}."])


def work(what: str, study_id: str, path: str) -> None:
    """What a job worker does; in a fresh process, since memory is given back to nobody."""
    from evalsite.data.items.importer import import_file, undo_batch  # noqa: PLC0415

    study = Study.objects.get(pk=study_id)
    began, cpu = perf_counter(), _cpu_seconds()
    if what == "import":
        import_file(study=study, path=Path(path), by=None)
    else:
        undo_batch(batch=study.batches.get(), by=None)
    told = {
        "seconds": perf_counter() - began,
        "cpu": _cpu_seconds() - cpu,
        "mebibytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    sys.stdout.write(json.dumps(told))


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    if len(sys.argv) > 2:
        work(*sys.argv[1:])
    else:
        main(json.loads(sys.argv[1]))
