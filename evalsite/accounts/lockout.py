"""How often one may try to sign in: counted in the database cache, for all web processes."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from django.contrib.auth.models import User
from django.core.cache import cache
from django.db.models import Q

from evalsite.lib.clock import now

ATTEMPTS = 5
# from all addresses together, so that nobody tries one account from many
ATTEMPTS_EVERYWHERE = 50
LOCKED_FOR = timedelta(minutes=15)
_SECONDS = int(LOCKED_FOR.total_seconds())


class SignInLocked(Exception):
    """Too many attempts have failed."""

    def __init__(self, until: datetime) -> None:
        super().__init__()
        self.until = until


@dataclass(frozen=True)
class _Counter:
    """Attempts under one key. Each takes a numbered row, which one process alone can add."""

    key: str
    limit: int

    @property
    def _rows(self) -> list[str]:
        return [f"{self.key}:{number}" for number in range(self.limit)]

    def take(self) -> int:
        """Count an attempt and return how many are left after it."""
        until = cache.get(f"{self.key}:until")
        if until is not None and until > now():
            raise SignInLocked(until)
        for number, row in enumerate(self._rows):
            if cache.add(row, True, _SECONDS):
                return self.limit - number - 1
        raise SignInLocked(self.lock())

    def lock(self) -> datetime:
        until = now() + LOCKED_FOR
        cache.set(f"{self.key}:until", until, _SECONDS)
        cache.delete_many(self._rows)
        return until

    def clear(self) -> None:
        cache.delete_many([*self._rows, f"{self.key}:until"])


@dataclass(frozen=True)
class Attempt:
    """An attempt that was counted before the password is looked at."""

    counters: tuple[_Counter, ...]
    left: tuple[int, ...]

    def fail(self) -> int:
        """Return how many attempts are left; raise SignInLocked after the last one."""
        ended = [
            counter for counter, left in zip(self.counters, self.left, strict=True) if not left
        ]
        for counter in ended:
            until = counter.lock()
        if ended:
            raise SignInLocked(until)
        return min(self.left)

    def succeed(self) -> None:
        for counter in self.counters:
            counter.clear()


def begin_attempt(login: str, address: str) -> Attempt:
    """Count an attempt to sign in; raise SignInLocked if too many have failed."""
    account = _name_account(login)
    counters = (
        _Counter(_digest(account, address), ATTEMPTS),
        _Counter(_digest(account), ATTEMPTS_EVERYWHERE),
    )
    return Attempt(counters, tuple(counter.take() for counter in counters))


def _name_account(login: str) -> str:
    """Return one name for an account, however one signs in; a new password starts a new count."""
    user = User.objects.filter(Q(username__iexact=login) | Q(email__iexact=login)).first()
    return f"{user.pk}:{user.password}" if user else f"?{login.casefold()}"


def _digest(*parts: str) -> str:
    return "sign-in:" + sha256("\n".join(parts).encode()).hexdigest()
