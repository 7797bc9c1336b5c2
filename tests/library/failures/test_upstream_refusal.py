"""The response to a client of the upstream's own dialect whose upstream answered with an error status."""

from cases import for_each
from streamweir.errors import error_info
from streamweir.failures.upstream_refusal import UpstreamRefusal, refusal_response

RATE = error_info("RATE_LIMITED")


def test_refusal_response_keeps_status_type_and_the_headers_about_trying_again() -> None:
    sent = [
        (b"Content-Type", b"application/json; charset=utf-8; v=2"),
        (b"Content-Length", b"9999"),
        (b"Retry-After", b"7"),
        (b"WWW-Authenticate", b'Bearer realm="a"'),
        (b"WWW-Authenticate", b"Basic"),
        (b"Set-Cookie", b"a=b"),
        (b"X-Powered-By", b"PHP"),
    ]
    got = refusal_response(
        UpstreamRefusal(429, sent, b'{"code": 7}'), RATE, request_id="r1", others=[(b"x-tenant", b"t")]
    )
    assert (got.status, got.body) == (429, b'{"code": 7}')
    assert got.headers == [
        (b"content-type", b"application/json; charset=utf-8; v=2"),
        (b"retry-after", b"7"),
        (b"www-authenticate", b'Bearer realm="a"'),
        (b"www-authenticate", b"Basic"),
        (b"cache-control", b"no-store"),
        (b"x-request-id", b"r1"),
        (b"content-length", b"11"),
        (b"x-tenant", b"t"),
    ]


@for_each(
    "given",
    [
        (401, True, 502),
        (403, True, 502),
        (401, False, 401),
        (403, False, 403),
        (429, True, 429),
        (599, True, 599),
    ],
)
def test_refusal_response_by_the_owner_of_the_credentials(given: tuple[int, bool, int]) -> None:
    status, is_ours, expected = given
    sent = [(b"www-authenticate", b"Bearer")]
    got = refusal_response(UpstreamRefusal(status, sent, b"", is_ours=is_ours), RATE, request_id="r")
    assert got.status == expected
    assert ((b"www-authenticate", b"Bearer") in got.headers) is (not is_ours or status not in (401, 403))


@for_each("value", [b"text/html\x01", b"", b"application/json\x7f"])
def test_refusal_response_with_an_unwritable_type_has_ours(value: bytes) -> None:
    got = refusal_response(
        UpstreamRefusal(500, [(b"content-type", value)], b'{"a": 1}'), RATE, request_id="r"
    )
    assert (b"content-type", b"application/json") in got.headers
    assert got.body == b'{"a": 1}'


@for_each(
    "given",
    [
        (b"Retry-After", b"120", b"120"),
        (b"Retry-After", b"Wed, 21 Oct 2026 07:28:00 GMT", b"Wed, 21 Oct 2026 07:28:00 GMT"),
        (b"Retry-After", b"when db-7.internal is back", None),
        (b"WWW-Authenticate", b'Bearer error="invalid_token"', b'Bearer error="invalid_token"'),
        (b"WWW-Authenticate", b"Bearer token=ghp_FakeFakeFakeFakeFakeFakeFakeFake1234", b"Bearer"),
        (b"WWW-Authenticate", b"Bearer\x01", None),
    ],
)
def test_refusal_response_keeps_headers_that_hold_no_secret(given: tuple[bytes, bytes, bytes | None]) -> None:
    name, value, expected = given
    got = refusal_response(UpstreamRefusal(401, [(name, value)], b""), RATE, request_id="r")
    assert dict(got.headers).get(name.lower()) == expected


def test_refusal_response_without_a_body_that_may_be_sent_has_no_body() -> None:
    got = refusal_response(UpstreamRefusal(500, [], None), RATE, request_id="r")
    assert got.body == b""
    assert (b"content-length", b"0") in got.headers
