"""Two responses of a dialogue system compared, after the MarCo evaluation specification."""

from evalsite.instruments.scales.preference import Preference, Step
from evalsite.protocol import (
    Aid,
    Criterion,
    Design,
    InputColumn,
    Layout,
    Protocol,
    ProtocolConfig,
    Source,
)

SIDES = Preference(
    kind="preference",
    points=[Step(value=-1, label="sys1"), Step(value=0, label="tie"), Step(value=1, label="sys2")],
)


class PairwiseConfig(ProtocolConfig):
    name = "protocols.pairwise"
    protocol = Protocol(
        key="pairwise",
        title="Two responses compared: completion and readability",
        summary=(
            "Two responses of task systems to the same dialogue: which one is better on "
            "completion, "
            "and which on readability, or a tie."
        ),
        source=Source(
            cite=(
                "Human evaluation specification of MarCo (Wang, Tian, Wang, Quan and Yu, ACL "
                "2020), MIT"
            ),
            licence="MIT",
            notice=(
                "MIT License, Copyright (c) 2019 wenhu chen; the text is in "
                "LICENSE-MarCo-Dialog.txt"
            ),
            url="https://github.com/InitialBug/MarCo-Dialog",
            exact="criteria, definitions and the twelve worked examples with verdicts and reasons",
            ours="the introduction of the instructions and the questions on it",
        ),
        instructions_title="Dialog Human Evaluation Specification",
        page_note=(
            "sys1 and sys2 only name the two sides. Which system is on which side changes from "
            "item to item."
        ),
        criteria=(
            Criterion(
                key="completion",
                label="completion",
                summary="the response correctly answers the user query.",
                question="Which response correctly answers the user’s query?",
                definition=(
                    "- the response correctly answers the **user query**.\n"
                    "- under the above condition, if the response provides **wrong information**, "
                    "the system loses. Also if the response provides extra **useful information**, "
                    "the system wins extra points."
                ),
                scale=SIDES,
            ),
            Criterion(
                key="readability",
                label="readability",
                summary="the response is fluent, natural and consistent.",
                question="Which response is more fluent, natural and consistent with the dialogue?",
                definition=(
                    "- the response is fluent, natural and consistent.\n"
                    "- fluent: there are no repetitions in one sentence.\n"
                    "- consistent: there are no repeated or conflicted information between "
                    "response "
                    "and dialog history."
                ),
                scale=SIDES,
            ),
        ),
        inputs=(
            InputColumn(
                name="dialogue",
                label="Dialogue so far",
                kind="dialogue",
                aliases=(
                    "dialog",
                    "dialogue so far",
                    "history",
                    "dialog_history",
                    "context",
                    "user",
                ),
            ),
        ),
        outputs=(2, 2),
        layout=Layout(outputs="pair", questions="below", letters=("sys1", "sys2")),
        output_name="Response",
        output_aliases=("response", "text"),
        design=Design(k=3, set_size=20, groups="once"),
        aids=(
            Aid(key="chips", label="slots such as [restaurant_name] as chips"),
            Aid(key="differences", label="words that only one response has, underlined"),
            Aid(key="identical", label="a note where both responses are identical"),
        ),
        minutes_per_item=0.6,
    )
    demo_texts = {
        "title": "Two replies compared",
        "headline": "Which of two replies is better?",
        "summary": (
            "You will read conversations between a user and a booking system, each with two "
            "replies the system might give next. You say which reply answers the user better, "
            "and which one reads better."
        ),
    }
