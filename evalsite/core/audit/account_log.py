"""The log of accounts: who signed in, who failed to, and what was changed."""

from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.crypto import salted_hmac

from evalsite.core.audit.models import AccountEvent, Event
from evalsite.core.rate_limits import client_address
from evalsite.lib.clock import now
from evalsite.lib.networks import cut_network, network_of

KEPT_FOR = timedelta(days=180)
# a network from which an account has signed in since then is known
KNOWN_FOR = timedelta(days=90)
_SALT = "evalsite.core.audit.account_log"


def record_account(
    event: Event, account: User | str, request: HttpRequest | None, detail: str = ""
) -> AccountEvent:
    """Add a line. An account that doesn't exist is the name that was typed."""
    address = client_address(request) if request else ""
    line = AccountEvent(event=event, detail=detail, network=cut_network(address))
    if isinstance(account, str):
        line.unknown_name = _digest(settings.SECRET_KEY, account.casefold())
    else:
        line.account_id = account.pk
        has_signed_in = event in (Event.SIGNED_IN, Event.MADE)
        if request and has_signed_in and request.user.pk == account.pk:
            line.known_network = _digest_network(settings.SECRET_KEY, account, address)
    line.save(force_insert=True)
    if request:
        request.is_in_account_log = True  # type: ignore[attr-defined]
    return line


def knows_network(account: User, address: str) -> bool:
    """Return whether this account has signed in from the network of this address lately."""
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    digests = [_digest_network(key, account, address) for key in keys]
    return AccountEvent.objects.filter(
        account_id=account.pk, known_network__in=digests, at__gt=now() - KNOWN_FOR
    ).exists()


def list_events(account: User) -> QuerySet[AccountEvent]:
    """Return what happened to this account, newest first."""
    return AccountEvent.objects.filter(account_id=account.pk)


@transaction.atomic
def delete_old_events() -> int:
    """Delete the lines whose time is over: on PostgreSQL a trigger refuses every other deletion."""
    _let_delete("on")
    deleted, _ = AccountEvent.objects.filter(at__lt=now() - KEPT_FOR).delete()
    _let_delete("off")
    return deleted


def _let_delete(state: str) -> None:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT set_config('evalsite.retention', %s, true)", [state])


def _digest_network(key: str, account: User, address: str) -> str:
    return _digest(key, f"{account.pk}\n{network_of(address)}")


def _digest(key: str, text: str) -> str:
    return salted_hmac(_SALT, text, secret=key, algorithm="sha256").hexdigest()
