"""Networks that people come from: a digest for each day and study, which can't be reversed."""

import hmac
from dataclasses import dataclass
from datetime import date, timedelta
from hashlib import sha256

from django.db.models import Q
from django.utils.crypto import salted_hmac

from evalsite.core.jobs.schedule import HOURLY, scheduled
from evalsite.lib.clock import now
from evalsite.lib.networks import network_of, site_of
from evalsite.people.models import Participant
from evalsite.studies.models import Study

_KEPT = timedelta(hours=24)
# a site has many networks, which may take so many times as many together
SITE_FACTOR = 4
# the half of a digest that identifies the site
SITE_DIGITS = 32


class LimitReached(Exception):
    """Too many people join at once; nothing was created."""

    def __init__(self, retry_seconds: int) -> None:
        super().__init__(f"try again in {retry_seconds} s")
        self.retry_seconds = retry_seconds


def digest_address(study: Study, address: str, day: date) -> str:
    """Return a digest of an address for this study and day; "" if there is no address.

    One half identifies the site, the other the network in it.
    """
    site, network = site_of(address), network_of(address)
    if not network:
        return ""
    key = salted_hmac("evalsite.joins", day.isoformat(), algorithm="sha256").digest()
    halves = [hmac.new(key, f"{study.pk} {part}".encode(), sha256) for part in (site, network)]
    return "".join(half.hexdigest()[:SITE_DIGITS] for half in halves)


@dataclass(frozen=True)
class Network:
    """A network as the rows of a study name it: by its digest of today, or of the day before."""

    today: str
    yesterday: str

    @property
    def digests(self) -> set[str]:
        return {self.today, self.yesterday}

    def is_of(self, prefix: str) -> Q:
        """Return the condition that a column holds a digest of this site."""
        return Q(**{f"{prefix}__startswith": self.today[:SITE_DIGITS]}) | Q(
            **{f"{prefix}__startswith": self.yesterday[:SITE_DIGITS]}
        )


def find_network(study: Study, address: str) -> Network | None:
    """Return the network of this address; None if there is no address."""
    today = now().date()
    digest = digest_address(study, address, today)
    if not digest:
        return None
    return Network(digest, digest_address(study, address, today - timedelta(days=1)))


def is_a_day_away(column: str) -> Q:
    """Return the condition for what is over a day old; a clock that was wrong has left later."""
    moment = now()
    is_old = Q(**{f"{column}__lt": moment - _KEPT})
    return is_old | Q(**{f"{column}__gt": moment + _KEPT})


@scheduled("Forget networks of participants", every=HOURLY, is_deleting=True)
def forget_networks() -> None:
    """Delete from which network people took a place more than a day ago."""
    old = Participant.objects.filter(is_a_day_away("network_at"))
    old.update(network="", network_at=None)
