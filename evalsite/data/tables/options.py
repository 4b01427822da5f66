"""Arguments of a command line for files, and for what has to be decided about them."""

from argparse import ArgumentParser
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from evalsite.data.tables.faults import Refused
from evalsite.data.tables.files import SourceFile, find_files

FILE_HELP = "files, folders or zip files; NAME is the system, or inputs, reference or leave-out"
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


def read_file(text: str) -> tuple[str, Path]:
    """Read [NAME=]FILE; a file whose own name has a = in it needs no name."""
    name, sign, path = text.partition("=")
    if sign and not Path(text).exists():
        # argparse takes -=FILE for an option
        name = name.strip()
        return "-" if name == "leave-out" else name, Path(path)
    return "", Path(text)


def find_named(pairs: Sequence[tuple[str, Path]]) -> tuple[list[SourceFile], dict[str, str]]:
    """Return all files of these paths, and the names that were given to some of them."""
    files: list[SourceFile] = []
    names: dict[str, str] = {}
    several = Counter(path.name for _, path in pairs)
    for name, path in pairs:
        files_at = find_files(path)
        if several[path.name] > 1 and path.parent.name and not path.is_dir():
            # such as alpha/out.jsonl and beta/out.jsonl
            files_at = [replace(file, name=f"{path.parent.name}/{file.name}") for file in files_at]
        if name and len(files_at) != 1:
            raise Refused("name", f"{path} is a folder, so it can't be called {name}.")
        if name and name != "-" and name in names.values():
            raise Refused("system_twice", f"Two files are called {name}.")
        files += files_at
        if name:
            names[files_at[0].name] = name
    return files, names


def add_answers(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("decisions, asked for where they are needed")
    for key, meaning in _ANSWERS.items():
        group.add_argument(f"--{key}", metavar="ANSWER", default="", help=meaning)
    group.add_argument("--seed", default="", help="of --samples random, instead of the study's own")


def read_answers(arguments: Mapping[str, Any]) -> dict[str, str]:
    answers = {key: arguments.get(key.replace("-", "_"), "") for key in _ANSWERS}
    return {key: answer for key, answer in answers.items() if answer}
