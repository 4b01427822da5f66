"""Columns of participants.csv and metrics.csv."""

from dataclasses import replace

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
