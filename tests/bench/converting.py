"""Outputs of tools joined into a batch: processor time and peak memory.

Each is read by a fresh process, from files like those that the tools write.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

from backports.zstd import zipfile

from tests.bench.lines import say

_JOIN = """
import sys
from pathlib import Path
from evalsite.data.tables.batch import convert
from evalsite.data.tables.files import (find_files)
print(sum(1 for row in convert(find_files(Path(sys.argv[1]))).rows))
"""
_MEBIBYTE = 1024  # of what the system counts in KiB
_INPUT = "The library on Mill Street opens at 9, except on Mondays, when it opens at noon. " * 2
_OUTPUT = "It opens at noon on Mondays, and at 9 on all other days of the week. " * 2
_SYSTEMS = ("alpha-7b", "beta-large")


def main(plan: dict[str, Any]) -> None:
    rows = plan["rows"]
    say(f"\nOutputs of tools, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start")
    makers: dict[str, Callable[[Path, int], None]] = {
        f"Inspect, .eval: {rows:,} samples": _write_eval_logs,
        f"Inspect, .json: {rows:,} samples": _write_json_logs,
        f"promptfoo, JSON: {rows:,} rows": _write_promptfoo,
        f"text files: {10 * rows:,} lines in each of 4": _write_lines,
    }
    for name, make in makers.items():
        with tempfile.TemporaryDirectory() as kept:
            folder = Path(kept) / "run"
            folder.mkdir()
            make(folder, rows)
            say(f"{name}: {_measure(folder)}")


def _measure(folder: Path) -> str:
    size = sum(path.stat().st_size for path in folder.iterdir())
    start = perf_counter()
    child = subprocess.Popen([sys.executable, "-c", _JOIN, str(folder)], stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    seconds = perf_counter() - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"joining ended with {child.returncode}")
    return (
        f"{seconds:.1f} s by the clock, {used.ru_utime + used.ru_stime:.1f} s of the processor, "
        f"{used.ru_maxrss / _MEBIBYTE:.0f} MiB at its peak; {size / 1024**2:.0f} MiB of files"
    )


def _make_sample(number: int) -> dict[str, Any]:
    message = {"id": f"m{number}", "content": f"{_OUTPUT}{number}", "role": "assistant"}
    return {
        "id": number,
        "epoch": 1,
        "input": f"{number}: {_INPUT}",
        "target": "noon",
        "messages": [{"role": "user", "content": f"{number}: {_INPUT}"}, message],
        "output": {"model": "mockllm/x", "choices": [{"message": message, "stop_reason": "stop"}]},
        "scores": {"includes": {"value": "C", "answer": f"{_OUTPUT}{number}"}},
        "events": [{"event": "model", "output": {"completion": f"{_OUTPUT}{number}"}}],
    }


def _write_eval_logs(folder: Path, rows: int) -> None:
    for system in _SYSTEMS:
        with zipfile.ZipFile(folder / f"{system}.eval", "w", zipfile.ZIP_ZSTANDARD) as log:
            header = {"status": "success", "eval": {"model": f"mockllm/{system}"}}
            log.writestr("header.json", json.dumps(header))
            for number in range(rows // 2):
                log.writestr(f"samples/{number}_epoch_1.json", json.dumps(_make_sample(number)))


def _write_json_logs(folder: Path, rows: int) -> None:
    for system in _SYSTEMS:
        with (folder / f"{system}.json").open("w", encoding="utf-8") as log:
            model = json.dumps(f"mockllm/{system}")
            log.write(f'{{"version": 2, "status": "success", "eval": {{"model": {model}}}, ')
            log.write('"samples": [\n')
            log.writelines(
                f"{',' if number else ''}{json.dumps(_make_sample(number))}\n"
                for number in range(rows // 2)
            )
            log.write("]}")


def _write_promptfoo(folder: Path, rows: int) -> None:
    with (folder / "results.json").open("w", encoding="utf-8") as results:
        results.write('{"evalId": "eval-1", "results": {"version": 3, "results": [\n')
        for number in range(rows):
            row = {
                "testIdx": number // 2,
                "promptIdx": 0,
                "provider": {"id": "echo", "label": _SYSTEMS[number % 2]},
                "prompt": {"raw": f"{number // 2}: {_INPUT}", "label": "{{passage}}"},
                "vars": {"passage": f"{number // 2}: {_INPUT}"},
                "response": {"output": f"{_OUTPUT}{number}"},
                "score": 1,
                "success": True,
                "namedScores": {},
            }
            results.write(f"{',' if number else ''}{json.dumps(row)}\n")
        results.write("]}}")


def _write_lines(folder: Path, rows: int) -> None:
    for name in ("source", "reference", *_SYSTEMS):
        with (folder / f"{name}.txt").open("w", encoding="utf-8") as file:
            file.writelines(f"{name} {number}: {_OUTPUT[:70]}\n" for number in range(10 * rows))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
