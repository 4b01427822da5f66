"""How often gates have been run, in a file beside the ratings: each run is a test of its own."""

import json
import os
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from evalsite.lib.limited import VALUES_IN_FILE, read_json

NAME = "evalsite-gates.json"


def make_fingerprint(paths: list[Path], options: dict[str, Any]) -> str:
    """Return a hash that is equal for runs with the same files and options, and so the same
    outcome."""
    digest = sha256(json.dumps(options, sort_keys=True, default=str).encode())
    for path in paths:
        digest.update(sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def count_runs(
    folder: Path, *, system: str, other: str, fingerprint: str, now: datetime
) -> dict[str, Any] | None:
    """Add this run to the file, unless it is one of those there; return how many gates were run
    against `other`, and when the first was. None: the file can't be read or written."""
    path = folder / NAME
    try:
        runs = _read(path)
        if all(run["fingerprint"] != fingerprint for run in runs):
            runs.append({
                "system": system, "against": other, "fingerprint": fingerprint,
                "run_at": now.astimezone(UTC).isoformat(timespec="seconds"),
            })  # fmt: skip
            _write(path, runs)
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        # a file of something else stays as it is
        return None
    at = [str(run["run_at"]) for run in runs if run["against"] == other]
    return {"number": len(at), "first_at": min(at)}


def _read(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    runs = read_json(path.read_text(encoding="utf-8"), most_values=VALUES_IN_FILE)["gates"]
    for run in runs:
        datetime.fromisoformat(run["run_at"])
    return [{key: run[key] for key in ("system", "against", "fingerprint", "run_at")}
            for run in runs]  # fmt: skip


def _write(path: Path, runs: list[dict[str, Any]]) -> None:
    """Replace the file at once, so that a run that is killed leaves the old one."""
    part = path.with_name(f".{NAME}.{os.getpid()}")
    part.write_text(json.dumps({"gates": runs}, indent=1, ensure_ascii=False), encoding="utf-8")
    part.replace(path)
