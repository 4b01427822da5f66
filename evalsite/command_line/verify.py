"""evalsite verify: whether a bundle holds what it says."""

import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from dataclasses import asdict
from pathlib import Path

from evalsite.command_line.output import DONE, NO, Result
from evalsite.command_line.site import without_site

_HASH = re.compile(r"[0-9a-f]{12,64}")


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
        from evalsite.data.bundle.verify import check_plan_hash, verify_file, write_lines

        report = verify_file(options.bundle, is_rerun=options.rerun)
        is_committed, about_plan = True, list[str]()
        if options.plan_hash is not None and report.is_sound:
            is_committed, about_plan = check_plan_hash(report, options.plan_hash)
    return Result(
        DONE if report.is_sound and is_committed else NO,
        "\n".join(write_lines(report, options.bundle, about_plan)),
        {
            "is_sound": report.is_sound,
            "checks": report.checks,
            "remarks": report.remarks,
            "faults": [asdict(fault) for fault in report.faults],
            **({"plan": {"is_committed": is_committed, "sentences": about_plan}}
               if about_plan else {}),
        },
    )  # fmt: skip
