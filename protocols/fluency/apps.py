"""The next line of a dialogue, rated for fluency and coherence, after the RL4LMs task document."""

from evalsite.instruments.scales.likert import Likert, Point
from evalsite.protocol import Criterion, Design, InputColumn, Protocol, ProtocolConfig, Source


class FluencyConfig(ProtocolConfig):
    name = "protocols.fluency"
    protocol = Protocol(
        key="fluency",
        title="Next line of a dialogue: fluency and coherence",
        summary=(
            "One system's next line of a two-person dialogue, rated from 1 to 5 for its fluency "
            "and "
            "for its coherence with the dialogue."
        ),
        source=Source(
            cite=(
                "RL4LMs crowdworking template for daily dialogue (Ramamurthy et al., ICLR 2023), "
                "Apache-2.0"
            ),
            licence="Apache-2.0",
            notice=(
                "RL4LMs, the Allen Institute for AI; https://github.com/allenai/RL4LMs; changes "
                "are listed in docs/protocols.md"
            ),
            url="https://github.com/allenai/RL4LMs",
            exact=(
                "criteria, definitions, points with their sentences, the question for feedback, "
                "and the instructions but for the changes listed in docs/protocols.md"
            ),
            ours="the last part of the instructions, practice and the questions on it",
        ),
        instructions_title="Rate the system's generation",
        criteria=(
            Criterion(
                key="fluency",
                label="Fluency/Grammaticality",
                definition="Is the system's generation grammatical, easy-to-read, and fluent?",
                scale=Likert(
                    kind="likert",
                    display="stacked",
                    shown="falling",
                    out_of=True,
                    points=[
                        Point(
                            value=1,
                            label="terrible",
                            notes=[
                                "The generation has severe errors in grammaticality/is almost or "
                                "completely unreadable.",
                            ],
                        ),
                        Point(
                            value=2,
                            label="poor",
                            notes=[
                                "Even though I can kind-of tell the meaning, it's difficult to "
                                "read "
                                "this unnatural sentence.",
                            ],
                        ),
                        Point(
                            value=3,
                            label="okay",
                            notes=[
                                "The grammar is okay and it's possible to read, but it definitely "
                                "doesn't sound like a human wrote it.",
                            ],
                        ),
                        Point(
                            value=4,
                            label="good",
                            notes=[
                                "The sentence largely makes sense, but there are some small "
                                "grammar "
                                "issues/out-of-place words that don't make for the best writing.",
                            ],
                        ),
                        Point(
                            value=5,
                            label="excellent",
                            notes=[
                                "The generation is grammatical and fluent.",
                            ],
                        ),
                    ],
                ),
            ),
            Criterion(
                key="coherence",
                label="Quality/Coherence",
                definition=(
                    "Is the next utterance coherent, reasonable, and the type of thing a person "
                    "might "
                    "say, in the context of the dialogue history?"
                ),
                scale=Likert(
                    kind="likert",
                    display="stacked",
                    shown="falling",
                    out_of=True,
                    points=[
                        Point(
                            value=1,
                            label="wrong/nonsense/irrelevant",
                            notes=[
                                "The generation doesn't seem to apply to the dialogue at all or "
                                "doesn't make any sense.",
                            ],
                        ),
                        Point(
                            value=2,
                            label="mostly irrelevant",
                            notes=[
                                "I see why this could be generated but it doesn't make much sense.",
                            ],
                        ),
                        Point(
                            value=3,
                            label="neutral",
                            notes=[
                                "The generation is somewhat plausible/relevant.",
                            ],
                        ),
                        Point(
                            value=4,
                            label="mostly relevant",
                            notes=[
                                "The generation is relevant but not perfect given the dialogue "
                                "context.",
                            ],
                        ),
                        Point(
                            value=5,
                            label="perfectly coherent, interesting",
                            notes=[
                                "The generated next utterance is very relevant and coherent with "
                                "the "
                                "dialogue context; a human might say this.",
                            ],
                        ),
                    ],
                ),
            ),
        ),
        inputs=(
            InputColumn(
                name="dialogue",
                label="Dialogue context",
                kind="dialogue",
                aliases=("prompt", "context", "dialogue_context", "dialogue_history", "history"),
            ),
        ),
        output_name="System's generation",
        output_aliases=("machine_completion", "generation", "utterance", "response"),
        output_kind="dialogue",
        design=Design(k=3, set_size=12, groups="once"),
        note=(
            "(Optional) Please let us know if anything was unclear, if you experienced any issues, "
            "or "
            "if you have any other feedback for us."
        ),
        minutes_per_item=0.75,
    )
    demo_texts = {
        "title": "Fluency and coherence of the next line",
        "headline": "Is this line well written, and does it fit the conversation?",
        "summary": (
            "You will read conversations between two people. After each one comes a next line "
            "that a computer wrote. You rate how well the line is written and how well it fits."
        ),
    }
