"""The network that an address belongs to: what is counted together, and what a log may keep."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network


def network_of(address: str) -> str:
    """Return what one household has: the IPv4 address, or the /64 of an IPv6 address."""
    return _name(address, 64)


def site_of(address: str) -> str:
    """Return what one organisation has: the IPv4 address, or the /48 of an IPv6 address."""
    return _name(address, 48)


def cut_network(address: str) -> str:
    """Return the /24 or /48 of an address, which names no household."""
    ip = _read(address)
    if ip is None:
        return ""
    return _cut(ip, 24 if ip.version == 4 else 48)


def _name(address: str, bits: int) -> str:
    ip = _read(address)
    if ip is None:
        return ""
    return str(ip) if ip.version == 4 else _cut(ip, bits)


def _read(address: str) -> IPv4Address | IPv6Address | None:
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return None  # a socket has no address
    # IPv4 through a socket that takes both
    return getattr(ip, "ipv4_mapped", None) or ip


def _cut(ip: IPv4Address | IPv6Address, bits: int) -> str:
    return str(ip_network((ip, bits), strict=False))
