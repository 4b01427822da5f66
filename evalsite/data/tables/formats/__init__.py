"""What tools write, as data: one file for each, which says how to know it and where things are.

title         what it is called: "promptfoo results"

[row]         paths (`evalsite/data/tables/paths.py`) into a row; of several the first that leads to
              something, which an empty text is not
id            what the tool numbers inputs by; without it, rows are joined by equal inputs
open          objects whose keys are columns
inputs        columns with the paths of their texts or conversations
system        the system; without it, `system_from` of the shape or `system` of the header
variant       what else may differ between outputs of one system: a prompt, a filter
sample        the number of a repeated sample
output        the text, or a list of texts, which are samples
outputs       of a row with several: the `output` of each, and its `system` or, at a path, its
              `system_at`; without either, that of the row
begins_alike  whether the messages with which all outputs of a row begin are its input
turns         whether inputs and outputs are lists of turns
loose         inputs that may differ between outputs of one id, as other inputs tell it, too: then
              these others are shown
error         why there is no output
failed        why an output doesn't count, though there is one
failed_values values that say so, by path
failed_over   numbers by path, of which larger ones say so
reference     what the output should have been, in a file of references
metadata      what is kept with the item: the tool's own ids and scores
arguments     what the model was called with, kept as `model_arguments`
keeps_rest    whether columns without a meaning are kept as well

[header]      what a log, or a file of settings, says of all rows: `system`, `arguments`,
              `metadata`, and `status` with `finished` ones

[trace]       of steps that belong together, where each names its `trace`, its own `id` and its
              `parent`, when it began (`start`), its `kind` (of which some are `answers` and some
              `tools`), its `input`, `output`, `result`, `system` and `error`; `steps` leads to the
              steps of a record, `owner` to what they belong to. A trace becomes a row with
              `input`, `messages`, `system` and `error`

[ratings]     of a file of ratings: fields by path; "" leaves a column out

[[shape]]     one way in which it is written
container     lines (JSON lines), json, zip (an entry a row), table (CSV), columns (CSV with outputs
              side by side), or ratings: any table
rows          the path of the list, or the folder of the entries; "" or none: all of the file
header        the entry with the header; of json the object itself
needs         paths that the first row has; without them, one of those of the output
needs_one     keys of which it has one at least
matches       patterns that texts of the first row match, by path
lacks         keys that it doesn't have
names         a pattern of file names, for what is told by its name
role          inputs, reference or settings (the header of all files in its folder); else the file
              holds outputs
system_from   file or folder, by whose name the system is called
replace       two texts, of which the first stands for the second in that name
part_from     a pattern of the file's name, whose group `part` is what ids are unique in
output_column a pattern of columns with outputs; its groups are `system` and `variant`
after         columns after each of them that say something of that output
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from evalsite.data.tables.paths import has

FOLDER = Path(__file__).parent
RATINGS = "ratings"


@dataclass(frozen=True, kw_only=True)
class RowPaths:
    """Where things are in a row."""

    id: list[str] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    inputs: dict[str, list[str]] = field(default_factory=dict)
    system: list[str] = field(default_factory=list)
    variant: list[str] = field(default_factory=list)
    sample: list[str] = field(default_factory=list)
    output: list[str] = field(default_factory=list)
    error: list[str] = field(default_factory=list)
    reference: list[str] = field(default_factory=list)
    metadata: list[str] = field(default_factory=list)
    arguments: list[str] = field(default_factory=list)
    outputs: list[dict[str, str]] = field(default_factory=list)
    loose: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    failed_values: dict[str, list[str]] = field(default_factory=dict)
    failed_over: dict[str, int] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    scores: str = ""
    turns: bool = False
    begins_alike: bool = False
    keeps_rest: bool = False


@dataclass(frozen=True, kw_only=True)
class TracePaths:
    """Where things are in a step of a trace."""

    trace: str
    id: str
    parent: str
    start: str
    kind: str
    answers: list[str]
    tools: list[str]
    input: list[str]
    output: list[str]
    result: list[str]
    system: list[str]
    error: str
    steps: str = ""
    owner: str = ""


@dataclass(frozen=True, kw_only=True)
class Header:
    """What a log says of all its rows."""

    system: str = ""
    arguments: list[str] = field(default_factory=list)
    metadata: list[str] = field(default_factory=list)
    status: str = ""
    finished: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """One way in which a tool writes its file."""

    container: str
    rows: str = ""
    header: str = ""
    needs: list[str] = field(default_factory=list)
    needs_one: list[str] = field(default_factory=list)
    lacks: list[str] = field(default_factory=list)
    matches: dict[str, str] = field(default_factory=dict)
    names: str = ""
    role: str = "outputs"
    system_from: str = ""
    replace: list[str] = field(default_factory=list)
    part_from: str = ""
    output_column: str = ""
    after: list[str] = field(default_factory=list)
    # where a document or its header says what people call the run
    run: str = ""


@dataclass(frozen=True, kw_only=True)
class Format:
    """What one tool writes."""

    key: str
    title: str
    row: RowPaths
    shapes: tuple[Shape, ...]
    header: Header = field(default_factory=Header)
    trace: TracePaths | None = None
    # of a file of ratings: what is at its paths
    ratings: dict[str, str] = field(default_factory=dict)


def load_formats(folders: Sequence[Path] = (FOLDER,)) -> list[Format]:
    """Read all formats; TypeError for a key that doesn't exist."""
    files = sorted(chain.from_iterable(folder.glob("*.toml") for folder in folders))
    return [_load(path) for path in files]


@cache
def _load(path: Path) -> Format:
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    return Format(
        key=path.stem,
        row=RowPaths(**data.pop("row", {})),
        header=Header(**data.pop("header", {})),
        trace=TracePaths(**data.pop("trace")) if "trace" in data else None,
        shapes=tuple(Shape(**shape) for shape in data.pop("shape")),
        **data,
    )


def find_ratings(header: Sequence[str], rows: Sequence[Any]) -> dict[str, str]:
    """Return fields by path of ratings that a tool wrote, as the first row shows it; or nothing."""
    cells = rows[0].cells if rows else []
    data = dict(zip(header, cells, strict=False))
    for known in load_formats():
        for shape in known.shapes:
            if shape.container == RATINGS and all(has(data, path) for path in shape.needs):
                return dict(known.ratings)
    return {}
