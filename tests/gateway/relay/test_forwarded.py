"""What is said of the client's side, as headers and as they go on the wire."""

from ipaddress import ip_network

from cases import for_each
from streamweir_gateway.relay.forwarded import Forwarding
from streamweir_gateway.upstream.via import Via

HOSTS = [b"shop.example", b"shop.example:8443", b"[::1]:80", b"", b"a b", b"\xff", b"x" * 300]
CLIENTS = [("192.0.2.7", 4711), ("2001:db8::7", 4711), None]


@for_each("host", HOSTS)
def test_the_lines_are_the_headers(host: bytes) -> None:
    given = [(b"host", host), (b"x-forwarded-for", b"203.0.113.7"), (b"forwarded", b"for=203.0.113.7")]
    for trusted in ([], [ip_network("192.0.2.0/24")]):
        forwarding = Forwarding(trusted, Via())
        for client in CLIENTS:
            headers = forwarding.headers({"client": client, "headers": given, "http_version": "1.1"})
            expected = b"".join(b"%b: %b\r\n" % header for header in headers)
            assert forwarding.lines(client, given) == expected
