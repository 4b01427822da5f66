"""What a study asks, or shows as examples, in place of its protocol's, kept as plain data.

`Study.questions` maps a kind to its data; a kind that isn't there is as in the protocol.
"""

from collections.abc import Mapping
from typing import Any

from evalsite.instruments.checks import check_example, check_study_questions
from evalsite.instruments.faults import Fault, Faults
from evalsite.instruments.schema import EntryQuestion, Instrument
from evalsite.studies.version_cache import read_content

# who may take part, as an instrument has it; {}: nothing is asked
ENTRY = "entry"
# a list of questions about people, asked after the work, which may be left empty
BACKGROUND = "background"
# the check of the instructions, in place of the instrument's questions about them
CHECK = "check"
FEWEST_IN_CHECK = 2
MOST_IN_CHECK = 5
# worked examples, in place of the instrument's
EXAMPLES = "examples"
MOST_EXAMPLES = 20
KINDS = (ENTRY, BACKGROUND, CHECK, EXAMPLES)
# what an instrument calls them
_PARTS = {
    ENTRY: "eligibility",
    BACKGROUND: "background",
    CHECK: "comprehension",
    EXAMPLES: "examples",
}
# how the names of answers to them begin, apart from the keys of all other questions
AFTER = "after-"


def check_own_questions(questions: Any) -> Faults:
    """Return all faults of `Study.questions`; the place begins with the kind."""
    if not isinstance(questions, Mapping):
        return Faults([Fault("type", "", "must be an object")])
    unknown = [name for name in questions if name not in KINDS]
    if unknown:
        words = f"must be one of: {', '.join(KINDS)}"
        return Faults([Fault("unknown_key", name, words) for name in unknown])
    parts = {_PARTS[kind]: questions[kind] for kind in KINDS if kind in questions}
    # nobody is asked before the work
    if parts.get("eligibility") == {}:
        del parts["eligibility"]
    faults = check_study_questions(parts)
    entry = questions.get(ENTRY)
    if isinstance(entry, Mapping) and isinstance(entry.get("accept"), str):
        faults.add("hooks_not_allowed", "eligibility.accept", "must be an object")
    return faults


def check_own_examples(instrument: Instrument, questions: Mapping[str, Any]) -> Faults:
    """Return all faults of the study's own examples in this instrument."""
    return Faults(
        fault
        for example in questions.get(EXAMPLES, ())
        for fault in check_example(instrument, example)
    )


def list_person_questions(study: Any) -> dict[str, tuple[str, EntryQuestion]]:
    """Return when each question about people is asked, by the name that answers are stored by."""
    eligibility = study.config.eligibility
    asked = eligibility.questions if eligibility else ()
    before = {question.key: ("before", question) for question in asked}
    return before | {
        AFTER + question.key: ("after", question) for question in list_background(study)
    }


def list_background(study: Any) -> list[EntryQuestion]:
    """Return the questions after the work, as they were frozen with the version."""
    is_draft = study.version_id is None
    kept = study.questions if is_draft else read_content(study.pk, study.version_id)
    return [EntryQuestion.model_validate(question) for question in kept.get(BACKGROUND, ())]


def find_entry(instrument: Instrument) -> dict[str, Any]:
    """Return as data who may take part by this instrument, to be changed; {} if all may."""
    if instrument.eligibility is None or isinstance(instrument.eligibility.accept, str):
        return {}
    return instrument.eligibility.to_data()
