"""Two responses of a dialogue system compared, after the MarCo evaluation specification."""

from evalsite.instruments.installed import ProtocolConfig


class PairwiseConfig(ProtocolConfig):
    name = "protocols.pairwise"
    demo_texts = {
        "title": "Two replies compared",
        "summary": (
            "You will read conversations between a user and a booking system, each with two "
            "replies the system might give next. You say which reply answers the user better, "
            "and which one reads better."
        ),
    }
