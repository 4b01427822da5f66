"""Networks that people come from: a digest for each day and study, which can't be reversed."""

import hmac
from dataclasses import dataclass
from datetime import date, timedelta
from hashlib import sha256
from ipaddress import IPv6Address, ip_address

from django.db.models import Q
from django.utils.crypto import salted_hmac

from evalsite.jobs.schedule import HOURLY, scheduled
from evalsite.lib.clock import now
from evalsite.participants.models import Participant
from evalsite.studies.models import Study

_KEPT = timedelta(hours=24)
# one household or lab has a whole network of IPv6 addresses, which differ in the last 64 bits;
# one site has many such networks, which may take so many times as many together
_NETWORK_BITS, _SITE_BITS = 64, 80
SITE_FACTOR = 4
# the part of a digest that identifies the site; for IPv4, the site is the address
SITE_DIGITS = 32


def digest_address(study: Study, address: str, day: date) -> str:
    """Return a digest of an address for this study and day; "" if there is no address.

    For IPv6, one half identifies the site, the other the network in it.
    """
    try:
        found = ip_address(address)
    except ValueError:
        return ""
    key = salted_hmac("evalsite.joins", day.isoformat(), algorithm="sha256").digest()
    if isinstance(found, IPv6Address) and found.ipv4_mapped is None:
        networks = [IPv6Address(int(found) >> bits << bits) for bits in (_SITE_BITS, _NETWORK_BITS)]
        halves = [hmac.new(key, f"{study.pk} {one}".encode(), sha256) for one in networks]
        return "".join(half.hexdigest()[:SITE_DIGITS] for half in halves)
    only = getattr(found, "ipv4_mapped", None) or found
    return hmac.new(key, f"{study.pk} {only}".encode(), sha256).hexdigest()


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
