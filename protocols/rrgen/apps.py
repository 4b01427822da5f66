"""Responses to reviews: four scales, accept or reject, after the RRGen task document."""

from evalsite.instruments.installed import ProtocolConfig


class RrgenConfig(ProtocolConfig):
    name = "protocols.rrgen"
    demo_texts = {
        "title": "Replies to hotel and restaurant reviews",
        "summary": (
            "You will read reviews of hotels and restaurants, and replies to them that a computer "
            "wrote. You score each reply on four scales and accept or reject it."
        ),
    }
