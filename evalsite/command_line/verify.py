"""evalsite verify: whether a bundle holds what it says."""

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evalsite.command_line.output import DONE, NO, Result
from evalsite.command_line.site import without_site

_HASH = re.compile(r"[0-9a-f]{12,64}")
_MOST_SHOWN = 100


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("bundle", metavar="BUNDLE", type=Path, help="a bundle of a study (.zip)")
    parser.add_argument(
        "--rerun",
        action="store_true",
        help="also run analysis.R and analysis.py of this Evalsite on the ratings, and compare "
        "every cell of their tables with the report",
    )
    add_plan_hash(parser)


def add_plan_hash(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--plan-hash",
        metavar="HASH",
        type=_read_hash,
        help="the hash in the line of the plan that was published (evalsite-plan ...), or its "
        "first 12 characters or more: a version of the plan must have it",
    )


def _read_hash(text: str) -> str:
    digest = text.strip().lower()
    if not _HASH.fullmatch(digest):
        raise ArgumentTypeError("give 12 to 64 of the characters 0-9 and a-f")
    return digest


def run(options: Namespace) -> Result:
    with without_site():
        from evalsite.exports.bundle.verify import check_plan_hash, verify_bundle

        with options.bundle.open("rb") as file:
            report = verify_bundle(file)
            if options.rerun and report.is_sound:
                _rerun(file, report)
        is_committed, about_plan = True, list[str]()
        if options.plan_hash is not None and report.is_sound:
            is_committed, about_plan = check_plan_hash(report, options.plan_hash)
    lines = [
        *report.checks,
        *(f"Note: {remark}" for remark in report.remarks),
        *(f"WRONG: {fault}" for fault in report.faults[:_MOST_SHOWN]),
    ]
    if more := len(report.faults) - len(report.faults[:_MOST_SHOWN]):
        lines.append(f"… and {more:,} more faults.")
    lines += about_plan
    if report.is_sound:
        verdict = "nothing else is wrong" if report.remarks else "nothing is wrong"
        lines.append(f"{options.bundle}: {verdict}.")
    return Result(
        DONE if report.is_sound and is_committed else NO,
        "\n".join(lines),
        {
            "is_sound": report.is_sound,
            "checks": report.checks,
            "remarks": report.remarks,
            "faults": [asdict(fault) for fault in report.faults],
            **({"plan": {"is_committed": is_committed, "sentences": about_plan}}
               if about_plan else {}),
        },
    )  # fmt: skip


def _rerun(file: Any, report: Any) -> None:
    from evalsite.exports.bundle.read import open_bundle
    from evalsite.exports.bundle.rerun import rerun_scripts

    with open_bundle(file) as opened:
        result = rerun_scripts(opened)
    report.checks += result.checks
    report.remarks += result.remarks
    report.faults += result.faults
