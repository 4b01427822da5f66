"""Magnitude estimation of informativeness, after the RankME task document."""

import re
from collections.abc import Mapping
from typing import Any

from django.core.exceptions import ValidationError

from evalsite.protocol import (
    Aid,
    Criterion,
    Design,
    Eligibility,
    EntryQuestion,
    InputColumn,
    ProtocolConfig,
)
from evalsite.scales.magnitude import Magnitude
from protocols.magnitude.forms import StandardForm

_SEPARATORS = re.compile(r"[,;/&+]|\band\b")
_WORDS = re.compile(r"[^\W\d_]+")
_WAYS_TO_SAY_ENGLISH = frozenset({
    "english", "british", "american", "scottish", "uk", "us", "usa", "gb", "great", "britain",
    "united", "kingdom", "states", "of", "america", "england", "scotland",
    "the", "my", "native", "first", "language", "mother", "tongue", "is", "standard",
})  # fmt: skip


class MagnitudeConfig(ProtocolConfig):
    name = "protocols.magnitude"
    verbose_name = title = "Magnitude estimation: informativeness"
    summary = (
        "Three utterances for one meaning representation, each scored with a whole number in "
        "proportion to a standard."
    )
    origin = (
        "RankME informativeness instructions (Novikova, Dušek and Rieser, NAACL 2018), CC BY-SA 4.0"
    )
    instructions_title = "Evaluate the informativeness of the given utterance"
    criteria = (
        Criterion(
            key="informativeness",
            label="Informativeness",
            definition=(
                "**Informativeness** is defined as whether the utterance provides all the "
                "information given in the meaning representation and does not give any "
                "unnecessary information."
            ),
            range_note=(
                "Whole numbers from 1 to 999999. No negative numbers, zero, fractions or decimals."
            ),
            scale=Magnitude(),
        ),
    )
    inputs = (
        InputColumn(
            name="mr",
            label="Meaning representation",
            kind="meaning representation",
            aliases=("meaning_representation", "meaning representation", "prompt"),
        ),
        InputColumn(
            name="standard_mr",
            label="Meaning representation of the standard",
            kind="meaning representation",
            is_required=False,
            together="standard",
        ),
        InputColumn(
            name="standard_utterance",
            label="Utterance of the standard",
            is_required=False,
            together="standard",
        ),
        InputColumn(
            name="standard_score",
            label="Score of the standard",
            kind="whole number",
            is_required=False,
            together="standard",
        ),
    )
    standard_inputs = ("standard_score",)
    outputs = (3, 3)
    output_name = "Utterance"
    output_aliases = ("utterance", "ref", "text")
    layout = "live"
    design = Design(k=3, set_size=10)
    eligibility = Eligibility(
        questions=(
            EntryQuestion(
                key="first_language",
                label="What is your first language?",
                help="The language you learned first as a child.",
            ),
            EntryQuestion(
                key="variety",
                label="If it is English: which English did you grow up with?",
                choices=(
                    ("british", "British"),
                    ("american", "American"),
                    ("other", "Another English"),
                    ("none", "My first language is not English"),
                ),
            ),
        ),
        rule="Native speakers of British or American English.",
        refusal="This study needs native speakers of British or American English.",
    )
    aids = (
        Aid(key="ratio", label="the ratio of each score to the standard, and the implied order"),
        Aid(key="chips", label="slots of the meaning representation as chips"),
        Aid(key="identical", label="a note where utterances are identical"),
    )
    aids_script = "magnitude/aids.js"
    options_form = StandardForm
    minutes_per_item = 1.0
    demo_texts = {
        "title": "Restaurant descriptions",
        "headline": "How much do these restaurant descriptions tell you?",
        "summary": (
            "You will read short descriptions that a computer wrote about places to eat. For each "
            "one you type a number that says how much of the given information it gets across."
        ),
    }

    def check_entry(self, answers: Mapping[str, str]) -> None:
        """A slip of the pen is asked about; it doesn't decide who may take part."""
        grew_up_with_english = answers["variety"] != "none"
        if grew_up_with_english == _says_english(answers["first_language"]):
            return
        raise ValidationError(
            {
                "first_language": (
                    "This doesn’t go with your answer below. Check both: is your first language "
                    "English?"
                )
            }
        )

    def is_eligible(self, answers: Mapping[str, str]) -> bool:
        """First language English, learned as British or American English."""
        return answers.get("variety") in ("british", "american") and _says_english(
            answers.get("first_language", "")
        )

    def item_context(self, options: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
        return {"standard": self._standard(options, inputs)}

    def standard_score(self, options: Mapping[str, Any], inputs: Mapping[str, Any]) -> int | None:
        return int(self._standard(options, inputs)["score"])

    def _standard(self, options: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The standard of this item: the study's, unless the item's columns give their own."""
        values = self.default_options | dict(options)
        return {
            part: inputs.get(f"standard_{part}") or values[f"standard_{part}"]
            for part in ("mr", "utterance", "score")
        }


def _says_english(text: str) -> bool:
    """Whether the first language named is English; nothing but other languages may follow.

    Strict, for a guess in favour would let in "not English" and "Spanish, then English".
    """
    first, *others = _SEPARATORS.split(text.casefold().replace(".", ""))
    words = set(_WORDS.findall(first))
    return (
        "english" in words
        and words <= _WAYS_TO_SAY_ENGLISH
        and all(len(_WORDS.findall(other)) <= 1 for other in others)
    )
