"""Magnitude estimation of informativeness, after the RankME task document."""

from evalsite.instruments.installed import ProtocolConfig


class MagnitudeConfig(ProtocolConfig):
    name = "protocols.magnitude"
    demo_texts = {
        "title": "Restaurant descriptions",
        "summary": (
            "You will read short descriptions of places to eat, written by a computer. You give "
            "each one a number that says how much of the given information it provides."
        ),
    }
