"""What a password may not be, in addition to Django's own rules."""

import re

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError

DIFFERENT = 5
_SITE = "evalsite"
# a shorter user name is part of many good passwords
_LEAST_NAME = 3
_EDGES = re.compile(r"^[\W\d_]+|[\W\d_]+$")


class DifferentCharacters:
    """Refuse passwords that repeat a few characters."""

    def validate(self, password: str, user: User | None = None) -> None:
        if len(set(password.casefold())) < DIFFERENT:
            raise ValidationError(
                f"Use at least {DIFFERENT} different characters.", code="password_too_uniform"
            )

    def get_help_text(self) -> str:
        return f"It has at least {DIFFERENT} different characters."


class CommonPasswords(CommonPasswordValidator):
    """Refuse Django's 20,000 most common passwords, also with digits or symbols around them."""

    def validate(self, password: str, user: User | None = None) -> None:
        folded = password.casefold().strip()
        if not {folded, _EDGES.sub("", folded)}.isdisjoint(self.passwords):
            raise ValidationError(
                "Many people use this password, or this word with digits. Choose another one.",
                code="password_too_common",
            )


class WithoutNames:
    """Refuse passwords that contain the user name, or the name of this software."""

    def validate(self, password: str, user: User | None = None) -> None:
        name = (user.get_username() or "").casefold() if user else ""
        names = [_SITE, name] if len(name) >= _LEAST_NAME else [_SITE]
        if any(name in password.casefold() for name in names):
            raise ValidationError(
                "Leave out your user name and “Evalsite”.", code="password_contains_a_name"
            )

    def get_help_text(self) -> str:
        return "It contains neither your user name nor “Evalsite”."
