"""evalsite import: a file of items becomes a batch of a study."""

from argparse import REMAINDER, ArgumentError, ArgumentParser, Namespace
from io import StringIO
from pathlib import Path

from django.core.management.base import CommandError

from evalsite.command_line.output import DONE, NO, WRONG_USE, Refused, Result
from evalsite.command_line.site import use_site, without_site

_HELP = ("-h", "--help")


def add_arguments(parser: ArgumentParser) -> None:
    _add_data(parser)
    parser.add_argument(
        "words",
        nargs=REMAINDER,
        metavar="STUDY FILE ...",
        help="the study (its id, the beginning of its id, or its title) and the file, with options "
        "for both: `evalsite import STUDY --help` lists them",
    )


def _add_data(parser: ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, metavar="DIR", help="the folder of the site")


def run(options: Namespace) -> Result:
    # its options are those of the management command, which need the site's apps
    before = ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    _add_data(before)
    try:
        chosen, words = before.parse_known_args(options.words)
    except ArgumentError as error:
        raise Refused(f"{str(error).capitalize()}.") from None
    words = [word for word in words if word != "--json"]
    if not words:
        raise Refused("Name a study and a file: evalsite import STUDY FILE.")
    if set(words) & set(_HELP):
        with without_site():
            return import_items(words)
    use_site(chosen.data or options.data)
    return import_items(words)


def import_items(words: list[str]) -> Result:
    """Import what these words say: a study, a file, and options for both."""
    from evalsite.imports.command import FaultyFile
    from evalsite.imports.management.commands.import_batch import Command

    written = StringIO()
    command = Command(stdout=written)
    # its exit codes are those of the management command
    command.help = command.help.partition(" Exit code")[0]
    parser = command.create_parser("evalsite", "import")
    try:
        command.execute(**vars(parser.parse_args(words)))
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
