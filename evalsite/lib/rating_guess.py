"""What columns of ratings hold, guessed from their names and, in a bare file, their first cells."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from evalsite.lib.rating_columns import (
    BARE,
    DIRECTIONS,
    FIELDS,
    MISSING_WORDS,
    Asked,
    Target,
    check_mapping,
    fold,
    list_missing,
    split_field,
)

# Criteria that evaluations ask about: a column with such a name, or the start of it and a number,
# holds ratings, whether or not a study asks for them.
QUALITIES = frozenset(
    ("accuracy", "adequacy", "appropriateness", "clarity", "coherence", "cohesion", "completeness",
     "conciseness", "consistency", "correctness", "creativity", "diversity", "empathy",
     "engagingness", "factuality", "faithfulness", "fluency", "grammaticality", "harmlessness",
     "helpfulness", "humanness", "human_likeness", "informativeness", "interestingness",
     "likeability", "meaning", "naturalness", "overall", "overall_quality", "plausibility",
     "quality", "readability", "relevance", "relevancy", "safety", "sensibleness", "simplicity",
     "specificity", "style", "truthfulness", "understandability", "usefulness")
)  # fmt: skip
# what files put before or after the name of a criterion
_AFFIXES = ("rating", "ratings", "score", "scores", "value", "answer", "likert", "judgement")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?")
_NUMBERED = re.compile(r"(.*?)[\s_.-]*([1-9][0-9]?)")
_START = 3  # letters of a criterion's name that tell it
_MOST_POINTS = 21  # of a scale in a column whose name nobody knows
# names of columns in other words than the analysis knows, by field
_NAMES = {
    "participant": re.compile(
        r"(bewerter|bewerterin|prüfer|prüferin|person|annotator|rater|juge|évaluateur|anotador)\w*",
        re.I,
    ),
    "system": re.compile(r"(system|modell|model|modelo|modèle|système)\w*", re.I),
    "item": re.compile(
        r"(satz|segment|sentence|beispiel|sample|text|dokument|document|frage|phrase|frase|nr|no)"
        r"([\s_.-]*(nr|no|id|nummer|number))?",
        re.I,
    ),
    "note": re.compile(r"(bemerkung|kommentar|anmerkung|commentaire|remarque|comentario)\w*", re.I),
}


def guess_mapping(
    header: Sequence[str], asked: Asked = BARE, numeric: Collection[str] | None = None,
    directed: Collection[str] = (),
) -> dict[str, str]:  # fmt: skip
    """Return a field for each column whose name shows what it holds.

    `numeric`: the columns that hold numbers in the first rows, as far as that is known. A bare file
    has no other sign of its criteria. `directed`: those that hold directions (`is_direction`).
    """
    columns = [name.strip() for name in header]
    names = _strip_prefixes(columns)
    mapping = _guess_names(
        names,
        asked,
        {name for name, column in zip(names, columns, strict=True) if column in numeric}
        if numeric is not None
        else None,
        {name for name, column in zip(names, columns, strict=True) if column in directed},
    )
    return {column: mapping[name] for name, column in zip(names, columns, strict=True)}


def guess_bare(header: Sequence[str], rows: Sequence[Sequence[str]]) -> dict[str, str]:
    """Return a field for each column of a bare file, as its name and its first cells show."""
    cells = {name: [row[number] for row in rows] for number, name in enumerate(header)}
    guess = guess_mapping(
        header,
        numeric=[name for name in header if are_numbers(cells[name])],
        directed=[name for name in header if is_direction(cells[name])],
    )
    if check_mapping(guess):
        completed = dict(guess)
        complete_guess(completed, header, rows)
        for name in [name for name, use in completed.items() if use != guess[name]]:
            # times and ages are numbers, too: these are few, as the points of a scale
            if is_rating(completed[name]) and not 1 < len({*cells[name]}) <= _MOST_POINTS:
                completed[name] = ""
        # half a guess would be no better
        guess = guess if check_mapping(completed) else completed
    return guess


def complete_guess(
    guess: dict[str, str], header: Sequence[str], rows: Sequence[Sequence[str]]
) -> None:
    """Guess what is still missing, for somebody to look at: by more names, then by the cells."""
    cells = {name: [row[number].strip() for row in rows] for number, name in enumerate(header)}
    systems = {cell for name in header if guess[name] == "system" for cell in cells[name]}
    for name in header:
        target = split_field(guess[name])
        if target and target.name == "preferred" and systems and systems.isdisjoint(cells[name]):
            # words for how good an output is
            guess[name] = name_question(target.criterion or name)
    name_columns(guess)
    if any(is_rating(use) for use in guess.values()):
        return
    for name in header:
        # with a decimal comma they may be read as texts
        if not guess[name] and are_numbers(cell.replace(",", ".") for cell in cells[name]):
            guess[name] = name_question(name)


def name_columns(guess: dict[str, str], *, leaves_out: str = "") -> None:
    """Guess fields that no column has yet by more names of columns."""
    taken = {*guess.values(), leaves_out}
    if any(use.startswith("preferred") for use in taken):
        # the systems of a pair have columns of their own
        taken.add("system")
    for field_name, pattern in _NAMES.items():
        named = [name for name in guess if not guess[name] and pattern.fullmatch(name.strip())]
        # two may be one for each of two people
        if field_name not in taken and (len(named) == 1 or (named and field_name == "item")):
            guess[named[0]] = field_name


def is_rating(use: str) -> bool:
    target = split_field(use)
    return target is not None and target.is_rating


def name_question(name: str) -> str:
    return f"value:{name.strip().replace(':', ' ')}"


def are_numbers(cells: Iterable[str]) -> bool:
    """Tell whether all cells are numbers but those that are empty, or say that there is none."""
    filled = [text for cell in cells if (text := cell.strip().casefold())]
    return bool(filled) and all(text in MISSING_WORDS or _NUMBER.fullmatch(text) for text in filled)


def _strip_prefixes(columns: Sequence[str]) -> list[str]:
    """Return names without what MTurk puts before them, where they stay different."""
    stripped = [name.removeprefix("Input.").removeprefix("Answer.") for name in columns]
    return [
        short if short and stripped.count(short) == 1 else name
        for name, short in zip(columns, stripped, strict=True)
    ]


def _guess_names(
    names: Sequence[str],
    asked: Asked,
    numeric: Collection[str] | None,
    directed: Collection[str],
) -> dict[str, str]:
    best = _rank_fields(names, asked, {name.strip() for name in directed})
    chosen: dict[int, str] = {}
    for field, (_, at) in sorted(best.items(), key=lambda pair: pair[1]):
        chosen.setdefault(at, field)
    mapping = {name: chosen.get(at, "") for at, name in enumerate(names)}
    if _is_long(mapping, asked):
        return mapping
    guess = _Guess(names, mapping, asked, numeric)
    wide = guess.find_crossed() or guess.find_numbered() or guess.find_criteria()
    if not wide:
        return mapping
    kept = _list_kept(wide)
    return {name: wide.get(name) or (mapping[name] if mapping[name] in kept else "")
            for name in names}  # fmt: skip


def is_direction(cells: Iterable[str]) -> bool:
    """Tell whether a column says which values are better, and not which output is."""
    words = {cell.strip().casefold() for cell in cells} - {""}
    return bool(words) and words <= set(DIRECTIONS)


def _rank_fields(
    names: Sequence[str], asked: Asked, directed: Collection[str]
) -> dict[str, tuple[int, int]]:
    """Return for each field its best column, behind how far that name is from the field's."""
    best: dict[str, tuple[int, int]] = {}
    for at, name in enumerate(names):
        folded = fold(name)
        for field, aliases in FIELDS.items():
            known = (field, *aliases)
            # of a column called better, the cells say which of two fields it is
            if folded == "better" and (field == "better") != (name in directed):
                continue
            if folded in known:
                place = (known.index(folded), at)
                best[field] = min(best.get(field, place), place)
    useless: set[str] = set()
    if not asked.has_comparisons:
        useless |= {"preferred", "outcome", "shown_first"}
    if not asked.has_values:
        if "value" in best:
            best.setdefault("preferred", best["value"])
        # an export says 1 and 0 beside the system preferred
        useless |= {"value", "label", "value_typed", "place"}
    return {field: place for field, place in best.items() if field not in useless}


def _is_long(mapping: Mapping[str, str], asked: Asked) -> bool:
    fields = set(mapping.values())
    if not fields & {"value", "preferred"}:
        return False
    if not asked.labels:
        return True
    return not list_missing(fields, asked)


def _list_kept(wide: Mapping[str, str]) -> set[str]:
    """Return the fields that a column of the long form may have beside these wide columns."""
    targets = [target for field in wide.values() if (target := split_field(field))]
    dropped = {"value", "preferred", "label", "value_typed"}
    if all(target.criterion for target in targets if target.is_rating):
        dropped.add("criterion")
    if any(target.number or target.system for target in targets):
        dropped |= {"system", "place"}
    return FIELDS.keys() - dropped


class _Guess:
    """Finds wide columns, of a study's criteria or of those that a bare file seems to have."""

    def __init__(
        self,
        names: Sequence[str],
        mapping: Mapping[str, str],
        asked: Asked,
        numeric: Collection[str] | None,
    ) -> None:
        self.names = names
        self.mapping = mapping
        self.asked = asked
        self.numeric = numeric
        self.has_system = "system" in mapping.values()

    def find_crossed(self) -> dict[str, str]:
        """Return the columns of one criterion and one system each, such as fluency_gpt4."""
        fields: dict[str, str] = {}
        for name in self.names:
            for criterion, system in self._split_crossed(name):
                fields.setdefault(name, f"value:{criterion}:{system}")
        return fields if len(set(fields.values())) == len(fields) > 1 else {}

    def _split_crossed(self, name: str) -> Iterator[tuple[str, str]]:
        folded = fold(name)
        if not self.asked.labels and not self.has_system and self._may_be_rating(name):
            yield from (
                (quality, name[len(quality) + 1 :])
                for quality in sorted(QUALITIES, key=len, reverse=True)
                if folded.startswith(f"{quality}_")
            )
        for system in self.asked.systems:
            spelling = fold(system)
            if folded == spelling and len(self.asked.labels) == 1:
                yield next(iter(self.asked.labels)), system
            for part in (folded.removesuffix(f"_{spelling}"), folded.removeprefix(f"{spelling}_")):
                if part != folded and (criterion := self._match(part, is_start=True)):
                    yield criterion, system

    def find_numbered(self) -> dict[str, str]:
        """Return the columns of a row's first, second, ... output and of their systems."""
        parts = split_numbers(self.names)
        systems = {n: name for name, (base, n) in parts.items() if _is_field(base, "system")}
        places = {n: name for name, (base, n) in parts.items() if _is_field(base, "place")}
        ratings: dict[tuple[str, str], str] = {}
        for name, (base, number) in parts.items():
            if number in systems and name not in systems.values() and self._may_be_rating(name):
                criterion = self._match(base, is_start=True) if base else ""
                if criterion or _is_field(base, "value"):
                    ratings.setdefault((criterion, number), name)
        if not ratings or (len(self.asked.labels) > 1 and any(not key for key, _ in ratings)):
            return {}
        rated = {number for _, number in ratings}
        fields = {name: str(Target("value", number, criterion))
                 for (criterion, number), name in ratings.items()}  # fmt: skip
        fields |= {name: f"system{number}" for number, name in systems.items() if number in rated}
        return fields | {name: f"place{n}" for n, name in places.items() if n in rated}

    def find_criteria(self) -> dict[str, str]:
        """Return the columns named after one criterion each."""
        if self.asked.per_output and not self.has_system:
            return {}
        fields: dict[str, str] = {}
        for name in self.names:
            criterion = self._match(fold(name), is_start=False)
            if not criterion or (self.mapping[name] not in ("", "value", "preferred")):
                continue
            compares = criterion in self.asked.compared
            if not self.asked.labels:
                compares = self.numeric is not None and name not in self.numeric
            field = f"{'preferred' if compares else 'value'}:{criterion}"
            if field not in fields.values():
                fields[name] = field
        return fields

    def _may_be_rating(self, name: str) -> bool:
        if self.asked.labels:
            return True
        return self.numeric is not None and name in self.numeric and not name.startswith("_")

    def _match(self, folded: str, *, is_start: bool) -> str:
        """Return the criterion that a column name refers to, or "".

        Of a bare file every column of numbers beside numbered systems may be one.
        """
        name = _strip_affixes(folded)
        if not self.asked.labels:
            is_any = is_start and not _is_field(folded, "value")
            return name if is_any or name in QUALITIES else ""
        return match_criterion(name, self.asked.labels, is_start=is_start)


def split_numbers(names: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return for each name that ends in a number what is before it, and the number."""
    matches = {name: _NUMBERED.fullmatch(name.strip()) for name in names}
    return {name: (fold(match[1]), match[2]) for name, match in matches.items() if match}


def match_criterion(name: str, labels: Mapping[str, str], *, is_start: bool) -> str:
    """Return the key of the only criterion whose key or label starts a column name."""
    # the key, the label, and the parts of a label such as Fluency/Grammaticality
    spellings = {
        key: {fold(text) for text in (key, label, *label.split("/")) if fold(text)}
        for key, label in labels.items()
    }
    exact = [key for key, known in spellings.items() if name in known]
    if not exact and is_start:
        exact = [key for key, known in spellings.items() if _is_short_for(name, known)]
    return exact[0] if len(exact) == 1 else ""


def _is_short_for(name: str, known: Iterable[str]) -> bool:
    for spelling in known:
        words = spelling.split("_")
        if len(name) >= _START and spelling.startswith(name):
            return True
        if len(words) > 1 and name == "".join(word[0] for word in words):
            return True
    return False


def _strip_affixes(folded: str) -> str:
    for affix in _AFFIXES:
        rest = folded.removesuffix(f"_{affix}").removeprefix(f"{affix}_")
        if rest != folded:
            return rest
    return folded


def match_quality(name: str) -> str:
    """Return the criterion that a name of ratings tells by itself; "" if it tells none."""
    folded = fold(name)
    for suffix in ("_rating", "_ratings", "_score", "_scores"):
        if folded.endswith(suffix):
            return folded.removesuffix(suffix)
    return folded if folded in QUALITIES else ""


def _is_field(folded: str, field: str) -> bool:
    return folded == field or folded in FIELDS[field]


def find_unasked(mapping: Mapping[str, str], asked: Asked) -> list[str]:
    """Return the columns left out that look like ratings by criteria the study doesn't ask."""
    wide = {target.number for field in mapping.values() if (target := split_field(field))}
    parts = split_numbers(mapping)
    unasked = []
    for name in (name for name, field in mapping.items() if not field):
        base, number = parts.get(name, ("", ""))
        is_numbered = number in wide and any(
            len(base) >= _START and quality.startswith(base) for quality in QUALITIES
        )
        if is_numbered or _strip_affixes(fold(name)) in QUALITIES:
            unasked.append(name)
    return unasked
