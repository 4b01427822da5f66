"""The next line of a conversation, rated on three criteria with five worded points each."""

from evalsite.instruments.installed import ProtocolConfig


class DialogueConfig(ProtocolConfig):
    name = "protocols.dialogue"
    demo_texts = {
        "title": "Replies in a conversation",
        "summary": (
            "You will read what two people, A and B, say to each other, and then one response. "
            "You rate how appropriate it is, how much information it conveys, and whether a human "
            "could have said it."
        ),
    }
