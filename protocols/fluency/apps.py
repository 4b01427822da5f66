"""The next line of a dialogue, rated for fluency and coherence, after the RL4LMs task document."""

from evalsite.instruments.installed import ProtocolConfig


class FluencyConfig(ProtocolConfig):
    name = "protocols.fluency"
    demo_texts = {
        "title": "Fluency and coherence of the next line",
        "summary": (
            "You will read conversations between two people. After each one comes a next line "
            "that a computer wrote. You rate how well the line is written and how well it fits."
        ),
    }
