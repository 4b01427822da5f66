"""Magnitude estimation of informativeness, after the RankME task document."""

from evalsite.protocol import (
    Aid,
    Criterion,
    Design,
    Eligibility,
    EntryQuestion,
    InputColumn,
    Layout,
    Protocol,
    ProtocolConfig,
    Source,
)
from evalsite.scales.magnitude import Magnitude


class MagnitudeConfig(ProtocolConfig):
    name = "protocols.magnitude"
    protocol = Protocol(
        key="magnitude",
        title="Magnitude estimation: informativeness",
        summary=(
            "Three utterances for one meaning representation, each scored with a whole number in "
            "proportion to a standard."
        ),
        source=Source(
            cite=(
                "RankME informativeness instructions (Novikova, Dušek and Rieser, NAACL 2018), CC "
                "BY-SA 4.0"
            ),
            licence="CC BY-SA 4.0",
            notice=(
                "© Jekaterina Novikova, Ondřej Dušek and Verena Rieser; "
                "https://github.com/jeknov/RankME; changes are listed in docs/protocols.md"
            ),
            url="https://github.com/jeknov/RankME",
            exact=(
                "title, definition, labels, the worked example with its scores and its "
                "explanation, and the sentences of the instructions marked in docs/protocols.md"
            ),
            ours="the rest of the instructions, practice and the questions on it",
        ),
        instructions_title="Evaluate the informativeness of the given utterance",
        criteria=(
            Criterion(
                key="informativeness",
                label="Informativeness",
                definition=(
                    "**Informativeness** is defined as whether the utterance provides all the "
                    "information given in the meaning representation and does not give any "
                    "unnecessary information."
                ),
                range_note=(
                    "Whole numbers from 1 to 999999. No negative numbers, zero, fractions or "
                    "decimals."
                ),
                scale=Magnitude(standard_inputs=("standard_score",)),
            ),
        ),
        inputs=(
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
        ),
        outputs=(3, 3),
        layout=Layout(outputs="several", questions="under each output"),
        output_name="Utterance",
        output_aliases=("utterance", "ref", "text"),
        design=Design(k=3, set_size=10),
        eligibility=Eligibility(
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
            accept="protocols.magnitude.hooks.is_eligible",
        ),
        aids=(
            Aid(
                key="ratio", label="the ratio of each score to the standard, and the implied order"
            ),
            Aid(key="chips", label="slots of the meaning representation as chips"),
            Aid(key="identical", label="a note where utterances are identical"),
        ),
        hooks={
            "check_entry": "protocols.magnitude.hooks.check_entry",
            "item_context": "protocols.magnitude.hooks.item_context",
            "standard_score": "protocols.magnitude.hooks.standard_score",
            "options_form": "protocols.magnitude.forms.StandardForm",
        },
    )
    demo_texts = {
        "title": "Restaurant descriptions",
        "headline": "How much do these restaurant descriptions tell you?",
        "summary": (
            "You will read short descriptions that a computer wrote about places to eat. For each "
            "one you type a number that says how much of the given information it gets across."
        ),
    }
