"""Whose request it is, behind proxies that are believed and others that are not."""

from ipaddress import ip_address, ip_network

import pytest

from streamweir_gateway.access.client_address import client_address, client_network

PROXIES = ("127.0.0.0/8", "10.0.0.0/8", "::1/128", "fd00::/8")


def address(peer: str | None, *forwarded: str, trusted: tuple[str, ...] = PROXIES) -> str | None:
    scope = {
        "client": None if peer is None else (peer, 4711),
        "headers": [(b"x-forwarded-for", line.encode("latin-1")) for line in forwarded],
    }
    found = client_address(scope, [ip_network(network) for network in trusted])
    return None if found is None else str(found)


@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        ("203.0.113.7", [], "203.0.113.7"),
        ("203.0.113.7", ["198.51.100.1"], "203.0.113.7"),
        ("127.0.0.1", [], "127.0.0.1"),
        ("127.0.0.1", [""], "127.0.0.1"),
        ("127.0.0.1", ["198.51.100.1"], "198.51.100.1"),
        ("127.0.0.1", ["192.0.2.1, 198.51.100.1"], "198.51.100.1"),
        ("127.0.0.1", ["198.51.100.1, 10.0.0.2"], "198.51.100.1"),
        ("127.0.0.1", ["192.0.2.1,198.51.100.1 ,\t10.0.0.2 , 10.0.0.3"], "198.51.100.1"),
        ("127.0.0.1", ["198.51.100.1", "10.0.0.2"], "198.51.100.1"),
        ("127.0.0.1", ["10.0.0.3, 10.0.0.2"], "10.0.0.3"),
        ("::1", ["2001:db8::7"], "2001:db8::7"),
        ("::ffff:127.0.0.1", ["::ffff:198.51.100.1"], "198.51.100.1"),
    ],
)
def test_client_address_is_the_rightmost_that_is_no_trusted_proxy(
    peer: str, forwarded: list[str], expected: str
) -> None:
    assert address(peer, *forwarded) == expected


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("198.51.100.1:8080", "198.51.100.1"),
        ("[2001:db8::7]", "2001:db8::7"),
        ("[2001:db8::7]:8080", "2001:db8::7"),
        ("2001:DB8:0:0::7", "2001:db8::7"),
    ],
)
def test_client_address_has_no_port_or_brackets(entry: str, expected: str) -> None:
    assert address("127.0.0.1", entry) == expected


@pytest.mark.parametrize(
    "entry",
    [
        "unknown",
        "_hidden",
        "198.51.100",
        "198.51.100.256",
        "198.51.100.1:x",
        "[",
        "[]",
        "::1::",
        "",
        "\xff",
        "0x7f.1",
    ],
)
def test_client_address_search_ends_at_an_unreadable_entry(entry: str) -> None:
    assert address("127.0.0.1", f"192.0.2.1, {entry}, 10.0.0.2") == "10.0.0.2"


def test_client_address_search_is_bounded() -> None:
    assert address("127.0.0.1", ", ".join(["192.0.2.1", *["10.0.0.2"] * 8000])) == "10.0.0.2"


def test_forwarded_for_of_an_untrusted_peer_is_ignored() -> None:
    assert address("127.0.0.1", "198.51.100.1", trusted=()) == "127.0.0.1"


@pytest.mark.parametrize("peer", [None, "", "/run/streamweir.sock"])
def test_unix_connections_have_no_address(peer: str | None) -> None:
    assert address(peer, "198.51.100.1") is None


def test_client_address_of_ipv6_is_its_prefix() -> None:
    def network(text: str) -> str:
        return client_network(ip_address(text))

    assert network("2001:db8:1:2::1") == network("2001:db8:1:2:ffff::9") != network("2001:db8:1:3::1")
    assert network("198.51.100.1") != network("198.51.100.2")
