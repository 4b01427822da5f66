"""How often one may try to sign in: counted in the database cache, for all web processes."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.core.cache import cache
from django.db.models import Q, QuerySet
from django.utils.crypto import salted_hmac

from evalsite.core.audit.account_log import knows_network
from evalsite.lib.clock import now
from evalsite.lib.networks import network_of

# wrong passwords, or codes, of one account from one network
ATTEMPTS = 5
# of one network over all names, so that nobody tries one password on many accounts
ATTEMPTS_OF_NETWORK = 10
# of one account from all networks, so that nobody tries one account from many
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
    # whether reaching the limit locks the sender of the attempt, and not only others
    is_for_sender: bool = True

    @property
    def _rows(self) -> list[str]:
        return [f"{self.key}:{number}" for number in range(self.limit)]

    def find_lock(self) -> datetime | None:
        """Return until when it is locked, unless a clock that was wrong has said so."""
        until: datetime | None = cache.get(f"{self.key}:until")
        return until if until and now() < until <= now() + LOCKED_FOR else None

    def take(self) -> "_Taken | None":
        """Count an attempt; None if others took the last row at this moment."""
        moment = now()
        counted = cache.get_many(self._rows)
        # counted while the clock was ahead
        cache.delete_many([row for row, at in counted.items() if at > moment])
        live = sum(at <= moment for at in counted.values())
        for number, row in enumerate(self._rows):
            if cache.add(row, moment, _SECONDS):
                return _Taken(self, row, self.limit - max(live, number) - 1)
        return None

    def lock(self) -> datetime:
        until = now() + LOCKED_FOR
        cache.set(f"{self.key}:until", until, _SECONDS)
        cache.delete_many(self._rows)
        return until

    def clear(self) -> None:
        cache.delete_many([*self._rows, f"{self.key}:until"])


@dataclass(frozen=True)
class _Taken:
    """The row of an attempt, and how many are left after it."""

    counter: _Counter
    row: str
    left: int


@dataclass(frozen=True)
class Attempt:
    """An attempt that was counted before the password or code is looked at."""

    taken: tuple[_Taken, ...]

    def fail(self) -> int:
        """Return how many attempts are left; raise SignInLocked after the last one."""
        ended = [taken.counter for taken in self.taken if taken.left <= 0]
        until = {counter: counter.lock() for counter in ended}
        locks = [until[counter] for counter in ended if counter.is_for_sender]
        if locks:
            raise SignInLocked(max(locks))
        return min(taken.left for taken in self.taken if taken.counter.is_for_sender)

    def succeed(self) -> None:
        """Start the count of this account and network again; elsewhere it wasn't a failure."""
        self.taken[0].counter.clear()
        cache.delete_many([taken.row for taken in self.taken[1:]])


def find_accounts(login: str) -> QuerySet[User]:
    """Return the accounts of this user name or e-mail address, however it is capitalised."""
    return User.objects.filter(Q(username__iexact=login) | Q(email__iexact=login))


def find_account(login: str) -> User | None:
    return find_accounts(login).first()


def begin_attempt(account: User | str, address: str) -> Attempt:
    """Count an attempt to sign in; raise SignInLocked if too many have failed.

    `account` is the name that was typed where no account has it.
    """
    # a new password starts a new count
    name = f"?{account.casefold()}" if isinstance(account, str) else _name(account)
    network = network_of(address)
    is_known = not isinstance(account, str) and knows_network(account, address)
    everywhere = _Counter(_digest(name), ATTEMPTS_EVERYWHERE, is_for_sender=not is_known)
    counters = [
        _Counter(_digest(name, network), ATTEMPTS),
        _Counter(_digest("", network), ATTEMPTS_OF_NETWORK),
    ]
    if not (is_known and everywhere.find_lock()):
        counters.append(everywhere)
    return _begin(counters)


def begin_code_attempt(user: User, address: str) -> Attempt:
    """Count an attempt at a code of a second factor.

    Networks that the account hasn't used share one count: codes are short.
    """
    network = network_of(address) if knows_network(user, address) else "elsewhere"
    return _begin([_Counter(_digest("code", _name(user), network), ATTEMPTS)])


def _begin(counters: list[_Counter]) -> Attempt:
    locks = [until for counter in counters if (until := counter.find_lock())]
    if locks:
        raise SignInLocked(max(locks))
    taken = []
    for counter in counters:
        row = counter.take()
        if row is not None:
            taken.append(row)
        elif counter.is_for_sender:
            raise SignInLocked(counter.lock())
    return Attempt(tuple(taken))


def _name(user: User) -> str:
    return f"{user.pk}:{user.password}"


def _digest(*parts: str) -> str:
    digest = salted_hmac("evalsite.core.accounts.lockout", "\n".join(parts), algorithm="sha256")
    return f"sign-in:{digest.hexdigest()}"
