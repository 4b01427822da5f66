"""Verify a bundle: checksums first, then load it into a scratch database and check it there.

Loading and checking happen in a child process on a temporary SQLite file, whatever
database the site uses (see scratch.py). A bundle is data from anywhere: a crash, a loop or too
much memory ends the child, not the site, and the child knows none of the site's secrets.
"""

import io
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from secrets import token_urlsafe
from tempfile import TemporaryDirectory
from typing import IO, Any

from django.conf import settings

from evalsite.data.bundle.format import CHECKSUMS
from evalsite.data.bundle.read import (
    BadBundle,
    Bundle,
    Fault,
    check_checksums,
    open_bundle,
    read_about,
)
from evalsite.data.bundle.rerun import rerun_scripts
from evalsite.lib.limited import VALUES_IN_FILE, read_json
from evalsite.studies.summary_lines import count_of

# a check takes at most this long, and more for a large bundle
_SECONDS = 600
_BYTES_A_SECOND = 200_000
_MOST_SHOWN = 100


@dataclass
class Report:
    """What was checked, what is worth a look, and what is wrong."""

    checks: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    about: dict[str, Any] = field(default_factory=dict)
    # of the frozen plan, with the hash of each (decisions/plan_commitment.py)
    plan_versions: list[dict[str, Any]] = field(default_factory=list)
    # all that the report of the loaded rows is made of; None if it wasn't computed
    computed: dict[str, Any] | None = None

    @property
    def is_sound(self) -> bool:
        return not self.faults

    @property
    def codes(self) -> list[str]:
        return [fault.code for fault in self.faults]


def verify_bundle(
    file: IO[bytes], note_step: Callable[[int, int], None] = lambda done, of: None
) -> Report:
    """Check everything about a bundle, or as much as its faults allow.

    `note_step` gets the number of steps that are done, and of how many.
    """
    report = Report()
    try:
        with open_bundle(file) as bundle:
            report.faults += check_checksums(bundle)
            if report.faults:
                # what isn't as it was packed isn't worth reading
                return report
            note_step(1, 2)
            report.checks.append(f"{len(bundle.names) - 1:,} files agree with {CHECKSUMS}.")
            about = read_about(bundle)
            _check_in_scratch(bundle, file, report)
            report.about = about if report.is_sound else {}
    except BadBundle as error:
        report.faults.append(error.fault)
    return report


def verify_file(path: Path, *, is_rerun: bool) -> Report:
    """Check everything about a bundle in a file; `is_rerun`: run its scripts as well."""
    with path.open("rb") as file:
        report = verify_bundle(file)
        if is_rerun and report.is_sound:
            with open_bundle(file) as bundle:
                result = rerun_scripts(bundle, report.computed)
            report.checks += result.checks
            report.remarks += result.remarks
            report.faults += result.faults
    return report


def write_lines(report: Report, path: Path, about_plan: Sequence[str] = ()) -> list[str]:
    """Return what a command prints of a report on the bundle in a file."""
    lines = [
        *report.checks,
        *(f"Note: {remark}" for remark in report.remarks),
        *(f"WRONG: {fault}" for fault in report.faults[:_MOST_SHOWN]),
    ]
    if more := len(report.faults[_MOST_SHOWN:]):
        lines.append(f"… and {more:,} more faults.")
    lines += about_plan
    if report.is_sound:
        verdict = "nothing else is wrong" if report.remarks else "nothing is wrong"
        lines.append(f"{path}: {verdict}.")
    return lines


def _check_in_scratch(bundle: Bundle, file: IO[bytes], report: Report) -> None:
    """Add what a child process finds when it loads the bundle."""
    settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=settings.DATA_DIR, prefix="tmp-verify-") as path:
        folder = Path(path)
        with _as_real_file(file, folder) as source:
            failure = run_child(source, folder, size=bundle.size)
        findings = folder / "findings.json"
        if failure is not None or not findings.exists():
            message = failure or "The check stopped without a result."
            report.faults.append(Fault("check_failed", message))
            return
        result = read_json(findings.read_bytes(), most_values=VALUES_IN_FILE)
    report.checks += result["checks"]
    report.remarks += result["remarks"]
    report.faults += [Fault(*fault) for fault in result["faults"]]
    report.plan_versions = result["plan_versions"]
    report.computed = result["computed"]


def run_child(source: IO[bytes], folder: Path, *, size: int, task: str = "check") -> str | None:
    """Run a task on a bundle in a child process; return why it failed, if it did."""
    seconds = _SECONDS + size / _BYTES_A_SECOND
    try:
        done = subprocess.run(  # noqa: S603 (our own module)
            [
                sys.executable,
                "-P",
                "-m",
                "evalsite.data.bundle.scratch",
                folder,
                settings.DATA_DIR,
                task,
            ],
            stdin=source,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=settings.BASE_DIR,
            env=_build_environment(folder),
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"The check took longer than {seconds / 60:,.0f} minutes and was stopped."
    if done.returncode == 0:
        return None
    if done.returncode == -signal.SIGXCPU:
        return "The check took too much computing time and was stopped: this bundle is too large."
    last = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
    return f"The check broke off ({done.returncode}): {last[:200]}"


def _build_environment(folder: Path) -> dict[str, str]:
    """Return the environment of the child: none of the site's own variables, so no secrets."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EVALSITE_")}
    return kept | {
        "EVALSITE_SECRET_KEY": token_urlsafe(50),
        "EVALSITE_URL": "http://localhost",
        "EVALSITE_DATABASE": f"sqlite:///{folder / 'scratch.sqlite3'}",
        "EVALSITE_DATA_DIR": str(folder),
        "DJANGO_SETTINGS_MODULE": os.environ["DJANGO_SETTINGS_MODULE"],
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }


def _as_real_file(file: IO[bytes], folder: Path) -> IO[bytes]:
    """Return a file that a child process can read, at its beginning."""
    try:
        copy: IO[bytes] = os.fdopen(os.dup(file.fileno()), "rb")
    except (io.UnsupportedOperation, AttributeError):
        copy = (folder / "bundle.zip").open("w+b")
        file.seek(0)
        shutil.copyfileobj(file, copy)
        copy.flush()
    copy.seek(0)
    return copy


def check_plan_hash(report: Report, digest: str) -> tuple[bool, list[str]]:
    """Tell whether a version of the plan has the hash that was published, with what to say of it.

    `digest`: its first 12 characters or more.
    """
    if report.about.get("is_anonymous"):
        return False, ["An anonymous bundle has another id, so its plan can't be compared."]
    versions = report.plan_versions
    committed = next(
        (version for version in versions if version["sha256"].startswith(digest)), None
    )
    if committed is None:
        return False, [f"No version of the plan has the hash {digest}."]
    sentences = [
        f"Plan {committed['number']} is the committed one; it was {_describe_time(committed)}."
    ]
    for version in versions:
        if version["number"] > committed["number"]:
            parts = ", ".join(name.replace("_", " ") for name in version["changed"])
            sentences.append(f"Plan {version['number']} came later and changed: {parts}.")
    return True, sentences


def _describe_time(version: dict[str, Any]) -> str:
    if version["first_answer_at"] is None:
        return "frozen, and there is no answer yet"
    frozen, first = map(datetime.fromisoformat, (version["frozen_at"], version["first_answer_at"]))
    side = "before" if frozen <= first else "after"
    seconds = abs((first - frozen).total_seconds())
    units = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))
    unit, size = next((pair for pair in units if seconds >= pair[1]), units[-1])
    return f"frozen {side} the first answer ({count_of(int(seconds // size), unit)})"
