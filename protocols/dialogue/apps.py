"""The next line of a conversation, rated on three criteria with five worded points each."""

from evalsite.instruments.scales.likert import Likert, Point
from evalsite.protocol import (
    Criterion,
    Design,
    InputColumn,
    Layout,
    Protocol,
    ProtocolConfig,
    Source,
)

# All words of the points are the document's own, its slips included.
APPROPRIATENESS = [
    Point(value=1, label="“this had nothing to do with the conversation whatsoever”"),
    Point(
        value=2,
        label="“huh, wait, that’s very weird”",
        notes=[
            "Response has at least a mild relevance to the topic discussed in prompt but "
            "otherwise is a very unusual sentence",
        ],
    ),
    Point(
        value=3,
        label="“that’s absurd but lets move on”",
        notes=[
            "An unusual sentence given topic-prompt or sentence construction but people would "
            "just ignore it if someone said that - because its not THAT weird",
        ],
    ),
    Point(
        value=4,
        label="“Hm. I guess that makes sense”",
        notes=[
            "Follows logically from the prompt; typical response given the context in the "
            "prompt. Sort of what was expected.",
        ],
    ),
    Point(
        value=5,
        label="“That helped the conversation”",
        notes=[
            "This adds new and relevant information to the conversation. This is going above "
            "and beyond in the right direction for this conversation.",
        ],
    ),
]
INFORMATION_CONTENT = [
    Point(
        value=1,
        label="Hard to infer anything about the conversation. Very generic.",
        notes=[
            "Example: “okay”.",
        ],
    ),
    Point(
        value=2,
        label="I know one thing that this conversations is about",
        notes=[
            "Example: “Yeah I’ve been there”",
            "You know they are talking about a place which counts as 1 thing",
        ],
    ),
    Point(
        value=3,
        label="I know 2 things. Longer sentence.",
        notes=[
            "Example: “Yeah I’ve been there. I thought it was quite nice actually”",
        ],
    ),
    Point(
        value=4,
        label="Multiple sentences with with 3 or more things.",
        notes=[
            "Example:“Yeah I’ve been there. I thought it was quite nice. My mom liked it too.”",
        ],
    ),
    Point(
        value=5,
        label="A long informative sentence (~>10 words) with LOTS to add in terms of specific.",
        notes=[
            "Example: “The thing I like about the Taj Mahal is that it is all one block or "
            "marble [...]”",
        ],
    ),
]
HUMAN_LIKENESS = [
    Point(
        value=1,
        label="Impossible for a human to say in any context",
        notes=[
            "Gibberish: “trhaiotjhoiath ^^ blah_cat”",
        ],
    ),
    Point(
        value=2,
        label="Correct words but very wrong",
        notes=[
            "grammar or word order “Go blue stuff very, I said?”",
        ],
    ),
    Point(
        value=3,
        label="some beginner ESL person could say this, i guess",
        notes=[
            "ESL: “Very nice that thing is”",
        ],
    ),
    Point(
        value=4,
        label="Someone would only say this in a weirdly specific situation",
        notes=[
            "“It would have been nice if they had dunked it”",
            "Technical language: “compile down your source code into binary bits via the JVM”",
        ],
    ),
    Point(
        value=5,
        label="literally me or my circle would legitimately say this “Yeah i get you”",
    ),
]


class DialogueConfig(ProtocolConfig):
    name = "protocols.dialogue"
    protocol = Protocol(
        key="dialogue",
        title="Dialogue response: three criteria",
        summary=(
            "One response to a conversation of two people, rated from 1 to 5 for appropriateness, "
            "information content and human-likeness."
        ),
        source=Source(
            cite=(
                "A crowd task of 11 responses to conversations of A and B; the document names no "
                "authors "
                "and no licence"
            ),
            licence="not known",
            exact=(
                "criteria, definitions, points with their notes and examples, and the "
                "instructions but for the changes listed in docs/protocols.md"
            ),
            ours="practice and the questions on it",
        ),
        instructions_title="Instructions",
        page_note=(
            "Each criteria is annotated on a 5-point scale where **1** is worst and **5** is best."
        ),
        criteria=(
            Criterion(
                key="appropriateness",
                label="Appropriateness",
                definition=(
                    "The degree to which the output is appropriate in the given context/situation."
                ),
                scale=Likert(kind="likert", points=APPROPRIATENESS, display="stacked"),
            ),
            Criterion(
                key="information_content",
                label="Information content of outputs",
                definition="The amount of information conveyed by an output.",
                scale=Likert(kind="likert", points=INFORMATION_CONTENT, display="stacked"),
            ),
            Criterion(
                key="human_likeness",
                label="Human-likeness",
                definition="The degree to which an output could have been produced by a human.",
                scale=Likert(kind="likert", points=HUMAN_LIKENESS, display="stacked"),
            ),
        ),
        inputs=(
            InputColumn(
                name="dialogue",
                label="Prompt",
                kind="dialogue",
                aliases=(
                    "prompt",
                    "context",
                    "conversation",
                    "dialog",
                    "history",
                    "dialogue_history",
                    "dialog_history",
                ),
            ),
        ),
        layout=Layout(
            questions="below",
            inputs="beside",
            menu=("Instructions", "Specific Definitions"),
            screens=("one", "sheet"),
        ),
        output_kind="dialogue",
        output_aliases=("response",),
        item_name="Question",
        item_names="Questions",
        design=Design(
            k=3, set_size=11, max_sets=5, has_bonus=True, checks_take_places=True, groups="once"
        ),
        minutes_per_item=0.9,
        hooks={"instructions": "protocols.dialogue.hooks.fit_instructions"},
    )
    demo_texts = {
        "title": "Replies in a conversation",
        "headline": "What would you think if someone gave this response?",
        "summary": (
            "You will read what two people, A and B, say to each other, and then one response. "
            "You rate how appropriate it is, how much information it conveys, and whether a human "
            "could have said it."
        ),
    }
