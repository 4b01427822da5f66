"""Which network an address belongs to."""

import pytest

from evalsite.lib.networks import cut_network, network_of


@pytest.mark.parametrize(
    ("address", "counted", "kept"),
    [
        ("192.0.2.77", "192.0.2.77", "192.0.2.0/24"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64", "2001:db8:1::/48"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64", "2001:db8:1::/48"),
        ("::ffff:192.0.2.77", "192.0.2.77", "192.0.2.0/24"),
        ("fe80::1%eth0", "fe80::/64", "fe80::/48"),
        ("", "", ""),
        ("unix:", "", ""),
    ],
)
def test_address_is_counted_by_its_network_and_kept_without_its_household(address, counted, kept):
    assert network_of(address) == counted
    assert cut_network(address) == kept
