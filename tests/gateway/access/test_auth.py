"""Keys of clients: who comes in, what a stranger learns, where a key never goes."""

import asyncio
from typing import Any

import pytest

from loopback import Gateway, ask, client, gateway, settled
from scripted_upstream import WHOLE, upstream
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
async def test_a_key_opens_the_endpoint(header: tuple[str, str], name: str) -> None:
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
async def test_without_a_key_nothing_opens(headers: Headers) -> None:
    async with gateway(locked()) as running:
        await refused(running, headers=headers)


async def raw(running: Gateway, header: bytes) -> bytes:
    """The response to a request with a header that clients do not send."""
    async with client(running) as connected:
        connected.writer.write(
            b"GET /chat HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + header + b"\r\n\r\n"
        )
        async with asyncio.timeout(5):
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
async def test_a_key_in_the_query_is_not_looked_at(target: str) -> None:
    async with gateway(locked()) as running:
        await refused(running, target)
        assert WEB not in str(running.log.lines)


@pytest.mark.parametrize(
    ("method", "target"),
    [("POST", "/chat"), ("POST", "/nothing"), ("GET", "/chat"), ("GET", "/"), ("OPTIONS", "/agents/1/chat")],
)
async def test_a_stranger_does_not_learn_what_there_is(method: str, target: str) -> None:
    async with gateway(locked()) as running:
        await refused(running, target, method=method)


async def test_with_a_key_one_learns_what_there_is() -> None:
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
async def test_the_gateways_own_paths_are_free(method: str, target: str, status: int) -> None:
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
async def test_a_key_never_reaches_the_upstream(sent: Headers, arrives: dict[str, str]) -> None:
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
async def test_nor_does_it_in_another_form(sent: Headers) -> None:
    async with gateway(locked(forward_headers=["Authorization", "X-Api-Key"])) as running:
        await refused(running, headers=sent)


async def test_the_upstreams_configured_key_stays_when_the_clients_is_taken_out() -> None:
    async with upstream(WHOLE) as server:
        config = locked(server.url, headers={"Authorization": "Bearer of-the-upstream"})
        async with gateway(config) as running:
            await ask(running, headers=[bearer(WEB)])
        assert server.call.header("authorization") == "Bearer of-the-upstream"


async def test_no_line_holds_a_key_good_or_bad(capfd: pytest.CaptureFixture[str]) -> None:
    wrong = "sk-a-wrong-key-of-somebody-else"
    async with upstream(WHOLE) as server, gateway(locked(server.url)) as running:
        for header in (bearer(WEB), api_key(BATCH), bearer(wrong), api_key(wrong)):
            await ask(running, headers=[header])
            await running.log.next_line()
    told = str(running.log.lines) + "".join(capfd.readouterr())
    assert not [key for key in (WEB, BATCH, wrong) if key in told]


async def test_without_keys_none_is_asked_for_and_headers_are_the_upstreams() -> None:
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
