"""`python -m evalsite.batches FILE... -o batch.csv`: a batch out of files, without a site."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from evalsite.batches.batch import convert
from evalsite.batches.faults import Undecided, Unusable
from evalsite.batches.options import (
    FILE_HELP,
    add_answers,
    describe_questions,
    find_named,
    read_answers,
    read_file,
)


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m evalsite.batches",
        description="Join the outputs of systems, as text files with a line for each input or as "
        "evaluation tools write them, into one CSV file that Evalsite imports. Exit code 0: it is "
        "written; 1: something is wrong, or has to be decided.",
    )
    parser.add_argument("files", nargs="+", metavar="[NAME=]FILE", type=read_file, help=FILE_HELP)
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="BATCH.CSV")
    add_answers(parser)
    arguments = vars(parser.parse_args(given))
    target = arguments["output"]
    part = target.with_name(f".{target.name}.part")
    try:
        files, names = find_named(arguments["files"])
        batch = convert(files, names=names, answers=read_answers(arguments), seed=arguments["seed"])
        with part.open("w", encoding="utf-8", newline="") as opened:
            rows = batch.write(opened)
        part.replace(target)
    except Unusable as fault:
        sys.stderr.write(f"Nothing was written. {fault}\n")
        return 1
    except Undecided as undecided:
        sys.stderr.write(f"Nothing was written.\n{describe_questions(undecided)}\n")
        return 1
    finally:
        part.unlink(missing_ok=True)
    for sentence in batch.made.values():
        sys.stdout.write(f"{sentence}\n")
    sys.stdout.write(f"{batch.summary}. {target} has {rows:,} rows.\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
