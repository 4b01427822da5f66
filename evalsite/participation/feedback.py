"""What gold says of an answer, in the names that the page had."""

from collections.abc import Iterable

from evalsite.instruments.answer import AnswerRow
from evalsite.instruments.questions import group_questions, name_output, read_values
from evalsite.participation.screens import Screen
from evalsite.studies.gold import Feedback, feedback, find_gold, lacks_answer, right_values
from evalsite.studies.models import Output


def explain_answers(screen: Screen, rows: Iterable[AnswerRow]) -> list[Feedback]:
    """Return what gold says of each answer, by the names under which the outputs were shown."""
    rows = list(rows)
    config, uploaded = screen.study.config, _as_uploaded(screen)
    # gold speaks of outputs as uploaded; people know them by the place where they saw them
    names = [
        name_output(config, screen.outputs.index(output) + 1, len(uploaded)) for output in uploaded
    ]
    is_by_document = config.has_example(screen.item.inputs, [output.text for output in uploaded])
    groups = group_questions(screen.questions)
    lines: list[Feedback] = []
    for criterion in find_gold(config, screen.item.gold):
        asked = groups.get(criterion.key, [])
        values, gold = read_values(asked, rows), screen.item.gold[criterion.key]
        if lacks_answer(criterion, gold, values):
            continue  # it wasn't asked
        lines += feedback(
            criterion,
            gold,
            values,
            standard_of(screen),
            names,
            _systems(uploaded),
            [question.turn for question in asked],
            is_by_document=is_by_document,
        )
    return lines


def standard_of(screen: Screen) -> int | None:
    """Return the score that magnitudes of this screen relate to, where there is one."""
    return screen.study.config.standard_score(screen.content["options"], screen.item.inputs)


def right_entries(screen: Screen) -> dict[str, str]:
    """Return what a person enters to meet this item's gold, by question name."""
    systems = _systems(_as_uploaded(screen))
    names = systems or [str(number) for number in range(1, len(screen.outputs) + 1)]
    groups = group_questions(screen.questions)
    entries = {}
    for criterion in find_gold(screen.study.config, screen.item.gold):
        asked, gold = groups[criterion.key], screen.item.gold[criterion.key]
        turns = [question.turn for question in asked]
        values = right_values(criterion, gold, names, standard_of(screen), turns)
        for question, value in zip(asked, values, strict=True):
            if value is not None:
                entries[question.name] = question.write_entry(value)
    return entries


def _as_uploaded(screen: Screen) -> list[Output]:
    return sorted(screen.outputs, key=lambda output: output.position)


def _systems(uploaded: list[Output]) -> list[str]:
    return [output.system.name for output in uploaded if output.system]
