"""What raters gave each output, beside what the import kept of the output's place in its tool."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import IO, Any

from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet

from evalsite.data.files.dataset import (
    explain_empty,
    name_rating,
    read_shown,
    select_shared,
)
from evalsite.data.files.rows import AnswerReader
from evalsite.data.files.services import Written
from evalsite.instruments.schema import Criterion
from evalsite.lib.counts import count_together
from evalsite.lib.csv_writer import write_rows
from evalsite.lib.limited import read_json
from evalsite.lib.transactions import consistent_cut
from evalsite.lib.words import count_of, list_of
from evalsite.people.models import Origin
from evalsite.studies.models import Item, Study

_ITEMS = 200


@dataclass(frozen=True, kw_only=True)
class Scored:
    """What raters gave one output by one criterion."""

    study: str
    system: str
    criterion: Criterion
    # the tool's own ids of the output
    kept: Mapping[str, str]
    # each with its id, its rater and its value
    ratings: Sequence[tuple[str, str, float]]

    @property
    def name(self) -> str:
        return f"human_{self.criterion.key}"

    @property
    def values(self) -> list[float]:
        return [value for _, _, value in self.ratings]

    @property
    def mean(self) -> float:
        return sum(self.values) / len(self.ratings)

    @property
    def raters(self) -> str:
        return count_of(len(self.ratings), "rater")

    def read_exactly(self, name: str) -> Any:
        """Return a kept id as the tool has it: a number, or a text, which may look like one."""
        text = self.kept.get(name, "")
        try:
            value = read_json(text)
        except ValueError:
            return text
        return value if type(value) in (int, str) else text


@dataclass(frozen=True, kw_only=True)
class Way:
    """One way back."""

    tool: str
    file: str
    ending: str
    # of these, the import kept all names of one
    needs: tuple[tuple[str, ...], ...]
    # one line of the page
    purpose: str
    # its scores are from 0 to 1: penalties and edit rates have no upper bound
    is_share: bool = False
    # the scores as a file; the number is the least score that passes, where the tool has one
    write: Callable[[Iterable[Scored], float], Iterator[str]]

    def find_items(self, study: Study) -> QuerySet[Item]:
        """Return the items whose outputs the tool knows."""
        known = Q()
        for names in self.needs:
            known |= Q(extra__has_keys=list(names))
        return Item.objects.main().filter(known, study=study)


def list_scored_criteria(study: Study) -> list[Criterion]:
    """List the criteria that give a number to a single output."""
    return [
        criterion
        for criterion in study.config.criteria
        if criterion.per == "output"
        and criterion.scale.gives_number
        and (criterion.scale.directed or criterion.direction in ("higher", "lower"))
    ]


def has_bounds(criterion: Criterion) -> bool:
    return criterion.scale.maximum is not None


def explain_no_scores(study: Study) -> str:
    """Say why no tool gets scores back; "" if one may."""
    if not list_scored_criteria(study):
        return "This study asks for no number about a single output, so there is no score to give."
    is_answered = select_shared(study).find_annotations(study).exists()
    return "" if is_answered else explain_empty(study)


def count_known(study: Study, ways: Mapping[str, Way]) -> dict[str, int]:
    """Count the items that each tool knows."""
    rows: dict[str, Any] = {name: way.find_items(study) for name, way in ways.items()}
    return count_together(**rows)


def read_scores(study: Study, way: Way) -> Iterator[Scored]:
    """Read what counts of every output that the tool knows, of people who share it."""
    criteria = {criterion.key: criterion for criterion in list_scored_criteria(study)}
    rated: defaultdict[tuple[int, int], defaultdict[str, list[tuple[str, str, float]]]]
    rated = defaultdict(lambda: defaultdict(list))
    known = set(way.find_items(study).values_list("pk", flat=True))
    for answer, rows in AnswerReader(study, select_shared(study)).read_ratings():
        if answer.reasons or answer.origin == Origin.SIMULATED or answer.item_id not in known:
            continue
        for row in rows:
            score = row.score
            is_value = score.criterion in criteria and not score.part and not score.turn
            if row.number and is_value and score.value is not None:
                rating = (name_rating(row), answer.participant, score.value)
                rated[answer.item_id, row.number][score.criterion].append(rating)
    places = iter(sorted(rated))
    while page := list(islice(places, _ITEMS)):
        shown = read_shown(item for item, _ in page)
        for item, number in page:
            system, _ = shown[item].outputs[number]
            kept = _read_kept(shown[item].extra, system)
            if not any(all(name in kept for name in names) for names in way.needs):
                continue
            for key, ratings in rated[item, number].items():
                yield Scored(
                    study=str(study.pk), system=system, criterion=criteria[key], kept=kept,
                    ratings=ratings,
                )  # fmt: skip


def _read_kept(extra: Mapping[str, Any], system: str) -> dict[str, str]:
    """Return the metadata of the output of this system."""
    kept = {
        name: value.get(system, "") if isinstance(value, dict) else value
        for name, value in extra.items()
    }
    return {name: str(text) for name, text in kept.items() if text not in ("", None)}


def write_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for row in rows:
        yield json.dumps(row) + "\n"


def write_table(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    yield write_rows([columns])
    for row in rows:
        yield write_rows([row])


def write_scores(study: Study, way: Way, file: IO[bytes], *, pass_from: float) -> Written:
    """Write the scores of one moment; ValidationError if there are none to give back."""
    if reason := explain_no_scores(study):
        raise ValidationError(reason, code="no_scores")
    if way.is_share and not any(map(has_bounds, list_scored_criteria(study))):
        message = (
            f"{way.tool} takes scores from 0 to 1. Penalties and edit rates have no upper bound, "
            "and this study has no other score."
        )
        raise ValidationError(message, code="no_scores")
    digest, lines = sha256(), 0
    with consistent_cut():
        for text in way.write(read_scores(study, way), pass_from):
            digest.update(text.encode())
            file.write(text.encode())
            lines += 1
    rows = lines - (way.ending == "csv")
    if not rows:
        message = (
            f"No output that people rated came from {way.tool} with the ids that scores are joined "
            f"by: {' or '.join(list_of(names) for names in way.needs)}."
        )
        raise ValidationError(message, code="no_scores")
    return Written(rows, digest.hexdigest())
