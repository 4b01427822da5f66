"""evalsite instruments: what a study can ask, and the columns that its file needs."""

import json
from argparse import ArgumentParser, Namespace
from difflib import get_close_matches
from typing import Any

from evalsite.command_line.output import Refused, Result
from evalsite.command_line.site import without_site


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="print this one as JSON, to use or to adapt"
    )


def run(options: Namespace) -> Result:
    with without_site():
        if options.name is None:
            return _list(list(_read_entries().values()))
        content = find_instrument(options.name).config.to_data()
    text = json.dumps(content, ensure_ascii=False, indent=2)
    return Result(text=text, facts={"instrument": content})


def _read_entries() -> dict[str, Any]:
    from evalsite.builder.gallery import list_gallery, list_protocols

    return {entry.config.key: entry for entry in [*list_protocols(), *list_gallery()]}


def find_instrument(name: str) -> Any:
    """Return the entry of the protocol, or of the gallery, that has this name."""
    entries = _read_entries()
    if name not in entries:
        nearest = get_close_matches(name, entries, n=1)
        hint = f"Did you mean {nearest[0]}?" if nearest else "evalsite instruments lists them all."
        raise Refused(f"There is no instrument {name}. {hint}")
    return entries[name]


def _list(entries: list[Any]) -> Result:
    facts, lines = [], []
    for entry in entries:
        config = entry.config
        columns = entry.columns.split(", ")
        facts.append(
            {
                "name": config.key,
                "kind": entry.value.partition(":")[0],
                "title": config.title,
                "columns": columns,
                "criteria": [criterion.key for criterion in config.criteria],
                "source": config.source.cite,
            }
        )
        lines += [f"{config.key}: {config.title}", f"  columns: {', '.join(columns)}"]
    return Result(text="\n".join(lines), facts={"instruments": facts})
