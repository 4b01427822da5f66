"""Responses to reviews: four scales, accept or reject, after the RRGen task document."""

from evalsite.instruments.scales.decision import Decision
from evalsite.instruments.scales.likert import Likert, Point
from evalsite.protocol import (
    Criterion,
    Design,
    Ignore,
    IgnoreReason,
    InputColumn,
    Protocol,
    ProtocolConfig,
    Source,
)

# The same seven points for each of the four criteria.
_DEGREE = Likert(
    kind="likert",
    points=[
        Point(value=1, label="Not at all"),
        Point(value=2, label="Slightly"),
        Point(value=3, label="More than slightly", reserved=True),
        Point(value=4, label="Partially"),
        Point(value=5, label="More than partially", reserved=True),
        Point(value=6, label="Almost completely"),
        Point(value=7, label="Completely"),
    ],
    reserved_note=(
        "Note, 3 and 5 are reserved for difficult/borderline cases and should be used sparingly."
    ),
)


class RrgenConfig(ProtocolConfig):
    name = "protocols.rrgen"
    protocol = Protocol(
        key="rrgen",
        title="Responses to reviews: four scales, accept or reject",
        summary=(
            "One response to a review on each screen, scored from 1 to 7 on four criteria, then "
            "accepted or rejected. The responses to a review come one after another."
        ),
        source=Source(
            cite=(
                "RRGen human evaluation instructions; the document names no author and no licence"
            ),
            licence="not known",
            exact=(
                "instructions, names and definitions of the criteria, points, and the notes on 3 "
                "and 5 and on ignoring"
            ),
            ours="the part of the instructions on how to ignore, practice and the questions on it",
        ),
        instructions_title="RRGen Human Evaluation: HELP!",
        help_label="HELP!",
        page_note="A score of 1 is the lowest, while 7 is the highest.",
        criteria=(
            Criterion(
                key="relevance",
                label="SEMANTIC RELEVANCE",
                definition=(
                    "indicates the degree to which semantic content of the REVIEW is "
                    "reflected/addressed in the RESPONSE (*)"
                ),
                scale=_DEGREE,
            ),
            Criterion(
                key="fluency",
                label="FLUENCY",
                definition=(
                    "indicates the degree to which the RESPONSE text is grammatically fluent"
                ),
                scale=_DEGREE,
            ),
            Criterion(
                key="sentiment",
                label="SENTIMENT APPROPRIATENESS",
                definition=(
                    "indicates the degree to which the RESPONSE text accurately reflects the "
                    "sentiment conveyed in the REVIEW (e.g. positive vs. negative sentiment)"
                ),
                scale=_DEGREE,
            ),
            Criterion(
                key="domain",
                label="DOMAIN ACCURACY",
                definition=(
                    "indicates the degree to which the RESPONSE text accurately reflects the "
                    "domain "
                    "of the REVIEW (e.g. Hotel vs. Restaurant)"
                ),
                scale=_DEGREE,
            ),
            Criterion(
                key="decision",
                label="ACCEPT / REJECT",
                definition="whether or not the RESPONSE text is suitable",
                scale=Decision(kind="decision", yes="ACCEPT", no="REJECT"),
            ),
        ),
        inputs=(
            InputColumn(
                name="review",
                label="REVIEW",
                kind="review",
                aliases=("review_text", "review text", "review_body", "source", "src"),
            ),
        ),
        output_name="RESPONSE",
        output_aliases=("response", "response_text", "review_response", "reply"),
        design=Design(k=3, set_size=12, groups="together"),
        ignore=Ignore(
            reasons=(
                IgnoreReason(
                    key="review",
                    label="no semantically important information in the review",
                    note="covers all {count} responses",
                    covers="group",
                ),
                IgnoreReason(
                    key="response",
                    label="unsuitable given the review",
                    note="covers the response on the screen",
                ),
            ),
            note=(
                "**\\* NOTE**: if the REVIEW text does not contain any semantically important "
                "information "
                "or is deemed unsuitable given the REVIEW text, the example should be ignored "
                "completely."
            ),
        ),
        highlight=(
            "passages in the RESPONSE text that are particularly relevant or address explicitly "
            "semantic content of the REVIEW text."
        ),
    )
    demo_texts = {
        "title": "Replies to hotel and restaurant reviews",
        "headline": "How well do these replies answer the reviews?",
        "summary": (
            "You will read reviews of hotels and restaurants, and replies to them that a computer "
            "wrote. You score each reply on four scales and accept or reject it."
        ),
    }
