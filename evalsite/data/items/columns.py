"""What a column of a batch may contain, and which one does: guessed from names and first rows.

In the long form a row holds one output (`system`, `output`); in the wide form it holds all outputs
of an item, in numbered fields (`system1`, `output1`, `system2`, ...) or in columns that are named
after their systems. A mapping gives each column the name of a field, "" to keep it as metadata of
the item, or "-" to leave it out; it is checked, and turned into the places of a row.
"""

import re
from collections.abc import Callable, Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from evalsite.data.importing import LEAVE_OUT, Field, check_fields, fold, is_personal, join_names
from evalsite.data.items.items import CheckedItems
from evalsite.data.tables.table import Fault, Table, show
from evalsite.instruments.schema import Instrument

EMPTY_FLAG = "output_is_empty"
PAIR = "pair"
OF_SYSTEM = "output_of_this_system"  # several columns may be: each is named after its system
# before an instrument is chosen: several columns may be, and none has another name
INPUT = "input_of_this_name"
SEVERAL = ("", OF_SYSTEM, LEAVE_OUT)  # what any number of columns may be mapped to
PER_OUTPUT = ("output", "system", EMPTY_FLAG, PAIR)
_NUMBERED_FIELD = re.compile(rf"({'|'.join(PER_OUTPUT)})([1-9][0-9]?)")
_MOST_OFFERED = 3

# The words of each field, and other names that real files use; a protocol's own come first.
_FIELDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "item": ("Item", ("item_id", "itemid", "id", "item_key")),
    "group": ("Group of items", ("group_id", "groupid")),
    "cluster": ("Cluster of items", ("cluster_id", "clusterid")),
    "kind": ("Kind of item", ("item_kind",)),
    "system": (
        "System",
        (
            "system_id", "system_name", "sys", "sys_id", "sys_name", "mt_system", "mt_engine",
            "engine", "team", "model", "model_name", "llm", "algorithm", "method", "sheet",
        ),
    ),
    "output": (
        "Output",
        (
            "output_text", "utterance", "ref", "response", "text", "hypothesis", "candidate",
            "completion", "machine_completion", "generation", "generated", "generated_text",
            "prediction", "next_utterance", "reply", "answer", "actual_output", "actualoutput",
        ),
    ),
    EMPTY_FLAG: ("Output is empty (yes or no)", ("is_empty",)),
    PAIR: ("Pair", ()),
    OF_SYSTEM: ("Output of this system", ()),
    "gold_why": ("Why it is right", ("why",)),
}  # fmt: skip
# a conversation is the item where nothing else is; else its items belong together
_CONVERSATIONS = ("conversation_id", "dialog_id", "dialogue_id", "dlg_id", "conv_id")
# what people are shown next to the outputs, whatever the protocol calls it; the best comes first
_PROMPTS = (
    "prompt", "input", "source", "src", "context", "question", "query", "instruction", "article",
    "inputs", "user_input", "document", "passage", "conversation", "dialogue", "dialog", "history",
    "turns", "messages", "input_text", "source_text", "post", "text",
)  # fmt: skip
# what else is known to be an input while no instrument says what it shows
_INPUTS = frozenset((
    *_PROMPTS, "data", "triples", "table", "box_score", "evidence", "mr",
    "meaning_representation", "review", "review_text", "review_body", "dialogue_history",
    "dialog_history", "dialogue_context", "goal", "claim", "premise", "transcript", "paragraph",
    "frage", "quelltext", "ausgangstext", "originaltext", "eingabe", "kontext", "anweisung",
))  # fmt: skip
# may be a system's output as well as what it is measured against
_REFERENCES = re.compile(
    r"(the_)?(ref|reference|referenz|gold|target|human|ground_truth)(_?(text|output))?"
)
# an output only where a number or a letter follows
_NUMBERED_OUTPUTS = ("choice", "option")
# hardly the name of a system: with one of these among them no columns are taken for systems
_UNLIKE_SYSTEMS = re.compile(
    r".*_(id|url|name|date|time|type)|"
    "(id|index|no|nr|num|number|row|line|date|time|timestamp|year|split|set|fold|source|src|origin|"
    "domain|topic|category|type|label|lang|language|locale|url|link|doc|document|title|author|user|"
    "worker|annotator|participant|score|rating|value|bleu|rouge|length|len|seed|status|tag|tags|"
    "note|notes|remark|remarks|comment|comments|meta|metadata|extra|condition|group|text|output|input|prompt|"
    "uuid|lfd[._ ]*nr[.]?|nummer|bemerkung|bemerkungen|kommentar|anmerkung|kategorie|thema|datum|"
    "(quell|ziel)?sprache)"
)
_ADDED = re.compile(r"\(.*?\)")
_SHORT = 5
_NUMBERED = re.compile(r"(.*?)_?([1-9][0-9]?)")
# choice_A, outputB, response-c: a letter in place of a number, alone or before another word
_LETTERED = re.compile(r"(.+?)(?:[\s_.-]+([A-Ha-h])|(?<=[a-z])([A-H]))((?:[\s_.-].+)?)")
_SYSTEM_OF = re.compile(r"(.*?)_?([1-9][0-9]?)_(?:id|system|model|team|algorithm|method|name)")
_NUMBER = re.compile(r"[-+−]?([0-9]+([.,][0-9]+)*|[.,][0-9]+)([eE][-+]?[0-9]+)?\s?%?")
_DATE = re.compile(
    r"([0-9]{4}[-/.][0-9]{1,2}[-/.][0-9]{1,2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{2,4})"
    r"([T ]+[0-9]{1,2}:[0-9]{2}\S*)?"
)
# what columns hold that are no outputs by themselves, and how to know it of a cell
_VALUES: dict[str, Callable[[str], object]] = {
    "numbers": _NUMBER.fullmatch,
    "truth values": lambda text: text.casefold() in ("true", "false"),
    "dates": _DATE.fullmatch,
}
# letters of languages that write no spaces between words: Thai to Khmer, Japanese, Chinese
_WITHOUT_SPACES = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_FEW_LETTERS = 4
_NO_VALUE = {"", "nan", "none", "null"}
_TIES = {"tie", "both", "neither"}
_LEAST_WORDS, _MOSTLY = 2, 0.6

Ranks = dict[str, list[tuple[str, int]]]


# --- fields -----------------------------------------------------------------------------


def name_fields(config: Instrument, mapping: Mapping[str, str]) -> list[str]:
    """Every field that a column may be mapped to, in the order in which a page offers them."""
    most = max(_MOST_OFFERED, config.item.outputs.most, *find_numbers(mapping.values()))
    per_output = ["system", "output", EMPTY_FLAG, *([PAIR] if makes_pairs(config) else [])]
    return [
        "item", "group", "cluster", "kind",
        *name_inputs(config),
        *per_output,
        OF_SYSTEM,
        *(f"{field}{n}" for n in range(1, most + 1) for field in per_output),
        *(f"gold_{criterion.key}" for criterion in config.criteria), "gold_why",
    ]  # fmt: skip


def list_fields(config: Instrument, mapping: Mapping[str, str]) -> list[Field]:
    """Return the same fields with the words and the groups that a page shows them in."""
    return [
        Field("", "Keep, don't show", is_for_many=True),
        Field(LEAVE_OUT, "Leave out", is_for_many=True),
        *(_describe_field(name, config) for name in name_fields(config, mapping)),
    ]


def _describe_field(name: str, config: Instrument) -> Field:
    if match := _NUMBERED_FIELD.fullmatch(name):
        number = int(match[2])
        return Field(name, f"{_FIELDS[match[1]][0]} {number}", f"Output {number}")
    if name in PER_OUTPUT:
        return Field(name, _FIELDS[name][0], "One output a row")
    if name == OF_SYSTEM:
        return Field(name, _FIELDS[name][0], "One column a system", is_for_many=True)
    if name.startswith("gold_") and name not in _FIELDS:
        labels = {f"gold_{criterion.key}": str(criterion.label) for criterion in config.criteria}
        return Field(name, f"Right answer: {labels[name]}", "Right answers")
    if name == "gold_why":
        return Field(name, _FIELDS[name][0], "Right answers")
    inputs = {column.name: column.heading for column in config.columns}
    return Field(name, inputs.get(name) or _FIELDS[name][0], "This item")


def name_inputs(config: Instrument) -> list[str]:
    return [column.name for column in config.columns]


def makes_pairs(config: Instrument) -> bool:
    """Return whether items of more than two outputs become all pairs of them."""
    return config.item.outputs.least == config.item.outputs.most == 2


def find_tuple_size(config: Instrument) -> int:
    """Return how many outputs an item shows where inputs with more become tuples; 0: none do."""
    makes = any(criterion.scale.makes_tuples for criterion in config.criteria)
    return config.item.outputs.most if makes else 0


def names_items(config: Instrument, fields: Iterable[str]) -> bool:
    """Return whether each group becomes one item, since nothing else names items."""
    names = set(fields)
    return makes_pairs(config) and "group" in names and not rows_are_items(config, names)


def rows_are_items(config: Instrument, fields: Iterable[str]) -> bool:
    """Return whether each row is an item, so that items need no id."""
    return config.item.outputs.most == 1 or any(
        is_numbered(field) or field == OF_SYSTEM for field in fields
    )


def is_numbered(field: str) -> bool:
    return _NUMBERED_FIELD.fullmatch(field) is not None


def is_per_output(field: str) -> bool:
    return field in PER_OUTPUT or is_numbered(field)


def find_numbers(fields: Iterable[str]) -> list[int]:
    """Return the numbers of the outputs that a wide file has columns for."""
    matches = (_NUMBERED_FIELD.fullmatch(field) for field in fields)
    return sorted({int(match[2]) for match in matches if match})


# --- guessing ---------------------------------------------------------------------------


def guess_mapping(
    header: Sequence[str],
    config: Instrument,
    rows: Sequence[Sequence[str]] = (),
    chosen: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return a field for each column that has a known name; each field is given once.

    `rows`: the cells of the first few, which tell texts from other values. `chosen`: what is known
    of columns and paths.
    """
    chosen = chosen or {}
    ranks = _rank_names(config)
    best: dict[str, tuple[int, int]] = {}
    for number, column in enumerate(header):
        if column.strip() in chosen:
            continue
        for field, rank in _find_fields(column, ranks, config):
            best[field] = min(best.get(field, (rank, number)), (rank, number))
    if {"system", "output"} <= best.keys():
        best = {field: place for field, place in best.items() if not is_numbered(field)}
    elif any(map(is_numbered, best)):
        best.pop(PAIR, None)  # of a whole row it says nothing about its outputs
    if "system" not in best and "output" in best and is_reference(header[best["output"][1]]):
        del best["output"]  # the one text is no system's, perhaps: what it is, is asked
    best = {field: place for field, place in best.items() if field not in chosen.values()}
    mapping = _give_fields(header, best)
    mapping |= {column: field for column, field in chosen.items() if column in mapping}
    fields = {*mapping.values(), *chosen.values()}
    prompt = _guess_prompt(mapping, config, fields)
    mapping |= prompt
    systems = _guess_systems(mapping, config, rows, fields | {*prompt.values()})
    return mapping | dict.fromkeys(systems, OF_SYSTEM)


def _give_fields(header: Sequence[str], best: Mapping[str, tuple[int, int]]) -> dict[str, str]:
    chosen: dict[int, str] = {}
    for field, (_, number) in sorted(best.items(), key=lambda pair: pair[1]):
        # a column that fits two fields goes to the one whose name it fits best
        if number not in chosen:
            chosen[number] = field
    return {column.strip(): chosen.get(number, "") for number, column in enumerate(header)}


def is_input(column: str) -> bool:
    """Return whether a column of this name holds an input, and no output."""
    name = fold_plainly(column.strip().removeprefix("Input."))
    # also “Source article”
    words = {name} if name in _INPUTS else {*name.split("_")}
    return words <= _INPUTS and not words <= {*_FIELDS["output"][1]}


def is_reference(column: str) -> bool:
    """Return whether a column of this name may hold what outputs are measured against."""
    return _REFERENCES.fullmatch(fold_plainly(column)) is not None


def fold_plainly(column: str) -> str:
    """Normalise a column name without what people add to it in parentheses, and without dots."""
    return fold(_ADDED.sub("", column)).strip("_")


def _guess_prompt(
    mapping: Mapping[str, str], config: Instrument, fields: Collection[str]
) -> dict[str, str]:
    """The one text that is shown and has no column yet is the column most like a prompt."""
    missing = [
        column.name for column in config.columns if column.required and column.name not in fields
    ]
    if len(missing) != 1:
        return {}
    free = {fold(column): column for column, field in mapping.items() if not field}
    prompt = next((free[name] for name in _PROMPTS if name in free), None)
    inputs = [prompt] if prompt else [column for column in free.values() if is_input(column)]
    return {inputs[0]: missing[0]} if len(inputs) == 1 else {}


def _guess_systems(
    mapping: Mapping[str, str],
    config: Instrument,
    rows: Sequence[Sequence[str]],
    fields: Collection[str],
) -> list[str]:
    """The columns that can't be but outputs, named after their systems; none if it is doubtful."""
    if any(map(is_per_output, fields)):
        return []
    if any(column.name not in fields for column in config.columns if column.required):
        return []
    cells = list_cells(mapping, rows)
    left = [
        column
        for column, field in mapping.items()
        if not field
        and not is_reference(column)
        # scores say nothing about the columns beside them
        and not (_may_name_system(column) and name_values(cells[column], mapping))
    ]
    like = [column for column in left if _may_name_system(column)]
    if like == left and _fit(len(like), config):
        return like
    # beside other columns only texts are outputs
    texts = [column for column in like if are_texts(cells[column])]
    return texts if _fit(len(texts), config) else []


def list_cells(columns: Iterable[str], rows: Sequence[Sequence[str]]) -> dict[str, list[str]]:
    """Return the cells of each column, in the rows that have one for every column."""
    names = list(columns)
    whole = [row for row in rows if len(row) == len(names)]
    return {name: [row[number] for row in whole] for number, name in enumerate(names)}


def name_values(cells: Sequence[str], columns: Container[str]) -> str:
    """Return what all filled cells are that are no texts, such as “numbers”; "" for texts."""
    filled = [text for cell in cells if (text := cell.strip()).casefold() not in _NO_VALUE]
    for words, is_value in _VALUES.items():
        if filled and all(map(is_value, filled)):
            return words
    if filled and all(text in columns or text.casefold() in _TIES for text in filled):
        return "names of systems"
    return ""


def describe_kept(mapping: Mapping[str, str], rows: Sequence[Sequence[str]]) -> str:
    """Name all columns that are kept and not shown, with what is in them if these aren't texts."""
    kept: dict[str, list[str]] = {}
    for column, cells in list_cells(mapping, rows).items():
        if not mapping[column]:
            kept.setdefault(name_values(cells, mapping), []).append(column)
    texts = kept.pop("", [])
    parts = [f"{', '.join(names)} ({words})" for words, names in kept.items()]
    parts += [", ".join(texts)] if texts else []
    return f"Kept but not shown: {'; '.join(parts)}." if parts else ""


def _fit(columns: int, config: Instrument) -> bool:
    outputs = config.item.outputs
    if outputs.least < 3:
        return columns > 1
    return outputs.least <= columns and (columns <= outputs.most or find_tuple_size(config) > 0)


def _may_name_system(column: str) -> bool:
    name = fold_plainly(column)
    is_other = name in _PROMPTS or _UNLIKE_SYSTEMS.fullmatch(name) is not None
    return not is_other and not is_personal(column)


def are_texts(cells: Sequence[str]) -> bool:
    """Whether these cells are sentences rather than numbers, names, addresses or categories."""
    filled = [cell.strip() for cell in cells if cell.strip()]
    if not filled or len(set(filled)) < _MOSTLY * len(filled):
        return False
    sentences = [
        cell
        for cell in filled
        if (len(cell.split()) >= _LEAST_WORDS or len(_WITHOUT_SPACES.findall(cell)) > _FEW_LETTERS)
        and not _NUMBER.fullmatch(cell)
        and not cell.startswith(("{", "["))
    ]
    return len(sentences) >= _MOSTLY * len(filled)


def find_near(field: str, mapping: Mapping[str, str], config: Instrument) -> list[str]:
    """Return the columns without a field whose names come near to one that this field may have."""
    names = [name for name, fields in _rank_names(config).items() if field in dict(fields)]
    folded = {fold(column): column for column, mapped in mapping.items() if not mapped}
    # many short words share half of their letters, such as team and temp
    near = [
        folded[match]
        for name in [field, *names]
        for match in get_close_matches(
            name, folded, n=2, cutoff=0.65 if len(name) > _SHORT else 0.8
        )
    ]
    return list(dict.fromkeys(near))


# --- names ------------------------------------------------------------------------------


def _rank_names(config: Instrument) -> Ranks:
    """For each folded name the fields it may mean; rank 0 is the field's own name."""
    ranks: Ranks = {}

    def add(field: str, names: Sequence[str]) -> None:
        for rank, name in enumerate(names):
            ranks.setdefault(fold(name), []).append((field, rank))

    for column in config.columns:
        add(column.name, (column.name, *column.aliases))
    for field, (_, aliases) in _FIELDS.items():
        if field == OF_SYSTEM or (field == PAIR and not makes_pairs(config)):
            continue
        own_aliases = config.item.outputs.aliases if field == "output" else ()
        add(field, (field, *own_aliases, *aliases))
    for criterion in config.criteria:
        add(f"gold_{criterion.key}", (f"gold_{criterion.key}",))
    return ranks


def _find_fields(column: str, ranks: Ranks, config: Instrument) -> list[tuple[str, int]]:
    """Return the fields that a column's name may mean, each with its distance from the name."""
    # a crowd platform puts this before the columns of a batch
    column = column.strip().removeprefix("Input.")
    folded = fold(column)
    if folded in ranks:
        return ranks[folded]
    if folded in _CONVERSATIONS:
        return [("item", 60), ("cluster", 61)]
    if numbered := _find_numbered(fold(_number_letter(column)), ranks):
        return numbered
    if folded.endswith("_id"):
        # mr_id, review_id: what numbers the inputs numbers the items
        inputs = set(name_inputs(config))
        named = {field for field, _ in ranks.get(folded.removesuffix("_id"), [])}
        return [("item", 50)] if named & inputs else []
    return []


def _find_numbered(folded: str, ranks: Ranks) -> list[tuple[str, int]]:
    """As `_find_fields`, where the name has the number of an output in it."""
    if match := _SYSTEM_OF.fullmatch(folded):
        is_output = "output" in dict(_mean_per_output(match[1], ranks))
        return [(f"system{int(match[2])}", 50)] if is_output else []
    if match := _NUMBERED.fullmatch(folded):
        meant = _mean_per_output(match[1], ranks)
        return [(f"{field}{int(match[2])}", rank) for field, rank in meant]
    return []


def _mean_per_output(base: str, ranks: Ranks) -> list[tuple[str, int]]:
    if base in _NUMBERED_OUTPUTS:
        return [("output", 50)]
    return [(field, rank) for field, rank in ranks.get(base, []) if field in PER_OUTPUT]


def _number_letter(column: str) -> str:
    """Turn choice_A into choice_1: letters number outputs too."""
    match = _LETTERED.fullmatch(column)
    if match is None:
        return column
    letter = (match[2] or match[3]).lower()
    return f"{match[1]}_{ord(letter) - ord('a') + 1}{match[4]}"


# --- checking ---------------------------------------------------------------------------


# together they tell that a file holds ratings
_OF_RATERS = {"participant", "worker", "worker_id", "workerid", "annotator", "rater", "judge"}
_OF_RATINGS = {"criterion", "value", "rating", "score", "preferred", "preference"}
# what the names of columns hardly ever have: several line breaks, the end of a sentence (“Nr.” and
# “Human ref.” are none), or many words
_IS_TEXT = re.compile(
    r"\n.*\n|(?<!\b[Nn][ro])(?<!\b[a-z]{3})[.!?]\s*\Z|.{60}|(?:\S+\s+){2}\S*[.!?]\s*\Z|(?:\S+\s+){5}\S",
    re.DOTALL,
)


@dataclass(frozen=True)
class OutputColumns:
    """The numbers of the columns of one output of a row.

    If the column is named after the system, that is its name; an empty cell then is no output.
    """

    system: int
    output: int
    is_empty: int | None = None
    pair: int | None = None
    named: str = ""


@dataclass(frozen=True)
class Plan:
    """The number of the column of each field."""

    is_wide: bool
    item: int | None
    # what belongs to the item as a whole: group, cluster, kind, inputs, gold
    shared: Mapping[str, int]
    outputs: tuple[OutputColumns, ...]
    extra: Mapping[str, int]
    # whether all outputs are of one system, called like the file
    is_named_by_file: bool = False


def check_mapping(checked: CheckedItems, config: Instrument, table: Table) -> list[Fault]:
    """Check that each field has one column, and that the columns the protocol needs exist."""
    mapping, line = checked.read_mapping, table.header_line
    faults = check_fields(mapping, list_fields(config, mapping), line)
    by_field = {field for field in mapping.values() if field and field != LEAVE_OUT}
    if problem := _find_two_forms(by_field):
        faults.append(Fault("forms_mixed", problem, line=line))
    missing = _find_missing(by_field, config)
    unclear = _find_unclear_input(checked, config)
    if unclear:
        faults.append(unclear)
    if _is_named_by_file(by_field, checked.system_name):
        missing.remove("system")
    if missing and (fault := _find_other_kind(mapping, config, line, table.sheet)):
        return [*faults, fault]
    faults += [
        _describe_missing(
            field, mapping, config, line, is_listed=field == missing[0] and not unclear
        )
        for field in missing
    ]
    return faults


def _find_two_forms(fields: Iterable[str]) -> str:
    """What is wrong with mapping to more than one form, as a sentence; "" if there is one."""
    mapped = set(fields)
    numbers = [f"output{number}" for number in find_numbers(mapped)]
    if numbers and mapped & set(PER_OUTPUT):
        return (
            "Some columns are mapped to one output in a row and some to numbered outputs "
            f"(such as “{numbers[0]}”). Choose one form."
        )
    if OF_SYSTEM in mapped and any(is_per_output(field) for field in mapped - {OF_SYSTEM}):
        return (
            f"Some columns are mapped to “{OF_SYSTEM}” and some to “system”, “output” or others "
            "of an output. Choose one form."
        )
    return ""


def _find_unclear_input(checked: CheckedItems, config: Instrument) -> Fault | None:
    """Ask which of several columns the systems got, if no column is called like an input."""
    names = {column.name for column in config.columns}
    several = [column for column in checked.candidates if column not in names]
    if len(several) < 2 or not any(checked.mapping.get(column) in names for column in several):
        return None
    name = next(checked.mapping[column] for column in several if checked.mapping[column] in names)
    message = (
        f"Which column did the systems get? Found: {', '.join(several)}. Choose it "
        f"(--map COLUMN={name}); of several, each is shown."
    )
    return Fault("input_unclear", message)


def _is_named_by_file(fields: Collection[str], name: str) -> bool:
    """Return whether one system wrote all outputs, which only the file's name tells."""
    return bool(name) and "output" in fields and "system" not in fields


def make_plan(checked: CheckedItems, config: Instrument) -> Plan:
    """Columns by field, once header and mapping are known to be right."""
    header, mapping = checked.header, checked.read_mapping
    fields = [mapping.get(name.strip(), "") or f"={name.strip()}" for name in header]
    columns = {field: number for number, field in enumerate(fields) if field not in SEVERAL}
    numbers = find_numbers(columns)
    suffixes = [str(number) for number in numbers] or [""] * ("output" in columns)
    is_named_by_file = _is_named_by_file(columns, checked.system_name)
    shared = ["group", "cluster", "kind", *name_inputs(config)]
    shared += [field for field in columns if field.startswith("gold_")]
    return Plan(
        is_wide=suffixes != [""],
        item=columns.get("item", columns.get("group") if names_items(config, fields) else None),
        shared={field: columns[field] for field in shared if field in columns},
        outputs=(
            *(
                OutputColumns(
                    columns[f"{'output' if is_named_by_file else 'system'}{suffix}"],
                    columns[f"output{suffix}"],
                    columns.get(f"{EMPTY_FLAG}{suffix}"),
                    columns.get(f"{PAIR}{suffix}"),
                    checked.system_name if is_named_by_file else "",
                )
                for suffix in suffixes
            ),
            *(
                OutputColumns(number, number, named=header[number].strip())
                for number, field in enumerate(fields)
                if field == OF_SYSTEM
            ),
        ),
        is_named_by_file=is_named_by_file,
        extra={name[1:]: number for name, number in columns.items() if name.startswith("=")},
    )


# --- what is missing ------------------------------------------------------------


def _find_missing(fields: Iterable[str], config: Instrument) -> list[str]:
    mapped = set(fields)
    needed = [column.name for column in config.columns if column.required]
    numbers = find_numbers(mapped)
    if OF_SYSTEM in mapped:
        pass
    elif numbers and not {"system", "output"} & mapped:
        needed += [f"{field}{number}" for number in numbers for field in ("system", "output")]
    else:
        needed += ["system", "output"]
    if not rows_are_items(config, mapped) and not names_items(config, mapped):
        needed.insert(0, "item")
    return [field for field in needed if field not in mapped]


def _find_other_kind(
    mapping: Mapping[str, str], config: Instrument, line: int | None, sheet: str
) -> Fault | None:
    """Name what a file without the columns of a batch seems to be instead, if that is clear."""
    header = list(mapping)
    if len(header) == 1 and sheet:
        message = (
            f"The sheet “{sheet}” was read, and its first row names only one column, "
            f"“{show(header[0])}”. Put the sheet with the items first or hide those before it, "
            "and delete what is above the names of its columns."
        )
        return Fault("one_column", message, line=line)
    if len(header) == 1:
        message = (
            f"The first line names only one column, “{show(header[0])}”. Separate columns by "
            "commas, semicolons or tabs, and name them in the first line."
        )
        return Fault("one_column", message, line=line)
    folded = {fold(column) for column in header}
    if folded & _OF_RATERS and folded & _OF_RATINGS:
        message = (
            "The rows seem to be ratings, not items. Import the batch first, then this file as "
            "ratings collected elsewhere."
        )
        return Fault("looks_like_ratings", message, line=line)
    if not any(mapping.values()) and any(_IS_TEXT.search(column) for column in header):
        needed = [column.name for column in config.columns if column.required]
        message = (
            "The first line seems to hold a row, not the names of columns. Put a line of names "
            f"above it, such as {', '.join(['item', *needed, 'system', 'output'])}."
        )
        return Fault("header_is_data", message, line=line)
    return None


def _describe_missing(
    field: str,
    mapping: Mapping[str, str],
    config: Instrument,
    line: int | None,
    *,
    is_listed: bool,
) -> Fault:
    # values inside a column would be a long list
    columns = [
        name
        for name in mapping
        if not any(name.startswith((f"{other}.", f"{other}[")) for other in mapping)
    ]
    # the page lists columns by their labels
    label = next((column.heading for column in config.columns if column.name == field), field)
    named = f"“{field}”" if label.lower() == field.lower() else f"“{field}” ({label})"
    inputs = name_inputs(config)
    needed = [column.name for column in config.columns if column.required]
    of_several = f" as {named}" if len(needed) > 1 else ""
    questions = {
        **dict.fromkeys(inputs, f"Which column did the systems get{of_several}?"),
        "output": "Which column holds the outputs?",
    }
    message = questions.get(field, f"Column {named} is missing.")
    if is_listed:
        message += f" Found: {', '.join(columns) or 'none'}."
    if field == "item":
        message += " Without it, it isn't clear which outputs belong to which item."
    listed = next((name for name in mapping if "[*]" in name), "")
    if listed and field in PER_OUTPUT:
        message += (
            " If each entry of a list is an output, choose the fields with a star, such as "
            f"“{listed}” (--map '{listed}={field}')."
        )
        return Fault("column_missing", message, column=field, line=line)
    near = find_near(field, mapping, config)
    if near:
        message += f" Did you mean {join_names(near, 'or')}?"
    if field in questions:
        message += f" Choose it (--map {near[0] if len(near) == 1 else 'COLUMN'}={field})."
    elif near:
        message += " Map it, or rename it."
    else:
        message += " Map a column to it, or add it."
    if field == "system":
        message += (
            " If one system wrote all outputs, choose “Output of this system” for their column "
            f"(--map COLUMN={OF_SYSTEM}): the system is then called like the column."
        )
    if field == "output" and list(mapping.values()).count("") > 1:
        message += (
            " If columns are named after systems and hold their outputs, choose “Output of this "
            f"system” for each of them (--map COLUMN={OF_SYSTEM})."
        )
    return Fault("column_missing", message, column=field, line=line)
