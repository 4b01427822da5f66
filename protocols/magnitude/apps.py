"""Magnitude estimation of informativeness, after the RankME task document."""

from evalsite.instruments.scales.magnitude import Magnitude, Standard
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

# Long lists, in the order of the alphabet: no answer suggests that it is the one that is wanted.
LANGUAGES = (
    *("Arabic", "Bengali", "Chinese", "Czech", "Dutch", "English", "French", "German", "Greek"),
    *("Hindi", "Indonesian", "Italian", "Japanese", "Korean", "Polish", "Portuguese", "Punjabi"),
    *("Romanian", "Russian", "Spanish", "Swahili", "Swedish", "Tamil", "Turkish", "Ukrainian"),
    *("Urdu", "Vietnamese", "Another language"),
)
VARIETIES = (
    ("american", "American English"),
    ("australian", "Australian English"),
    ("british", "British English"),
    ("canadian", "Canadian English"),
    ("indian", "Indian English"),
    ("irish", "Irish English"),
    ("new-zealand", "New Zealand English"),
    ("nigerian", "Nigerian English"),
    ("south-african", "South African English"),
    ("other", "Another variety"),
    ("none", "None: I learned English later"),
)


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
                "title, instructions, definition, labels, and the worked example with its scores "
                "and its explanation"
            ),
            ours="the questions about the participant, practice and the questions on it",
        ),
        instructions_title="TASK: Evaluate the informativeness of the given utterance",
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
                scale=Magnitude(kind="magnitude", standard=Standard(inputs=["standard_score"])),
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
                    help=(
                        "The language you grew up speaking. If there were several, choose the one "
                        "you know best."
                    ),
                    choices=tuple((name, name) for name in LANGUAGES),
                ),
                EntryQuestion(
                    key="variety",
                    label="Which variety of English did you grow up speaking?",
                    choices=VARIETIES,
                ),
            ),
            rule="Native speakers of British or American English.",
            refusal="This study needs native speakers of British or American English.",
            accept={"first_language": ("English",), "variety": ("american", "british")},
        ),
        aids=(
            Aid(
                key="ratio", label="the ratio of each score to the standard, and the implied order"
            ),
            Aid(key="chips", label="slots of the meaning representation as chips"),
            Aid(key="identical", label="a note where utterances are identical"),
        ),
        hooks={
            "item_context": "protocols.magnitude.hooks.item_context",
            "standard_score": "protocols.magnitude.hooks.standard_score",
            "options_form": "protocols.magnitude.forms.StandardForm",
        },
    )
    demo_texts = {
        "title": "Restaurant descriptions",
        "headline": "How informative are these restaurant descriptions?",
        "summary": (
            "You will read short descriptions of places to eat, written by a computer. You give "
            "each one a number that says how much of the given information it provides."
        ),
    }
