"""What systems are called: which names may be used, and which are alike."""

import unicodedata

MAX_SYSTEM = 200


def check_system(text: str) -> str:
    """Say what is wrong with this name of a system; "" if it may be used."""
    if not text.strip():
        return "The system is empty. Name what produced this output."
    if len(text) > MAX_SYSTEM:
        return f"The name of a system may have {MAX_SYSTEM} characters; this has {len(text):,}."
    if text != text.strip() or not text.isprintable():
        return (
            f"The name of the system, “{text[:40]}”, has a space around it or an "
            "invisible character. Remove it."
        )
    if text.casefold() == "tie":
        return "“tie” can't name a system: results use it for a tie. Choose another name."
    return ""


def fold(name: str) -> str:
    """Equal for names that differ only in case, spaces or Unicode form."""
    if not name.isascii():
        name = unicodedata.normalize("NFKC", name)
    return "".join(name.casefold().split())
