"""CORS: preflights, and the headers of every response."""

from typing import Any

import pytest

from loopback import Answer, ask, gateway, settled
from scripted_upstream import SSE, WHOLE, upstream
from streamweir_gateway.config import GatewayConfig

pytestmark = pytest.mark.anyio

APP, OTHER = "https://app.example", "https://evil.example"
NOBODY = "http://127.0.0.1:9"
KEY = "a-key-of-the-web"
WITH_KEYS: Any = {"auth": {"keys": {"web": KEY}}}
API_KEY = ("X-Api-Key", KEY)


def shared(url: str = NOBODY, origins: tuple[str, ...] = (APP,), **file: Any) -> GatewayConfig:
    chat = {"upstream": url, "speaks": "legacy"}
    return settled(
        **{
            "endpoints": {"/chat": chat, "/agents/{id}": {**chat, "methods": ["POST", "GET"]}},
            "cors": {"origins": list(origins)},
            **file,
        }
    )


def from_page(origin: str = APP) -> list[tuple[str, str]]:
    return [("Origin", origin)]


def asking(method: str = "POST", headers: str | None = None, origin: str = APP) -> list[tuple[str, str]]:
    """The headers of a preflight."""
    more = [] if headers is None else [("Access-Control-Request-Headers", headers)]
    return [*from_page(origin), ("Access-Control-Request-Method", method), *more]


def cors_headers(answer: Answer) -> dict[str, str]:
    return {name: value for name, value in answer.headers if name.startswith("access-control-")}


def names(text: str | None) -> set[str]:
    return {name.strip().lower() for name in (text or "").split(",")}


def assert_readable(answer: Answer) -> None:
    """A page of the allowed origin may read this."""
    assert cors_headers(answer) == {
        "access-control-allow-origin": APP,
        "access-control-expose-headers": "X-Request-Id, Retry-After, X-Streamweir-Run, Content-Location",
    }
    assert answer.header("vary") == "Origin"


async def test_stream_for_an_allowed_origin_has_cors_headers() -> None:
    async with upstream(WHOLE) as server, gateway(shared(server.url)) as running:
        answer = await ask(running, headers=from_page())
    assert_readable(answer.assert_valid())


async def test_refusal_for_an_allowed_origin_has_cors_headers() -> None:
    config = shared(**WITH_KEYS, rate_limit="1/hour")
    async with gateway(config) as running:
        answers = {
            401: await ask(running, headers=from_page()),
            404: await ask(running, target="/nothing", headers=[*from_page(), API_KEY]),
            405: await ask(running, "DELETE", headers=[*from_page(), API_KEY]),
            413: await ask(running, headers=[*from_page(), API_KEY], body=b"x" * (11 << 20)),
            429: await ask(running, headers=[*from_page(), API_KEY]),
        }
    for status, answer in answers.items():
        assert answer.status == status
        assert_readable(answer)


async def test_refusal_while_draining_has_cors_headers() -> None:
    async with gateway(shared()) as running:
        running.streams.refuse()
        answers = [
            await ask(running, headers=from_page()),
            await ask(running, "GET", "/readyz", headers=from_page()),
        ]
    for answer in answers:
        assert answer.status == 503
        assert_readable(answer)


async def test_internal_error_for_an_allowed_origin_has_cors_headers(monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any) -> None:
        raise RuntimeError("/srv/secret")

    monkeypatch.setattr("streamweir_gateway.runs.proxy.Proxy.__call__", broken)
    async with gateway(shared()) as running:
        answer = await ask(running, headers=from_page())
    assert answer.status == 500
    assert answer.json["error"]["code"] == "INTERNAL"
    assert b"secret" not in answer.body
    assert_readable(answer)


@pytest.mark.parametrize(
    "headers",
    [
        [],
        from_page(OTHER),
        from_page("https://app.example.evil.example"),
        from_page("http://app.example"),
        from_page("https://app.example:8443"),
        from_page("null"),
        from_page(""),
        from_page("*"),
        [*from_page(), *from_page(OTHER)],
    ],
)
async def test_answer_for_another_origin_has_no_cors_headers(headers: list[tuple[str, str]]) -> None:
    async with upstream(WHOLE) as server, gateway(shared(server.url, **WITH_KEYS)) as running:
        answer = await ask(running, headers=[*headers, API_KEY])
    assert answer.status == 200
    assert not cors_headers(answer)
    assert answer.header("vary") == "Origin"


async def test_cors_with_any_origin_lets_every_page_read() -> None:
    async with upstream(WHOLE) as server, gateway(shared(server.url, origins=("*",))) as running:
        answer = await ask(running, headers=from_page(OTHER))
        preflight = await ask(running, "OPTIONS", headers=asking(origin=OTHER), body=b"")
    assert answer.header("access-control-allow-origin") == "*"
    assert answer.header("vary") is None
    assert (preflight.status, preflight.header("access-control-allow-origin")) == (204, "*")


@pytest.mark.parametrize(
    ("target", "method", "methods"), [("/chat", "POST", {"post"}), ("/agents/7", "GET", {"get", "post"})]
)
async def test_preflight_needs_no_key_and_does_not_count(target: str, method: str, methods: set[str]) -> None:
    config = shared(**WITH_KEYS, rate_limit="1/hour")
    async with gateway(config) as running:
        for _ in range(3):
            answer = await ask(running, "OPTIONS", target, headers=asking(method, "authorization"), body=b"")
            assert answer.status == 204
            assert answer.header("access-control-allow-origin") == APP
            assert names(answer.header("access-control-allow-methods")) == methods
            assert int(answer.header("access-control-max-age") or 0) > 0
            assert answer.header("access-control-allow-credentials") is None
            assert answer.header("content-length") is None
        assert not running.log.lines


async def test_preflight_answer_lists_the_allowed_headers() -> None:
    async with gateway(shared()) as running:
        answer = await ask(
            running, "OPTIONS", headers=asking(headers="content-type, x-tenant,x-TENANT,"), body=b""
        )
    assert names(answer.header("access-control-allow-headers")) == {
        *("accept", "authorization", "content-type", "last-event-id", "traceparent", "tracestate"),
        *("x-api-key", "x-request-id", "x-streamweir-protocol", "x-streamweir-run", "x-tenant"),
    }


async def test_headers_that_the_file_lists_are_the_only_ones_beside_the_usual() -> None:
    cors = {"origins": [APP], "headers": ["X-Tenant-Id"], "credentials": True}
    async with gateway(shared(cors=cors)) as running:
        answer = await ask(running, "OPTIONS", headers=asking(headers="x-tenant-id, x-other"), body=b"")
    allowed = names(answer.header("access-control-allow-headers"))
    assert "x-tenant-id" in allowed
    assert "x-other" not in allowed
    assert answer.header("access-control-allow-credentials") == "true"


async def test_cors_with_credentials_allows_cookies() -> None:
    cors = {"origins": [APP], "credentials": True}
    async with upstream(WHOLE) as server, gateway(shared(server.url, cors=cors)) as running:
        answer = await ask(running, headers=from_page())
        assert answer.header("access-control-allow-credentials") == "true"
        refused = await ask(running, target="/nothing", headers=from_page())
        assert refused.header("access-control-allow-credentials") == "true"


@pytest.mark.parametrize(
    ("target", "headers", "status", "code"),
    [
        ("/chat", asking(origin=OTHER), 400, "BAD_REQUEST"),
        ("/nothing", asking(origin=OTHER), 400, "BAD_REQUEST"),
        ("/nothing", asking(), 404, "ENDPOINT_NOT_FOUND"),
        ("/chat", asking("DELETE"), 405, "METHOD_NOT_ALLOWED"),
        ("/chat", asking("post"), 405, "METHOD_NOT_ALLOWED"),
        ("/chat", asking(headers="x tenant"), 400, "BAD_REQUEST"),
        ("/chat", asking(headers="x-a, (x-b)"), 400, "BAD_REQUEST"),
        ("/chat", asking(headers=",".join(f"x-{number}" for number in range(99))), 400, "BAD_REQUEST"),
    ],
)
async def test_preflight_that_asks_for_too_much_is_refused(
    target: str, headers: list[tuple[str, str]], status: int, code: str
) -> None:
    async with gateway(shared(**WITH_KEYS)) as running:
        answer = await ask(running, "OPTIONS", target, headers=headers, body=b"")
        assert (answer.status, answer.json["error"]["code"]) == (status, code)
        assert (answer.header("access-control-allow-origin") is None) == (("Origin", OTHER) in headers)
        assert [line["code"] for line in running.log.lines] == [code]


@pytest.mark.parametrize(
    "headers",
    [[], from_page(), [("Access-Control-Request-Method", "POST")]],
    ids=["bare", "origin", "method"],
)
async def test_other_options_are_requests_as_all_are(headers: list[tuple[str, str]]) -> None:
    chat = {"speaks": "legacy", "methods": ["OPTIONS", "POST"]}
    async with upstream(WHOLE) as server:
        config = shared(endpoints={"/chat": {"upstream": server.url, **chat}, "/x": {"upstream": NOBODY}})
        async with gateway(config) as running:
            assert (await ask(running, "OPTIONS", headers=headers)).status == 200
            assert (await ask(running, "OPTIONS", "/x", headers=headers)).status == 405


async def test_endpoint_without_cors_sends_no_cors_headers() -> None:
    async with upstream(WHOLE) as server:
        config = settled(endpoints={"/chat": {"upstream": server.url, "speaks": "legacy"}}, **WITH_KEYS)
        async with gateway(config) as running:
            answer = await ask(running, headers=[*from_page(), API_KEY])
            preflight = await ask(running, "OPTIONS", headers=[*asking(), API_KEY], body=b"")
    assert not cors_headers(answer)
    assert answer.header("vary") is None
    assert (preflight.status, cors_headers(preflight)) == (405, {})


async def test_upstreams_cors_headers_are_replaced() -> None:
    theirs = (
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
        b"Access-Control-Allow-Origin: *\r\n\r\n"
    )
    script = theirs + WHOLE.removeprefix(SSE)
    async with upstream(script) as server:
        chat = {
            "upstream": server.url,
            "speaks": "legacy",
            "forward_response_headers": ["Access-Control-Allow-Origin"],
        }
        async with gateway(shared(endpoints={"/chat": chat})) as running:
            answer = await ask(running, headers=from_page())
    assert_readable(answer)
