"""The columns of participants.csv, in the order of the file."""

from evalsite.exports.shared_columns import (
    EXCLUDED,
    ISO,
    ONE_OF,
    PARTICIPANT,
    PERSON,
    STUDY,
    TIME,
    WHOLE,
    YES_NO,
    Column,
)

_FLAG = "yes, no"

PARTICIPANTS = (
    STUDY,
    PARTICIPANT,
    PERSON,
    Column(
        name="origin",
        meaning="Where the participant comes from. Simulated ones are no data about anything.",
        type=ONE_OF,
        allowed="own, imported, simulated",
    ),
    Column(
        name="pilot",
        meaning="Whether this is a pilot, whose answers are never part of the results.",
        type=YES_NO,
        allowed=_FLAG,
    ),
    Column(
        name="arrived_at",
        meaning="When the participant first pressed Start.",
        type=TIME,
        allowed=ISO,
        missing="the participant came with imported ratings",
    ),
    Column(
        name="consent",
        meaning="Whether the participant agreed to take part.",
        type=YES_NO,
        allowed=_FLAG,
        missing="imported: whoever collected the ratings knows",
    ),
    Column(
        name="eligible",
        meaning="Whether the answers to the entry questions allowed taking part.",
        type=YES_NO,
        allowed=_FLAG,
        missing="not asked, or not answered",
    ),
    Column(
        name="tries",
        meaning="How many tries at the qualification the participant finished.",
        type=WHOLE,
        allowed="0 and more",
    ),
    Column(
        name="qualified",
        meaning="Whether one of these tries reached the pass mark.",
        type=YES_NO,
        allowed=_FLAG,
        missing="not decided yet, or the study asks for no qualification",
    ),
    Column(
        name="sets_finished",
        meaning="How many sets the participant finished.",
        type=WHOLE,
        allowed="0 and more",
    ),
    Column(
        name="answers",
        meaning="How many items the participant answered: practice, checks and repeats left out.",
        type=WHOLE,
        allowed="0 and more",
        derived="rows of annotations.csv with this participant and kind main",
    ),
    Column(
        name="bonus",
        meaning="Whether the bonus for completing all sets is due to this participant.",
        type=YES_NO,
        allowed=_FLAG,
        missing="imported",
        derived="yes once as many sets are finished as one person may complete; or fewer, if all "
        "that were dealt are finished and no place was left to deal when the last of them was",
    ),
    Column(
        name="withdrawn_at",
        meaning="When the participant withdrew from the study.",
        type=TIME,
        allowed=ISO,
        missing="not withdrawn",
    ),
    *EXCLUDED,
)
