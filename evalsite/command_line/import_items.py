"""evalsite import: a file of items becomes a batch of a study."""

from argparse import ArgumentError, ArgumentParser
from collections.abc import Sequence
from io import StringIO
from pathlib import Path

from django.core.management.base import CommandError

from evalsite.command_line.output import DONE, NO, WRONG_USE, Refused, Result
from evalsite.command_line.site import use_site, without_site

_HELP = ("-h", "--help")


def run(words: Sequence[str]) -> Result:
    # the management command's own options can be read once the site's apps are there
    before = ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    _add_arguments(before)
    try:
        chosen, rest = before.parse_known_args(words)
    except ArgumentError as error:
        raise Refused(f"{str(error).capitalize()}.") from None
    if not rest:
        raise Refused("Name a study and a file: evalsite import STUDY FILE.")
    if set(rest) & set(_HELP):
        with without_site():
            return import_items(rest)
    use_site(chosen.data)
    return import_items(rest)


def _add_arguments(parser: ArgumentParser) -> None:
    """Add what the management command doesn't know."""
    parser.add_argument("--data", type=Path, metavar="DIR", help="the folder of the site")
    parser.add_argument("--json", action="store_true", help="write one JSON document")


def import_items(words: Sequence[str]) -> Result:
    """Import what these words say: a study, a file, and options for both."""
    from evalsite.data.command import FaultyFile
    from evalsite.data.management.commands.import_batch import Command

    written = StringIO()
    command = Command(stdout=written)
    # its exit codes are those of the management command
    command.help = command.help.partition(" Exit code")[0]
    parser = command.create_parser("evalsite", "import")
    # these were read before: its help lists them too
    _add_arguments(parser)
    try:
        arguments = vars(parser.parse_args(words))
        del arguments["data"], arguments["json"]
        command.execute(**arguments)
    except FaultyFile as error:
        lines = written.getvalue().splitlines()
        faults = [
            {"code": fault.code, "message": str(fault), "line": fault.line, "column": fault.column}
            for fault in error.faults
        ]
        return Result(NO, "\n".join([*lines, str(error)]), {"messages": lines, "faults": faults})
    except CommandError as error:
        raise Refused(str(error), WRONG_USE) from None
    lines = written.getvalue().splitlines()
    return Result(DONE, "\n".join(lines), {"messages": lines, "faults": []})
