"""A file, or several, become a batch of a study, from the command line."""

from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandError

from evalsite.data.command import ImportCommand
from evalsite.data.importing import name_on_disk
from evalsite.data.items.choices import (
    CLUSTERS,
    CONTROLS,
    EMPTY_OUTPUTS,
    EVERY,
    MEETS,
    MISSING,
    PROMPTS,
    TAKE_ONCE,
)
from evalsite.data.items.importer import ITEMS
from evalsite.data.items.items import CheckedItems
from evalsite.data.tables.files import FILE_HELP, find_named, read_file
from evalsite.data.tables.reader import NAMES, PREFIX, SEED, SYSTEM_NAMES
from evalsite.data.tables.roles import WORDS
from evalsite.data.tables.table import Fault, Refused, name_plainly
from evalsite.studies.models import Batch
from evalsite.studies.summary_lines import count_of

_ANSWERS = {
    "samples": "several outputs of one system for an input: first, all or random",
    "variant": "outputs for several prompts or filters: the name of one, or each",
    "agents": "agents that traces of one file or service name: each is a system, or joined",
    "incomplete": "inputs that lack a system: leave-out",
    "reasoning": "reasoning in <think> before an output: leave-out or keep",
    "show-reasoning": "reasoning in a field beside the output, shown above it: yes or no",
    "system-prompts": "system prompts of conversations: leave-out or keep",
    "turns": "questions of several turns: first or joined",
    "join": "how several files are joined: id, input, line, or append (one after another)",
}


class Command(ImportCommand):
    help = (
        "Import a file, or several that belong together, as a batch of a study; with one fault "
        "nothing is imported. Exit code 0: it is a batch of the study; 1: it has faults; 2: the "
        "study or the file can't be found."
    )
    importer = ITEMS
    faulty_help = (
        "leave out rows with faults, and all other rows of their items; with --check the command "
        "says how many these are"
    )

    def add_file(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "file", metavar="[NAME=]FILE", nargs="+", type=read_file,
            help=f"{self.file_help}; outputs of evaluation tools; or {FILE_HELP}",
        )  # fmt: skip

    def add_choices(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--take-once",
            action="store_true",
            help="import each item once if the file repeats it for each rater",
        )
        parser.add_argument(
            "--empty-outputs",
            choices=["show", "leave-out", "none"],
            help="accept empty outputs: participants see “(no output)” instead, or the inputs are "
            "left out for every system, or kept without these outputs",
        )
        parser.add_argument(
            "--clusters",
            choices=["yes", "no"],
            help="whether to use the talks or documents that items seem to come from as clusters; "
            "default: yes for a column, and for five or more beginnings of ids",
        )
        parser.add_argument(
            "--meets",
            action="append",
            default=[],
            metavar="SYSTEM",
            help="if people see several outputs at once: the earlier system beside which a new one "
            "is shown, or every; give it once for each",
        )
        parser.add_argument(
            "--name",
            action="append",
            default=[],
            metavar="OLD=NEW",
            help="call a system by another name; give it once for each",
        )
        parser.add_argument(
            "--prompts",
            choices=["text", "conversation"],
            help="whether prompts whose lines begin with other words than speakers are turns",
        )
        parser.add_argument(
            "--control-characters",
            choices=["space", "remove"],
            help="what becomes of control characters in texts",
        )
        parser.add_argument(
            "--missing",
            metavar="WORD",
            help="a word that outputs have for a missing value, such as nan; - keeps it as text",
        )
        group = parser.add_argument_group("decisions, asked for where they are needed")
        for key, meaning in _ANSWERS.items():
            group.add_argument(f"--{key}", metavar="ANSWER", default="", help=meaning)
        group.add_argument(
            "--lines",
            metavar="FILE:ANSWER",
            action="append",
            default=[],
            help="missing lines of a text file: a.txt:empty:23 puts an empty one in at 23, "
            "a.txt:leave-out:23 leaves out item 23, or a line that is too many; give it once for "
            "each",
        )
        group.add_argument(
            "--seed", default="", help="of --samples random, instead of the study's own"
        )

    def read_choices(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        names = (TAKE_ONCE, EMPTY_OUTPUTS, CLUSTERS, PROMPTS, CONTROLS, MISSING)
        choices = {name: arguments[name] for name in names if arguments[name]}
        answers: dict[str, Any] = {
            f"{PREFIX}{key}": answer
            for key in _ANSWERS
            if (answer := arguments.get(key.replace("-", "_")))
        }
        for pair in arguments.get("lines", ()):
            name, _, answer = pair.partition(":")
            if answer:
                answers[f"{PREFIX}lines:{name}"] = answer
        if arguments["seed"]:
            answers[SEED] = arguments["seed"]
        if meets := arguments["meets"]:
            answers[MEETS] = EVERY if EVERY in meets else meets
        if arguments["name"]:
            answers[SYSTEM_NAMES] = read_names(arguments["name"])
        if arguments.get(NAMES):
            answers[NAMES] = arguments[NAMES]
        return choices | answers

    def handle(self, *, study: str, file: Any, **arguments: Any) -> None:
        (name, path), *more_files = file
        if not more_files and name not in WORDS and not path.is_dir():
            file_name = name_on_disk(path)
            names = {file_name: name} if name else {}
            self.import_file(study, path, file_name, **arguments, **{NAMES: names})
            return
        try:
            files, names = find_named(file)
            if not files:
                raise Refused("no_file", f"{path} has no files in it. Name a folder with files.")
        except Refused as error:
            raise CommandError(str(error), returncode=2 if error.code == "no_file" else 1) from None
        self.import_files(study, files, **arguments, **{NAMES: names})

    def find_unused(self, checked: CheckedItems, arguments: Mapping[str, Any]) -> list[Fault]:
        systems = name_plainly(checked.systems, 20)
        return super().find_unused(checked, arguments) + [
            Fault(
                "option_unused",
                f"--name {old}={new}: there is no system “{old}”. The file has: {systems}.",
            )
            for old, new in read_names(arguments["name"]).items()
            if new not in checked.systems
        ]

    def describe(self, checked: CheckedItems) -> str:
        return f"{count_of(checked.rows, 'row')}, {count_of(len(checked.items), 'item')}"

    def describe_stored(self, record: Batch, checked: CheckedItems) -> str:
        systems = ", ".join(checked.systems)
        return (
            f"Imported {count_of(record.rows, 'row')} as {count_of(len(checked.items), 'item')}.\n"
            f"Systems: {systems}."
        )


def read_names(pairs: list[str]) -> dict[str, str]:
    """Return what systems are called instead, by the names in the file."""
    names = {}
    for pair in pairs:
        name, sign, new = (part.strip() for part in pair.rpartition("="))
        if not sign or not name or not new:
            raise CommandError(f"--name {pair}: write OLD=NEW, the name in the file and a new one.")
        names[name] = new
    return names
