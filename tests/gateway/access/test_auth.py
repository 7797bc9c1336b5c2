"""Keys of clients: who comes in, what a stranger learns, where a key never goes."""

import asyncio
from hashlib import sha256
from typing import Any

import pytest

from loopback import Gateway, ask, client, gateway, settled
from patience import PROMPTLY
from scripted_upstream import WHOLE, Call, upstream
from streamweir_gateway.config import GatewayConfig

pytestmark = pytest.mark.anyio

WEB, BATCH = "sk-web-4711-secret", "sk-batch-0815-secret"
NOBODY = "http://127.0.0.1:9"

Headers = list[tuple[str, str]]


def locked(url: str = NOBODY, **options: Any) -> GatewayConfig:
    """A gateway with two keys and two endpoints."""
    chat = {"upstream": url, "speaks": "legacy", **options}
    return settled(
        endpoints={"/chat": chat, "/agents/{id}/chat": chat},
        auth={"keys": {"web": WEB, "batch": BATCH}},
    )


def bearer(key: str) -> tuple[str, str]:
    return ("Authorization", f"Bearer {key}")


def api_key(key: str) -> tuple[str, str]:
    return ("X-Api-Key", key)


async def refused(running: Gateway, target: str = "/chat", headers: Headers = [], **options: Any) -> None:  # noqa: B006
    """The request gets the one answer that strangers get, and one line of the log."""
    before = len(running.log.lines)
    answer = await ask(running, target=target, headers=headers, **options)
    assert answer.status == 401
    assert answer.header("www-authenticate") == "Bearer"
    assert answer.json["error"]["code"] == "UNAUTHENTICATED"
    assert answer.json["request_id"] == answer.header("x-request-id")
    (line,) = running.log.lines[before:]
    assert (line["status"], line["code"]) == (401, "UNAUTHENTICATED")
    assert "key" not in line


@pytest.mark.parametrize(
    ("header", "name"),
    [
        (bearer(WEB), "web"),
        (bearer(BATCH), "batch"),
        (api_key(BATCH), "batch"),
        (("authorization", f"bearer {WEB}"), "web"),
        (("AUTHORIZATION", f"BEARER   {WEB}"), "web"),
        (("x-api-KEY", WEB), "web"),
    ],
)
async def test_endpoint_with_a_good_key_is_open(header: tuple[str, str], name: str) -> None:
    async with upstream(WHOLE) as server, gateway(locked(server.url)) as running:
        answer = await ask(running, headers=[header])
        line = await running.log.next_line()
    assert answer.status == 200
    assert answer.assert_valid().end["status"] == "completed"
    assert line["key"] == name


@pytest.mark.parametrize(
    "headers",
    [
        [],
        [("Authorization", WEB)],
        [("Authorization", "Bearer")],
        [("Authorization", f"Bearer{WEB}")],
        [("Authorization", f"Bearer\t{WEB}")],
        [("Authorization", f"Basic {WEB}")],
        [("Authorization", f"Bearer Bearer {WEB}")],
        [bearer(WEB[:-1])],
        [bearer(WEB + "x")],
        [bearer(WEB.upper())],
        [bearer(f"{WEB}, {BATCH}")],
        [bearer("sk-wéb-4711")],
        [bearer("k" * 30_000)],
        [api_key("")],
        [api_key(f"Bearer {WEB}")],
        [api_key(f'"{WEB}"')],
        [("Api-Key", WEB)],
        [("Cookie", f"key={WEB}")],
        [("Proxy-Authorization", f"Bearer {WEB}")],
    ],
)
async def test_endpoint_without_a_good_key_is_401(headers: Headers) -> None:
    async with gateway(locked()) as running:
        await refused(running, headers=headers)


async def raw(running: Gateway, header: bytes) -> bytes:
    """The response to a request with a header that clients do not send."""
    async with client(running) as connected:
        connected.writer.write(
            b"GET /chat HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + header + b"\r\n\r\n"
        )
        async with asyncio.timeout(PROMPTLY):
            return await connected.reader.read()


@pytest.mark.parametrize("header", ["X-Api-Key:%s", "x-api-key: \t %s\t ", "authorization:  bearer  %s \t"])
async def test_blanks_around_a_key_are_not_part_of_it(header: str) -> None:
    async with gateway(locked()) as running:
        assert b" 405 " in (await raw(running, (header % WEB).encode())).partition(b"\r\n")[0]


@pytest.mark.parametrize(
    "header",
    [
        *("Authorization:", "Authorization: Bearer ", "X-Api-Key:", "X-Api-Key : %s", " X-Api-Key: %s"),
        *(
            "X-Api-Key: %s\0",
            "X-Api-Key: \0%s",
            "X-Api-Key: %s\r",
            "X-Api-Key:\r\n %s",
            "X-A: b\r\n\r\nX-Api-Key: %s",
        ),
        *("Authorization: Bearer %s\0", "Authorization: Bearer\0%s", "Authorization: Bearer \x0b%s"),
    ],
)
async def test_malformed_headers_open_nothing(header: str) -> None:
    async with gateway(locked()) as running:
        head, _, body = (await raw(running, header.replace("%s", WEB).encode())).partition(b"\r\n\r\n")
        assert head.startswith((b"HTTP/1.1 401 ", b"HTTP/1.1 400 "))
        assert WEB.encode() not in head + body
        assert WEB not in str(running.log.lines)


@pytest.mark.parametrize(
    "headers",
    [
        [bearer(WEB), bearer(WEB)],
        [bearer(WEB), bearer("other")],
        [bearer("other"), bearer(WEB)],
        [api_key(WEB), api_key(BATCH)],
        [bearer(WEB), api_key(BATCH)],
        [bearer(WEB), api_key("other")],
        [bearer("other"), api_key(WEB)],
        [("Authorization", "Basic eDp5"), bearer(WEB)],
    ],
)
async def test_contradicting_keys_open_nothing(headers: Headers) -> None:
    async with gateway(locked()) as running:
        await refused(running, headers=headers)


@pytest.mark.parametrize(
    "headers", [[bearer(WEB), api_key(WEB)], [("Authorization", "Basic eDp5"), api_key(WEB)]]
)
async def test_agreeing_keys_and_foreign_schemes_are_no_contradiction(headers: Headers) -> None:
    async with upstream(WHOLE) as server, gateway(locked(server.url)) as running:
        assert (await ask(running, headers=headers)).status == 200


@pytest.mark.parametrize("target", [f"/chat?key={WEB}", f"/chat?api_key={WEB}&access_token={WEB}"])
async def test_key_in_the_query_is_ignored(target: str) -> None:
    async with gateway(locked()) as running:
        await refused(running, target)
        assert WEB not in str(running.log.lines)


@pytest.mark.parametrize(
    ("method", "target"),
    [("POST", "/chat"), ("POST", "/nothing"), ("GET", "/chat"), ("GET", "/"), ("OPTIONS", "/agents/1/chat")],
)
async def test_unknown_path_without_a_key_is_401(method: str, target: str) -> None:
    async with gateway(locked()) as running:
        await refused(running, target, method=method)


async def test_unknown_path_with_a_key_is_404() -> None:
    async with gateway(locked()) as running:
        nothing = await ask(running, target="/nothing", headers=[bearer(WEB)])
        other_method = await ask(running, "GET", headers=[bearer(WEB)])
    assert nothing.status == 404
    assert nothing.json["error"]["code"] == "ENDPOINT_NOT_FOUND"
    assert other_method.status == 405
    assert other_method.header("allow") == "POST"


@pytest.mark.parametrize(
    ("method", "target", "status"),
    [
        ("GET", "/healthz", 200),
        ("HEAD", "/healthz", 200),
        ("GET", "/readyz", 200),
        ("GET", "/metrics", 200),
        ("POST", "/healthz", 405),
        ("GET", "/healthz/", 401),
    ],
)
async def test_gateways_own_paths_need_no_key(method: str, target: str, status: int) -> None:
    async with gateway(locked()) as running:
        assert (await ask(running, method, target, body=b"")).status == status


@pytest.mark.parametrize(
    ("sent", "arrives"),
    [
        ([bearer(WEB)], {}),
        ([api_key(WEB)], {}),
        ([bearer(WEB), api_key(WEB)], {}),
        ([bearer("the-users-own"), api_key(WEB)], {"authorization": "Bearer the-users-own"}),
        ([("Authorization", "Basic eDp5"), api_key(WEB)], {"authorization": "Basic eDp5"}),
        ([bearer(WEB), api_key("the-users-own")], {"x-api-key": "the-users-own"}),
    ],
)
async def test_clients_key_is_not_sent_to_the_upstream(sent: Headers, arrives: dict[str, str]) -> None:
    async with upstream(WHOLE) as server:
        config = locked(server.url, forward_headers=["Authorization", "X-Api-Key"])
        async with gateway(config) as running:
            assert (await ask(running, headers=sent)).status == 200
        credentials = {
            name: value for name, value in server.call.headers if name in ("authorization", "x-api-key")
        }
        assert credentials == arrives
        assert WEB not in str(server.call.headers)


@pytest.mark.parametrize(
    "sent",
    [
        [bearer(WEB), api_key(BATCH)],
        [bearer(WEB), api_key(f"Bearer {BATCH}")],
        [bearer(WEB), api_key(f"Bearer {WEB}")],
        [("Authorization", BATCH), api_key(WEB)],
        [("Authorization", f"Token {WEB}"), api_key(WEB)],
    ],
)
async def test_endpoint_key_in_another_form_is_not_sent_to_the_upstream(sent: Headers) -> None:
    async with gateway(locked(forward_headers=["Authorization", "X-Api-Key"])) as running:
        await refused(running, headers=sent)


async def test_upstreams_configured_key_replaces_the_clients() -> None:
    async with upstream(WHOLE) as server:
        config = locked(server.url, headers={"Authorization": "Bearer of-the-upstream"})
        async with gateway(config) as running:
            await ask(running, headers=[bearer(WEB)])
        assert server.call.header("authorization") == "Bearer of-the-upstream"


async def test_log_holds_no_key(capfd: pytest.CaptureFixture[str]) -> None:
    wrong = "sk-a-wrong-key-of-somebody-else"
    async with upstream(WHOLE) as server, gateway(locked(server.url)) as running:
        for header in (bearer(WEB), api_key(BATCH), bearer(wrong), api_key(wrong)):
            await ask(running, headers=[header])
            await running.log.next_line()
    told = str(running.log.lines) + "".join(capfd.readouterr())
    assert not [key for key in (WEB, BATCH, wrong) if key in told]


async def test_endpoint_without_keys_forwards_authorization() -> None:
    async with upstream(WHOLE) as server:
        config = settled(
            endpoints={
                "/chat": {"upstream": server.url, "speaks": "legacy", "forward_headers": ["Authorization"]}
            },
            auth="open",
        )
        async with gateway(config) as running:
            assert (await ask(running, headers=[bearer("mine")])).status == 200
        assert server.call.header("authorization") == "Bearer mine"


HASH = f"sha256:{sha256(BATCH.encode()).hexdigest()}"


def limited(callers: Any, url: str = NOBODY, **file: Any) -> GatewayConfig:
    """A gateway with these callers and the endpoints `/chat` and `/agents/{id}/chat`."""
    chat = {"upstream": url, "speaks": "legacy"}
    endpoints = {"/chat": chat, "/agents/{id}/chat": {**chat, "methods": ["POST", "PUT"]}}
    return settled(**{"endpoints": endpoints, "auth": {"keys": callers}, **file})


@pytest.mark.parametrize(
    "callers", [{"web": [WEB, HASH]}, {"web": {"key": [WEB, HASH]}}, {"web": [HASH.swapcase().lower(), WEB]}]
)
async def test_name_with_plain_and_hashed_keys_accepts_each(callers: Any) -> None:
    async with upstream(WHOLE) as server, gateway(limited(callers, server.url)) as running:
        for key in (WEB, BATCH):
            assert (await ask(running, headers=[bearer(key)])).status == 200
            assert (await running.log.next_line())["key"] == "web"
        await refused(running, headers=[bearer(HASH)])
        await refused(running, headers=[bearer(HASH.removeprefix("sha256:"))])


@pytest.mark.parametrize("key", ["", "short"])
async def test_hash_of_a_short_key_is_401(key: str) -> None:
    async with gateway(limited({"web": f"sha256:{sha256(key.encode()).hexdigest()}"})) as running:
        await refused(running, headers=[api_key(key)])


@pytest.mark.parametrize(
    ("method", "target", "status", "code"),
    [
        ("POST", "/agents/7/chat", 200, None),
        ("GET", "/agents/7/chat", 405, "METHOD_NOT_ALLOWED"),
        ("POST", "/chat", 403, "FORBIDDEN"),
        ("GET", "/chat", 403, "FORBIDDEN"),
        ("POST", "/nothing", 404, "ENDPOINT_NOT_FOUND"),
        ("GET", "/healthz", 200, None),
    ],
)
async def test_name_with_endpoints_is_403_elsewhere(
    method: str, target: str, status: int, code: str | None
) -> None:
    callers = {"batch": {"key": BATCH, "endpoints": ["/agents/{id}/chat"]}}
    async with upstream(WHOLE) as server, gateway(limited(callers, server.url)) as running:
        answer = await ask(running, method, target, headers=[bearer(BATCH)])
        await refused(running, "/chat", headers=[bearer(WEB)])
    assert answer.status == status
    assert code is None or answer.json["error"]["code"] == code
    assert code is None or (running.log.lines[0]["code"], running.log.lines[0]["key"]) == (code, "batch")


async def test_rate_of_a_name_counts_over_all_endpoints() -> None:
    callers = {"web": WEB, "batch": {"key": BATCH, "rate_limit": "2/hour"}}
    targets = ("/chat", "/agents/7/chat", "/chat")
    async with (
        upstream(WHOLE) as server,
        gateway(limited(callers, server.url, rate_limit="1/hour")) as running,
    ):
        batch = [await ask(running, target=target, headers=[bearer(BATCH)]) for target in targets]
        web = [await ask(running, headers=[bearer(WEB)]) for _ in range(2)]
    assert [answer.status for answer in batch] == [200, 200, 429]
    assert int(batch[2].header("retry-after") or 0) > 1000
    assert [answer.status for answer in web] == [200, 429]


async def test_request_refused_by_the_endpoints_rate_does_not_count_for_the_name() -> None:
    async with upstream(WHOLE) as server:
        endpoints = {
            "/chat": {"upstream": server.url, "speaks": "legacy", "rate_limit": "1/hour"},
            "/other": {"upstream": server.url, "speaks": "legacy"},
        }
        callers = {"batch": {"key": BATCH, "rate_limit": "2/hour"}}
        async with gateway(limited(callers, endpoints=endpoints)) as running:
            targets = ("/chat", "/chat", "/chat", "/other", "/other")
            answers = [await ask(running, target=target, headers=[bearer(BATCH)]) for target in targets]
    assert [answer.status for answer in answers] == [200, 429, 429, 200, 429]


async def test_streams_of_a_name_above_its_limit_are_429() -> None:
    goes_on = asyncio.Event()

    async def waits(call: Call) -> None:
        await call.send(WHOLE[: WHOLE.index(b"data: ")])
        await goes_on.wait()
        await call.send(WHOLE[WHOLE.index(b"data: ") :])

    callers = {"web": WEB, "batch": {"key": BATCH, "max_streams": 1}}
    async with upstream(waits) as server, gateway(limited(callers, server.url)) as running:
        first = asyncio.ensure_future(ask(running, headers=[bearer(BATCH)]))
        await server.called.wait()
        second = await ask(running, "POST", "/agents/7/chat", headers=[bearer(BATCH)])
        assert (second.status, second.json["error"]["code"]) == (503, "OVERLOADED")
        assert int(second.header("retry-after") or 0) > 0
        goes_on.set()
        assert (await first).status == 200
        assert (await ask(running, headers=[bearer(BATCH)])).status == 200


async def test_wrong_keys_are_limited_per_address_and_good_ones_never() -> None:
    config = limited({"web": WEB}, server={"trusted_proxies": ["127.0.0.1"]})

    async def status(header: tuple[str, str] | None, address: str = "203.0.113.7") -> int:
        headers = [("X-Forwarded-For", address), *([] if header is None else [header])]
        answer = await ask(running, "GET", headers=headers, body=b"")
        assert answer.status != 429 or 0 < int(answer.header("retry-after") or 0) <= 60
        return answer.status

    async with gateway(config) as running:
        assert [await status(None) for _ in range(25)] == [401] * 25
        tries = [await status(bearer(f"a-guess-of-somebody-{number}")) for number in range(25)]
        assert tries == [401] * 20 + [429] * 5
        assert await status(bearer(WEB)) == 405
        assert await status(api_key("another-guess-of-them")) == 429
        assert await status(None) == 401
        assert await status(bearer("a-guess-of-another"), "203.0.113.8") == 401
        assert running.log.lines[45]["code"] == "RATE_LIMITED"
        assert running.log.lines[45]["client"] == "203.0.113.7"
        assert "a-guess" not in str(running.log.lines)


@pytest.mark.parametrize(
    ("method", "target", "headers", "body", "code"),
    [
        ("POST", "/chat", [], b"", "UNAUTHENTICATED"),
        ("POST", "/chat", [bearer("some-wrong-key")], b"", "UNAUTHENTICATED"),
        ("POST", "/nothing", [bearer(WEB)], b"", "ENDPOINT_NOT_FOUND"),
        ("PATCH", "/chat", [bearer(WEB)], b"", "METHOD_NOT_ALLOWED"),
        ("POST", "/chat", [bearer(WEB)], b"x" * (11 << 20), "REQUEST_TOO_LARGE"),
    ],
)
async def test_log_line_of_a_refused_request_has_the_client_address(
    method: str, target: str, headers: Headers, body: bytes, code: str
) -> None:
    async with gateway(locked()) as running:
        await ask(running, method, target, headers=headers, body=body)
        line = await running.log.next_line()
    assert (line["code"], line["client"]) == (code, "127.0.0.1")


async def test_log_line_of_a_served_request_has_no_client_address() -> None:
    async with upstream(WHOLE) as server, gateway(locked(server.url)) as running:
        await ask(running, headers=[bearer(WEB)])
        assert "client" not in await running.log.next_line()
