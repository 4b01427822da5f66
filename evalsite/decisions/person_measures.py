"""What each person of a study did, in the few figures that rules of exclusions ask about."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from math import sqrt
from statistics import mean, median
from typing import Any

from django.db.models import Q, QuerySet

from evalsite.decisions.check_results import judge_checks
from evalsite.handout.models import Annotation, Rating
from evalsite.studies.models import Item, Output, Study

_PAGE = 5_000
# of each person so many answers are drawn in a row of a table
_PACES = 16
# fewer shared outputs show no order
_FEWEST_SHARED = 3
# adults read 3 to 5 silently; 10 or more is scanning for a word
WORDS_PER_SECOND = 10


@dataclass(kw_only=True)
class Measures:
    """The figures of one person; None where there is nothing to measure."""

    pseudonym: str
    answers: int = 0
    items: set[int] = field(default_factory=set)  # whose answer counts
    checks: int = 0
    failed_checks: int = 0
    attention: int = 0
    failed_attention: int = 0
    seconds: float | None = None
    pages: int = 0  # timed, with texts to read
    under: int = 0  # of them those that took less time than nobody can read them in
    top_share: float | None = None
    # of each criterion: answers, those with the value used most, and the others' share of it
    uses: list[tuple[int, int, float]] = field(default_factory=list)
    agreement: float | None = None
    shared: int = 0  # outputs that agreement rests on, of the criterion with fewest
    longest_run: int = 0  # answers in a row with one point, on one criterion
    paces: list[float] = field(default_factory=list)  # seconds of the latest answers, in order

    @property
    def gold(self) -> int:
        return self.checks - self.attention

    @property
    def passed_attention(self) -> int:
        return self.attention - self.failed_attention

    @property
    def passed_gold(self) -> int:
        return self.gold - (self.failed_checks - self.failed_attention)


def measure_people(
    study: Study, *, pilots: bool = False, with_texts: bool = False
) -> dict[int, Measures]:
    """Measure everyone who answered anything; of pilots, or of all others.

    `with_texts`: also whether pages took too little time to read them, for which all texts are
    read.
    """
    answers = Annotation.objects.agreed().filter(study=study)
    answers = answers.exclude(status=Annotation.Status.WITHDRAWN)
    is_pilot = Q(status=Annotation.Status.PILOT)
    answers = answers.filter(is_pilot if pilots else ~is_pilot)
    people: dict[int, Measures] = {}
    for pk, pseudonym in (
        answers.exclude(item__kind=Item.Kind.PRACTICE)
        .order_by("participant")
        .values_list("participant", "participant__pseudonym")
        .distinct()
    ):
        people[pk] = Measures(pseudonym=pseudonym)
    _measure_checks(study, answers, people)
    compares = {criterion.key for criterion in study.config.criteria if criterion.scale.compares}
    main = answers.filter(item__kind=Item.Kind.MAIN)
    _measure_answers(main, people, compares, _count_words(main) if with_texts else {})
    return people


def _measure_checks(
    study: Study, answers: QuerySet[Annotation], people: dict[int, Measures]
) -> None:
    attention = answers.filter(item__kind=Item.Kind.ATTENTION)
    attention_pks = set(attention.values_list("pk", flat=True))
    for pk, (person, agrees) in judge_checks(study, answers).items():
        if person not in people:
            continue  # came since
        measures = people[person]
        measures.checks += 1
        measures.failed_checks += not agrees
        measures.attention += pk in attention_pks
        measures.failed_attention += pk in attention_pks and not agrees


def _count_words(main: QuerySet[Annotation]) -> dict[int, dict[int, int]]:
    """Return of each item that was answered the words of each of its texts."""
    words: dict[int, dict[int, int]] = {}
    answered = main.order_by().values("item")
    inputs = Item.objects.filter(pk__in=answered).order_by().values_list("pk", "inputs")
    for item, values in inputs.iterator(_PAGE):
        words[item] = {hash(text): len(text.split()) for text in map(str, values.values())}
    outputs = Output.objects.filter(item__in=answered).order_by().values_list("item", "text")
    for item, text in outputs.iterator(_PAGE):
        if item in words:  # else first answered since
            words[item][hash(text)] = len(text.split())
    return words


def _measure_answers(
    main: QuerySet[Annotation],
    people: dict[int, Measures],
    compares: Collection[str],
    words: dict[int, dict[int, int]],
) -> None:
    """Measure counts, times, the most used point and agreement from answers to main items.

    `compares`: the criteria of which one point is a side, and which have no scores to rank;
    `words`: those of each text of an item.
    """
    seen: dict[int, set[int]] = defaultdict(set)
    seconds: dict[int, list[float]] = defaultdict(list)
    who: dict[int, int] = {}
    shown: dict[int, list[int]] = {}
    for (
        pk, person, item, status, outcome, active_ms, started, submitted, origin, order
    ) in main.order_by("pk").values_list(
        "pk", "participant_id", "item_id", "status", "outcome", "active_ms", "started_at",
        "submitted_at", "origin", "order_shown",
    ):  # fmt: skip
        if person not in people:
            continue  # came since
        measures = people[person]
        measures.answers += 1
        who[pk], shown[pk] = person, order
        if status == Annotation.Status.COUNTED:
            measures.items.add(item)
        texts = words.get(item, {})
        to_read = sum(n for text, n in texts.items() if text not in seen[person])
        seen[person] |= texts.keys()
        if active_ms is not None:
            taken = active_ms / 1000
        elif origin != "imported":
            taken = (submitted - started).total_seconds()
        else:
            continue
        seconds[person].append(taken)
        if outcome == Annotation.Outcome.RATED and any(texts.values()):
            measures.pages += 1
            measures.under += taken < to_read / WORDS_PER_SECOND
    for person, times in seconds.items():
        people[person].seconds = median(times)
        people[person].paces = [round(seconds_taken, 1) for seconds_taken in times[-_PACES:]]
    _measure_values(main, who, shown, people, compares)


def _measure_values(
    main: QuerySet[Annotation],
    who: dict[int, int],
    shown: dict[int, list[int]],
    people: dict[int, Measures],
    compares: Collection[str],
) -> None:
    """Measure the most used point and agreement; by annotation: who gave it, in which order."""
    points: dict[int, dict[str, Counter[Any]]] = defaultdict(lambda: defaultdict(Counter))
    # of an output, or of each of its turns
    scores: dict[str, dict[tuple[int, int], dict[int, int]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    runs: dict[tuple[int, str], tuple[Any, int]] = {}
    for annotation, criterion, output, position, value, turn in _read_ratings(main):
        if annotation not in who:
            continue  # submitted since
        person, order = who[annotation], shown[annotation]
        point = value
        if criterion in compares:
            # the side that was chosen: outputs change sides from item to item
            point = order.index(position) if position in order else position
        points[person][criterion][point] += 1
        before, run = runs.get((person, criterion), (None, 0))
        runs[person, criterion] = point, run + 1 if point == before else 1
        longest = people[person].longest_run
        people[person].longest_run = max(longest, runs[person, criterion][1])
        if criterion not in compares and output is not None:
            scores[criterion][output, turn][person] = value
    pool: dict[str, Counter[Any]] = defaultdict(Counter)
    for counts in points.values():
        for criterion, used in counts.items():
            pool[criterion].update(used)
    for person, counts in points.items():
        # a person who gives one point to everything does so on each criterion
        people[person].top_share = min(
            max(used.values()) / used.total() for used in counts.values()
        )
        people[person].uses = [_describe_use(used, pool[key]) for key, used in counts.items()]
    for person, (agreement, shared) in _find_agreement(scores).items():
        people[person].agreement, people[person].shared = agreement, shared


def _describe_use(mine: Counter[Any], pool: Counter[Any]) -> tuple[int, int, float]:
    """Return the answers, those with the value used most, and the others' share of that value."""
    most = max(mine.values())
    by_others = min(pool[point] - most for point, number in mine.items() if number == most)
    rest = pool.total() - mine.total()
    return mine.total(), most, by_others / rest if rest else 1.0


def _read_ratings(main: QuerySet[Annotation]) -> Iterator[Any]:
    """Yield the values of these answers, as they were given: in one query, however many."""
    answers = main.order_by().values("pk")
    ratings = Rating.objects.filter(annotation__in=answers, part="", value__isnull=False)
    columns = ("annotation_id", "criterion", "output_id", "output__position", "value", "turn")
    yield from ratings.order_by("annotation", "pk").values_list(*columns).iterator(_PAGE)


def _find_agreement(
    scores: dict[str, dict[tuple[int, int], dict[int, int]]],
) -> dict[int, tuple[float, int]]:
    """Return each person's rank correlation with the mean of the others, averaged over criteria.

    With it, the fewest outputs of a criterion that it rests on.
    """
    correlations: dict[int, list[tuple[float, int]]] = defaultdict(list)
    for outputs in scores.values():
        values_by_person: dict[int, list[float]] = defaultdict(list)
        means_of_rest: dict[int, list[float]] = defaultdict(list)
        for values in outputs.values():
            if len(values) < 2:
                continue
            total = sum(values.values())
            for person, value in values.items():
                values_by_person[person].append(value)
                means_of_rest[person].append((total - value) / (len(values) - 1))
        for person, series in values_by_person.items():
            rho = rank_correlation(series, means_of_rest[person])
            if rho is not None:
                correlations[person].append((rho, len(series)))
    return {
        person: (mean(rho for rho, _ in pairs), min(shared for _, shared in pairs))
        for person, pairs in correlations.items()
    }


def rank_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Return Spearman's correlation; None of fewer than three pairs, or without variation."""
    if len(first) < _FEWEST_SHARED:
        return None
    x, y = _rank(first), _rank(second)
    middle = (len(x) + 1) / 2
    xx = sum((rank - middle) ** 2 for rank in x)
    yy = sum((rank - middle) ** 2 for rank in y)
    if not xx or not yy:
        return None
    return sum((a - middle) * (b - middle) for a, b in zip(x, y, strict=True)) / sqrt(xx * yy)


def _rank(values: Sequence[float]) -> list[float]:
    """Return ranks from 1; equal values share the mean of theirs."""
    # the mean of the same values in another order may differ in its last digit
    rounded = [round(value, 9) for value in values]
    first: dict[float, int] = {}
    counts: Counter[float] = Counter(rounded)
    rank = 1
    for value in sorted(counts):
        first[value] = rank
        rank += counts[value]
    return [first[value] + (counts[value] - 1) / 2 for value in rounded]
