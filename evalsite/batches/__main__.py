"""`python -m evalsite.batches FILE... -o batch.csv`: a batch out of files, without a site."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

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
    parser.add_argument(
        "--map",
        action="append",
        default=[],
        metavar="COLUMN=NAME",
        help="of one table: what to call a column; a value inside JSON becomes one, such as --map "
        "response.body.choices[0].message.content=output. Give it once for each column",
    )
    add_answers(parser)
    arguments = vars(parser.parse_args(given))
    target = arguments["output"]
    part = target.with_name(f".{target.name}.part")
    try:
        with part.open("w", encoding="utf-8", newline="") as opened:
            told = _write(arguments, opened)
        part.replace(target)
    except Unusable as fault:
        sys.stderr.write(f"Nothing was written. {fault}\n")
        return 1
    except Undecided as undecided:
        sys.stderr.write(f"Nothing was written.\n{describe_questions(undecided)}\n")
        return 1
    finally:
        part.unlink(missing_ok=True)
    sys.stdout.write("".join(f"{sentence}\n" for sentence in told))
    return 0


def _write(arguments: Mapping[str, Any], target: TextIO) -> list[str]:
    """Write the batch, and return what to say of it."""
    name = arguments["output"]
    if arguments["map"]:
        return [_write_table(arguments, target)]
    files, names = find_named(arguments["files"])
    try:
        batch = convert(files, names=names, answers=read_answers(arguments), seed=arguments["seed"])
    except Unusable as fault:
        if len(files) > 1 or fault.code != "unknown_format":
            raise
        return [_write_table(arguments, target)]
    rows = batch.write(target)
    return [*batch.made.values(), f"{batch.summary}. {batch.joined} {name} has {rows:,} rows."]


def _write_table(arguments: Mapping[str, Any], target: TextIO) -> str:
    # only a table needs it: what tools write is read without Django
    from evalsite.imports.tables.without_site import write_table  # noqa: PLC0415

    (_, path), *others = arguments["files"]
    if others or path.is_dir():
        raise Unusable("name", "--map is for the columns of one table. Name that file alone.")
    pairs = [pair.rpartition("=") for pair in arguments["map"]]
    if wrong := next((name or column for column, sign, name in pairs if not column), ""):
        raise Unusable("name", f"Write --map {wrong}=NAME, with the name that it should have.")
    names = {column.strip(): name.strip() for column, _, name in pairs}
    rows = write_table(path, names, target)
    return f"One table. {arguments['output']} has {rows:,} rows."


if __name__ == "__main__":
    raise SystemExit(main())
