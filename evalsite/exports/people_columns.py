"""Columns of participants.csv, metrics.csv and judge_labels.csv."""

from dataclasses import replace
from typing import Any

from evalsite.exports.column import (
    EXCLUDED,
    FLAG,
    ID,
    ISO,
    NUMBER,
    ONE_OF,
    OUTPUT_ID,
    PARTICIPANT,
    PERSON,
    STUDY,
    TEXT,
    TIME,
    WHOLE,
    YES_NO,
    Column,
    name_output,
    write_known,
    write_score,
    write_time,
    yes_no,
)  # fmt: skip

PARTICIPANTS = (
    STUDY,
    PARTICIPANT,
    PERSON,
    Column(
        "origin", ONE_OF, "Where the participant comes from. Simulated ones aren't data.",
        allowed="own, imported, simulated",
    ),
    Column(
        "pilot", YES_NO, "Whether this is a pilot, whose answers are never part of the results.",
        allowed=FLAG, cell=lambda person: yes_no(person.is_pilot),
    ),
    Column(
        "arrived_at", TIME, "When the participant first pressed Start.",
        allowed=ISO, missing="the participant came with imported ratings",
        cell=lambda person: "" if person.is_imported else write_time(person.created_at),
    ),
    Column(
        "consent", YES_NO, "Whether the participant agreed to take part.",
        allowed=FLAG, missing="imported: known to those who collected the ratings",
        cell=lambda person: "" if person.is_imported else yes_no(person.consented_to),
    ),
    Column(
        "eligible", YES_NO, "Whether the answers to the entry questions allowed taking part.",
        allowed=FLAG, missing="not asked, or not answered",
        cell=lambda person: write_known(person.is_eligible),
    ),
    Column(
        "tries", WHOLE, "How many attempts at the qualification the participant finished.",
        allowed="0 and more", cell=lambda person: str(person.tries),
    ),
    Column(
        "qualified", YES_NO, "Whether one of these attempts reached the pass mark.",
        allowed=FLAG, missing="not decided yet, or the study asks for no qualification",
        cell=lambda person: write_known(person.is_qualified),
    ),
    Column(
        "sets_finished", WHOLE, "How many sets the participant finished.",
        allowed="0 and more", cell=lambda person: str(person.sets_finished),
    ),
    Column(
        "answers", WHOLE, "How many items the participant answered, without practice, checks and "
        "repeats.",
        allowed="0 and more", derived="rows of annotations.csv with this participant and kind main",
        cell=lambda person: str(person.answers),
    ),
    Column(
        "bonus", YES_NO, "Whether the bonus for completing all sets is due to this participant.",
        allowed=FLAG, missing="imported",
        derived="yes once the participant has finished as many sets as one person may complete; "
        "or fewer, if they finished all they got and no further set was available",
        cell=lambda person: "" if person.is_imported else yes_no(person.has_bonus),
    ),
    Column(
        "withdrawn_at", TIME, "When the participant withdrew from the study.",
        allowed=ISO, missing="not withdrawn",
        cell=lambda person: "" if person.withdrawn_at is None else write_time(person.withdrawn_at),
    ),
    replace(
        EXCLUDED[0], meaning="Whether a researcher has excluded the participant from the analysis."
    ),
    EXCLUDED[1],
)  # fmt: skip

METRICS = (
    Column(
        "output_id", ID, "The output that the metric scored, as the other files name it.",
        allowed=OUTPUT_ID, cell=lambda score: name_output(score.item, score.position),
    ),
    Column("item", ID, "The item of the output, as in items.csv."),
    Column(
        "system", TEXT, "The system that produced the output.",
        cell=lambda score: score.system or "",
    ),
    Column("metric", TEXT, "The automatic metric, as the uploaded file names it."),
    Column(
        "value", NUMBER, "The score that the metric gave. No person gave it.",
        allowed="any number; better says whether more is better",
        cell=lambda score: write_score(score.value),
    ),
    Column(
        "better", ONE_OF, "Whether higher or lower scores of the metric are better.",
        allowed="higher, lower",
    ),
)  # fmt: skip

JUDGE_LABELS = (
    Column(
        "item", ID, "The input that was judged: an item as in items.csv, or one that the study "
        "doesn't have.",
    ),
    Column("criterion", ONE_OF, "The criterion that the label is of."),
    Column("judge", TEXT, "The judge, a model that rates. It is no participant."),
    Column("prompt_version", TEXT, "The version of its prompt: each is a judge of its own.",
           missing="the file names none"),
    Column("system", TEXT, "The system that produced the output.",
           missing="the label is a preference",
           cell=lambda label: "" if label.other_system else label.system),
    Column("value", NUMBER, "What the judge said: a number, or the key of an option. Of a "
           "preference how strong it is.",
           missing="neither of the two is preferred",
           cell=lambda label: label.option if label.value is None else _write_strength(label)),
    Column("system_1", TEXT, "Of a preference the system whose name comes first.",
           missing="the label is of one output",
           cell=lambda label: label.system if label.other_system else ""),
    Column("system_2", TEXT, "Of a preference the other system.",
           missing="the label is of one output", cell=lambda label: label.other_system),
    Column("preferred", TEXT, "The system that the judge prefers, or tie, both_good, both_bad.",
           missing="the label is of one output", cell=lambda label: _name_preferred(label)),
    Column("order", WHOLE, "Which of the two systems the judge was shown first.", allowed="1, 2",
           missing="not known", cell=lambda label: label.order or ""),
    Column("run", TEXT, "The run, where a judge rated several times.", missing="one run"),
    Column("reason", TEXT, "What the judge wrote.", missing="it gave no reason"),
)  # fmt: skip


def _write_strength(label: Any) -> str:
    if label.other_system:
        return write_score(abs(label.value)) if label.value else ""
    return write_score(label.value)


def _name_preferred(label: Any) -> str:
    if not label.other_system:
        return ""
    if not label.value:
        return label.option or "tie"
    return str(label.other_system if label.value > 0 else label.system)
