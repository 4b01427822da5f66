"""Find the command that was typed, run it, and turn what happens into output and exit code."""

import os
import sys
import traceback
from argparse import ArgumentParser
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from difflib import get_close_matches
from importlib import import_module
from io import TextIOWrapper
from typing import Any, NoReturn

from evalsite import __version__
from evalsite.command_line.faults import read_fault
from evalsite.command_line.output import (
    DONE,
    STOPPED,
    Output,
    Refused,
    Result,
    escape_controls,
)
from evalsite.command_line.processes import Interrupted, take_signals

# A command is a line here and a module of this folder, with add_arguments(parser) and
# run(options), which returns a Result. `options.output` writes what comes before the end.
COMMANDS = {
    # command: (module, what it does)
    "serve": ("serve", "run a site on this machine until Ctrl-C"),
    "rate": ("rate", "let a few people rate a file, each by a link, and write the results"),
    "report": ("report", "print the results of ratings in a file"),
    "gate": ("gate", "decide whether a system is worse than another by more than a margin"),
    "judge": ("judge", "write what a study found of a judge, or say whether it still holds"),
    "verify": ("verify", "check that a bundle holds what it says"),
    "page": ("page", "write the public page of a study from its bundle, for any web host"),
    "repeat": ("repeat", "make a draft from a bundle, with the same items, texts, design and seed"),
    "import": ("import_items", "import a file of items into a study"),
    "export": ("export", "write a study as a bundle"),
    "instruments": ("instruments", "list what a study can ask, with the columns its file needs"),
    "health": ("health", "say whether the site works; exits with 1 if it doesn't"),
    "prepare": ("prepare", "make or upgrade the database of a site, and collect static files"),
    "web": ("web", "run the web server of a site"),
    "worker": ("worker", "run the jobs of a site"),
    "manage": ("manage", "run a management command of the site; `evalsite manage help` lists them"),
}
_WITH_FURTHER_OPTIONS = ("rate",)  # which are those of `import`
_NOT_ON_WINDOWS = ("serve", "rate", "web", "worker")  # their web server doesn't run there
# they run until they are stopped, or have an output of their own
_WITHOUT_JSON = ("serve", "web", "worker", "manage")
# they take signals themselves
_WITH_SIGNALS = ("web", "worker", "manage")
# their options are those of management commands, which they read once the site is chosen
_WITH_OWN_PARSER = ("import", "manage")


class _Parser(ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        raise Refused(_sentence(message))


def main() -> int:
    """Run the command that was typed and return its exit code."""
    # whatever it makes may hold answers: for nobody but its own user to read
    os.umask(0o077)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalsite.settings")
    # None if the process that starts this has closed them
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 (to the end)
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if isinstance(sys.stdout, TextIOWrapper):
        # on a terminal without UTF-8
        sys.stdout.reconfigure(errors="backslashreplace")
    if sys.argv[1:2] and sys.argv[1] not in _WITH_SIGNALS:
        take_signals()
    try:
        return run_command(sys.argv[1:])
    except BrokenPipeError:
        # what read the output of a running command has gone
        _drop_output()
        return STOPPED


def run_command(words: Sequence[str]) -> int:
    """Run one command, such as ["gate", "bundle.zip", "--json"], and return its exit code."""
    name, *rest = words or [""]
    if name in ("-h", "--help", "help"):
        sys.stdout.write(describe_commands())
        return DONE
    if name == "--version":
        sys.stdout.write(f"evalsite {__version__}\n")
        return DONE
    output = Output(name, is_json="--json" in rest and name not in _WITHOUT_JSON)
    try:
        with redirect_stdout(sys.stderr if output.is_json else sys.stdout):
            result = _run(name, rest, output)
    except KeyboardInterrupt:
        result = _refuse(Refused("Stopped.", STOPPED))
    except SystemExit as ended:
        # --help was answered
        result = Result(ended.code if isinstance(ended.code, int) else DONE)
    except BrokenPipeError:
        raise
    except Exception as error:
        # Python wraps what a signal raises while a class is being made
        if isinstance(error.__cause__, Interrupted):
            result = _refuse(Refused("Stopped.", STOPPED))
        else:
            result = _refuse(read_fault(error) or _report_mistake(error))
    return _write(output, result)


def _write(output: Output, result: Result) -> int:
    """Write the result and return its exit code, which stays true if nobody reads on."""
    try:
        output.write_result(result)
    except OSError as error:
        _drop_output()
        if not isinstance(error, BrokenPipeError):
            return _refuse(Refused(f"The result can't be written: {error.strerror}.")).code
    return result.code


def _drop_output() -> None:
    # Python would try again to write at its end, and change the exit code
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _run(name: str, words: list[str], output: Output) -> Result:
    if name not in COMMANDS:
        raise Refused(_describe_unknown(name))
    if sys.platform == "win32" and name in _NOT_ON_WINDOWS:
        raise Refused(
            f"evalsite {name} doesn't run on Windows. Use the container image: see "
            "docs/deploying.md."
        )
    module: Any = import_module(f"evalsite.command_line.{COMMANDS[name][0]}")
    result: Result
    if name in _WITH_OWN_PARSER:
        result = module.run(words)
        return result
    parser = _Parser(
        prog=f"evalsite {name}", description=_sentence(COMMANDS[name][1]), allow_abbrev=False
    )
    module.add_arguments(parser)
    if name not in _WITHOUT_JSON:
        parser.add_argument("--json", action="store_true", help="write one JSON document")
    options, further = parser.parse_known_args(words)
    if further and name not in _WITH_FURTHER_OPTIONS:
        parser.error(f"unrecognized arguments: {' '.join(further)}")
    options.output, options.further = output, further
    result = module.run(options)
    return result


def _refuse(fault: Refused) -> Result:
    with suppress(OSError):  # the exit code still tells
        sys.stderr.write(f"{escape_controls(str(fault))}\n")
    return Result(fault.code, facts={"error": str(fault)})


def _report_mistake(error: Exception) -> Refused:
    """Return what to do about a mistake of ours; its traceback is for those who mend it."""
    with suppress(OSError):
        traceback.print_exception(error)
    return Refused(
        f"Evalsite failed ({type(error).__name__}: {error}). This is a mistake in Evalsite: "
        "please report it, with the lines above."
    )


def describe_commands() -> str:
    width = max(map(len, COMMANDS)) + 2
    lines = [f"  {name:{width}}{description}" for name, (_, description) in COMMANDS.items()]
    return "\n".join(
        [
            "usage: evalsite COMMAND ...",
            "",
            *lines,
            "",
            "`evalsite COMMAND --help` describes the options of a command.",
            "",
        ]
    )


def _describe_unknown(name: str) -> str:
    if not name:
        return describe_commands()
    nearest = get_close_matches(name, COMMANDS, n=1)
    hint = f"Did you mean {nearest[0]}?" if nearest else "`evalsite help` lists all of them."
    return f"There is no command {name}. {hint}"


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:].removesuffix('.')}."
