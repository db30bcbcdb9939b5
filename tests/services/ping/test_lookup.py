"""What becomes of a lookup."""

from __future__ import annotations

from ipaddress import ip_address

import pytest
from twisted.internet.address import IPv4Address, IPv6Address
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from sitemap_harvest.services.ping.lookup import addresses_of
from sitemap_harvest.services.ping.refusal import Code, Refused


class Names(Clock):
    """A reactor with a resolver that answers when the test says so."""

    def __init__(self):
        super().__init__()
        self.nameResolver = self
        self.receiver = None

    def resolveHostName(self, receiver, host, port):  # noqa: N802 - Twisted's name
        self.receiver = receiver
        receiver.resolutionBegan(None)


def asked(names, host="www.example.com"):
    found = []
    deferred = Deferred.fromCoroutine(addresses_of(host, 80, names))
    deferred.addBoth(found.append)
    return found


def test_all_addresses_are_handed_out():
    names = Names()
    found = asked(names)
    assert found == []
    names.receiver.addressResolved(IPv4Address("TCP", "93.184.216.34", 80))
    names.receiver.addressResolved(IPv6Address("TCP", "fe80::1%eth0", 80))
    names.receiver.resolutionComplete()
    assert found == [[ip_address("93.184.216.34"), ip_address("fe80::1%eth0")]]
    assert names.getDelayedCalls() == []


def test_a_name_without_addresses_has_none():
    names = Names()
    found = asked(names)
    names.receiver.resolutionComplete()
    assert found == [[]]


@pytest.mark.parametrize("host", ["127.0.0.1", "2130706433", "::1"])
def test_an_address_is_not_looked_up(host):
    names = Names()
    assert asked(names, host) == [[ip_address("::1" if ":" in host else "127.0.0.1")]]
    assert names.receiver is None


def test_a_lookup_that_takes_too_long_is_given_up():
    names = Names()
    found = asked(names)
    names.advance(10)
    [failure] = found
    assert failure.check(Refused)
    assert (failure.value.code, failure.value.headers) == (Code.LOOKUP_FAILED, {"Retry-After": "60"})
    names.receiver.resolutionComplete()  # late, and nobody is there any more
