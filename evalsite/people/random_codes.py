"""Random names, receipts and codes, and the hash under which a token is stored."""

from hashlib import sha256
from secrets import choice

# without letters and digits that are easily confused
_CLEAR = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"
# without vowels: random, and never a word
_CONSONANTS = "BCDFGHJKLMNPQRSTVWXZ"


def make_pseudonym() -> str:
    """Return a random name, never derived from anything about the person."""
    return "p-" + "".join(choice(_CLEAR.lower()) for _ in range(10))


def make_receipt() -> str:
    return "R-" + "".join(choice(_CLEAR) for _ in range(10))


def make_completion_code() -> str:
    """Return a code such as KVQF-RMXT."""
    letters = make_outcome_code()
    return f"{letters[:4]}-{letters[4:]}"


def make_outcome_code() -> str:
    """Return a code such as KVQFRMXT."""
    return "".join(choice(_CONSONANTS) for _ in range(8))


def hash_token(token: str) -> str:
    return sha256(token.encode("utf-8", "surrogateescape")).hexdigest()
