"""What is said of the client's side, as headers and as they go on the wire."""

from ipaddress import ip_network

from cases import for_each
from streamweir_gateway.relay.forwarded import Forwarding
from streamweir_gateway.upstream.via import Via

HOSTS = [b"shop.example", b"shop.example:8443", b"[::1]:80", b"", b"a b", b"\xff", b"x" * 300]
CLIENTS = [("192.0.2.7", 4711), ("2001:db8::7", 4711), None]


@for_each("host", HOSTS)
def test_forwarding_lines_equal_the_headers(host: bytes) -> None:
    given = [(b"host", host), (b"x-forwarded-for", b"203.0.113.7"), (b"forwarded", b"for=203.0.113.7")]
    for trusted in ([], [ip_network("192.0.2.0/24")]):
        forwarding = Forwarding(trusted, Via())
        for client in CLIENTS:
            headers = forwarding.headers({"client": client, "headers": given, "http_version": "1.1"})
            expected = b"".join(b"%b: %b\r\n" % header for header in headers)
            assert forwarding.lines(client, given) == expected


def told(given: list[tuple[bytes, bytes]]) -> tuple[dict[bytes, bytes], list[dict[str, str]]]:
    """What a service is sent for the headers of a trusted proxy, and the elements of `Forwarded` in it."""
    scope = {
        "client": ("192.0.2.7", 4711),
        "headers": [(b"host", b"inner.example"), *given],
        "http_version": "1.1",
    }
    headers = dict(Forwarding([ip_network("192.0.2.0/24")], Via()).headers(scope))
    elements = [
        {
            name.lower(): value.strip('"')
            for name, _, value in (pair.partition("=") for pair in element.split(";"))
        }
        for element in headers[b"Forwarded"].decode().split(", ")
    ]
    return headers, elements


CLIENT = (b"x-forwarded-for", b"203.0.113.7")
HTTPS = (b"x-forwarded-proto", b"https")
SHOP = (b"x-forwarded-host", b"shop.example")
GIVEN: list[list[tuple[bytes, bytes]]] = [
    [],
    [CLIENT],
    [(b"x-forwarded-for", b"203.0.113.7, 198.51.100.1"), HTTPS],
    [CLIENT, (b"x-forwarded-for", b"198.51.100.1"), (b"x-forwarded-host", b"shop.example:8443")],
    [(b"x-forwarded-for", b"2001:db8::9, unknown"), (b"x-forwarded-proto", b"https, http")],
    [HTTPS, SHOP],
    [(b"forwarded", b"for=203.0.113.7;proto=https;host=shop.example")],
    [(b"forwarded", b'For="[2001:db8::9]";Proto=https, for=198.51.100.1')],
    [(b"forwarded", b'for="[2001:db8::9]:4711";by=_x'), (b"forwarded", b"for=198.51.100.1")],
    [(b"forwarded", b"for=6.6.6.6;proto=http"), CLIENT, HTTPS],
    [(b"forwarded", b"for=6.6.6.6, for=203.0.113.7"), CLIENT],
    [(b"forwarded", b"for=203.0.113.7;host=evil"), CLIENT, SHOP],
    [(b"forwarded", b'for="unclosed'), CLIENT],
    [(b"forwarded", b";;,=x"), HTTPS],
    [(b"x-forwarded-for", b'1.2.3.4"; for=evil')],
]


@for_each("given", GIVEN)
def test_forms_of_forwarding_headers_are_equal(given: list[tuple[bytes, bytes]]) -> None:
    headers, elements = told(given)
    addresses = headers[b"X-Forwarded-For"].decode().split(", ")
    protocol, host = headers[b"X-Forwarded-Proto"].decode(), headers[b"X-Forwarded-Host"].decode()
    assert addresses[-1] == "192.0.2.7"
    assert len(addresses) == len(elements)
    for address, element in zip(addresses, elements, strict=True):
        assert element["for"] in (address, f"[{address}]", "unknown")
    assert elements[0].get("proto", protocol) == protocol
    assert elements[0].get("host", host) == host
    assert "6.6.6.6" not in str(headers)
    assert "evil" not in str(elements)
