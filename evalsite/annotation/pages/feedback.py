"""What gold says of an answer, in the names that the page had."""

from collections.abc import Iterable

from evalsite.annotation.pages.screens import Screen
from evalsite.annotation.pages.view_models import output_label, question_names
from evalsite.instruments.answer import AnswerRow
from evalsite.studies.gold import Feedback, feedback, find_gold, lacks_answer, right_values
from evalsite.studies.models import Output


def explain_answers(screen: Screen, rows: Iterable[AnswerRow]) -> list[Feedback]:
    """Return what gold says of each answer, by the names under which the outputs were shown."""
    rows = list(rows)
    config, uploaded = screen.study.config, _as_uploaded(screen)
    # gold speaks of outputs as uploaded; people know them by the place where they saw them
    count = len(uploaded)
    names = [output_label(config, screen.outputs.index(output) + 1, count) for output in uploaded]
    is_by_document = config.has_example(screen.item.inputs, [output.text for output in uploaded])
    lines: list[Feedback] = []
    for asked in find_gold(config, screen.item.gold):
        criterion = asked.for_item(screen.item.inputs, [output.text for output in uploaded])
        values = criterion.read_values(
            [row for row in rows if row.criterion == criterion.key],
            [output.pk for output in uploaded],
        )
        if lacks_answer(criterion, screen.item.gold[criterion.key], values):
            continue  # it wasn't asked
        lines += feedback(
            criterion,
            screen.item.gold[criterion.key],
            values,
            standard_of(screen),
            names,
            _systems(uploaded),
            is_by_document=is_by_document,
        )
    return lines


def standard_of(screen: Screen) -> int | None:
    """Return the score that magnitudes of this screen relate to, where there is one."""
    return screen.study.config.standard_score(screen.content["options"], screen.item.inputs)


def right_entries(screen: Screen) -> dict[str, str]:
    """Return what a person enters to meet this item's gold, by question name."""
    uploaded, count = _as_uploaded(screen), len(screen.outputs)
    order = [uploaded.index(output) for output in screen.outputs]
    entries = {}
    for asked in find_gold(screen.study.config, screen.item.gold):
        criterion = asked.for_item(screen.item.inputs, [output.text for output in uploaded])
        gold = screen.item.gold[criterion.key]
        names = _systems(uploaded) or [str(number) for number in range(1, count + 1)]
        values = right_values(criterion, gold, names, standard_of(screen))
        right = criterion.write_entries(values, order)
        for name, _, number in question_names(screen.study.config, count, [criterion]):
            if number in right:
                entries[name] = right[number]
    return entries


def _as_uploaded(screen: Screen) -> list[Output]:
    return sorted(screen.outputs, key=lambda output: output.position)


def _systems(uploaded: list[Output]) -> list[str]:
    return [output.system.name for output in uploaded if output.system]
