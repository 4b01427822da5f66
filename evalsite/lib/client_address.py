"""Who asks: the address of the client, which only a proxy of ours may tell."""

from ipaddress import ip_address

from django.conf import settings
from django.http import HttpRequest


def client_address(request: HttpRequest) -> str:
    """The address that connected to us, or to the proxy where one stands in front."""
    connected = str(request.META.get("REMOTE_ADDR", ""))
    if not settings.BEHIND_PROXY:
        return connected
    # The proxy adds what it saw at the end; whatever stands before that came from outside.
    last = str(request.META.get("HTTP_X_FORWARDED_FOR", "")).rpartition(",")[2].strip()
    try:
        return str(ip_address(last))
    except ValueError:
        return connected
