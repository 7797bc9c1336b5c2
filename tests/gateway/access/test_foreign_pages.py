"""A gateway without keys serves programs and its own machine's pages, not those of strangers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from loopback import Gateway, client, gateway, settled
from patience import PROMPTLY
from scripted_upstream import WHOLE, answer, upstream
from streamweir.errors import ConfigurationError
from streamweir_gateway.config import GatewayConfig

pytestmark = pytest.mark.anyio

EVIL = "https://evil.example"


def without_keys(url: str = "http://127.0.0.1:9", **file: Any) -> GatewayConfig:
    return settled(
        endpoints={"/chat": {"upstream": url, "speaks": "legacy", "methods": ["GET", "POST"]}}, **file
    )


async def sent(
    running: Gateway, headers: list[tuple[str, str]], *, method: str = "POST", target: str = "/chat"
) -> tuple[int, str]:
    """Send a request with exactly these headers; return the status and the text of the answer."""
    head = "".join(f"{name}: {value}\r\n" for name, value in headers)
    async with client(running) as connected, asyncio.timeout(PROMPTLY):
        connected.writer.write(
            f"{method} {target} HTTP/1.1\r\n{head}Content-Length: 0\r\nConnection: close\r\n\r\n".encode()
        )
        answer = (await connected.reader.read()).decode()
    return int(answer.split(" ", 2)[1]), answer


def page(origin: str, host: str = "127.0.0.1:8080") -> list[tuple[str, str]]:
    return [("Host", host), ("Origin", origin), ("Sec-Fetch-Site", "cross-site")]


@pytest.mark.parametrize(
    "headers",
    [
        [("Host", "127.0.0.1:8080")],
        [("Host", "any.name.example")],
        page("http://localhost:3000"),
        page("https://LOCALHOST"),
        page("http://app.localhost:5173"),
        page("http://127.0.0.1:8080"),
        page("http://127.9.9.9"),
        page("http://[::1]:9"),
        [("Host", "localhost:8080"), ("Sec-Fetch-Site", "none")],
        [("Host", "[::1]:8080"), ("Sec-Fetch-Site", "same-origin")],
    ],
)
async def test_programs_and_pages_of_this_machine_are_served(headers: list[tuple[str, str]]) -> None:
    async with upstream(WHOLE) as server, gateway(without_keys(server.url)) as running:
        assert (await sent(running, headers))[0] == 200


@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
@pytest.mark.parametrize("target", ["/chat", "/nothing", "/metrics", "/healthz"])
@pytest.mark.parametrize(
    "headers",
    [
        page(EVIL),
        page("null"),
        page("file://"),
        page("http://127.0.0.1.evil.example"),
        page("http://localhost.evil.example"),
        page("http://evil.example:8080", host="evil.example:8080"),
        page("http://[::2]"),
        page("http://127.0.0.1:8080/"),
        [*page("http://127.0.0.1:8080"), ("Origin", EVIL)],
        [("Host", "evil.example:8080"), ("Sec-Fetch-Site", "same-origin")],
        [("Host", "127.0.0.1.evil.example"), ("Sec-Fetch-Site", "none")],
    ],
    ids=lambda headers: " ".join(f"{name}={value}" for name, value in headers),
)
async def test_pages_of_strangers_are_refused_before_anything_else(
    headers: list[tuple[str, str]], method: str, target: str
) -> None:
    asking = [("Access-Control-Request-Method", "POST")] if method == "OPTIONS" else []
    async with gateway(without_keys()) as running:
        status, answer = await sent(running, [*headers, *asking], method=method, target=target)
        (line,) = running.log.lines
    assert status == 403
    assert '"code":"FORBIDDEN"' in answer
    assert "auth.keys" in answer
    assert (line["code"], line["client"]) == ("FORBIDDEN", "127.0.0.1")


async def test_refusal_of_a_foreign_page_names_the_key_to_set() -> None:
    async with gateway(without_keys()) as running:
        _, named = await sent(running, page(EVIL))
        _, rebound = await sent(running, [("Host", "evil.example"), ("Sec-Fetch-Site", "same-origin")])
        _, odd = await sent(running, page('x"><script>'))
    assert f"cors: {{origins: ['{EVIL}']}}" in named
    assert "127.0.0.1" in rebound
    assert "script" not in odd


async def test_origins_that_are_named_are_let_in() -> None:
    async with upstream(WHOLE) as server:
        config = without_keys(server.url, cors={"origins": [EVIL]})
        async with gateway(config) as running:
            status, answer = await sent(running, page(EVIL))
            other, refusal = await sent(running, page("https://other.example"))
    assert status == 200
    assert f"access-control-allow-origin: {EVIL}" in answer
    assert other == 403
    assert "vary: Origin" in refusal


@pytest.mark.parametrize(
    "headers", [page(EVIL), page("null"), [("Host", "x.example"), ("Sec-Fetch-Site", "none")]]
)
async def test_any_origin_lets_all_in(headers: list[tuple[str, str]]) -> None:
    async with (
        upstream(WHOLE) as server,
        gateway(without_keys(server.url, cors={"origins": ["*"]})) as running,
    ):
        assert (await sent(running, headers))[0] == 200


async def test_host_behind_a_trusted_proxy_is_not_checked() -> None:
    async with upstream(WHOLE) as server:
        config = without_keys(server.url, server={"trusted_proxies": ["127.0.0.0/8"]})
        async with gateway(config) as running:
            assert (await sent(running, page(EVIL)))[0] == 200


async def test_open_gateway_on_another_address_serves_its_own_origin() -> None:
    async with upstream(WHOLE) as server:
        config = without_keys(server.url, auth="open", listen="gateway.example:80")
        async with gateway(config) as running:
            port = running.address[1]
            assert (await sent(running, page(f"http://Gateway.example:{port}")))[0] == 200
            assert (await sent(running, page("http://gateway.example:1")))[0] == 403
            assert (await sent(running, page(EVIL)))[0] == 403


async def test_foreign_page_with_a_key_is_served() -> None:
    async with upstream(WHOLE) as server:
        config = without_keys(server.url, auth={"keys": {"web": "a-key-of-the-web"}})
        async with gateway(config) as running:
            assert (await sent(running, page(EVIL)))[0] == 401
            assert (await sent(running, [*page(EVIL), ("X-Api-Key", "a-key-of-the-web")]))[0] == 200


def before_service(url: str, **file: Any) -> GatewayConfig:
    return settled(endpoints={"/old/*": {"upstream": url, "speaks": "legacy", "relay": "all"}}, **file)


@pytest.mark.parametrize(
    ("host", "more", "status"),
    [
        ("evil.example:8080", [("Sec-Fetch-Site", "same-origin")], 403),
        ("127.0.0.1.evil.example", [("Sec-Fetch-Site", "none")], 403),
        ("localhost.evil.example", [("sec-fetch-site", "cross-site")], 403),
        ("agents.example", [("Sec-Fetch-Site", "same-origin")], 200),
        ("AGENTS.example.:8080", [("Sec-Fetch-Site", "same-origin")], 200),
        ("x.agents.example", [("Sec-Fetch-Site", "same-origin")], 403),
        ("192.0.2.7:8080", [("Sec-Fetch-Site", "same-origin")], 200),
        ("[2001:db8::1]:8080", [("Sec-Fetch-Site", "same-origin")], 200),
        ("localhost:8080", [("Sec-Fetch-Site", "cross-site")], 200),
        ("evil.example", [("Sec-Fetch-Site", "same-origin"), ("Origin", "http://evil.example")], 200),
        ("evil.example", [], 200),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("limited", [False, True], ids=["at once", "by a task"])
async def test_relayed_service_under_a_foreign_host_is_refused(
    host: str, more: list[tuple[str, str]], status: int, method: str, limited: bool
) -> None:
    """The service is sent its own Host: it cannot tell. What has an `Origin` it judges itself."""
    page_of_service = answer(b"<html>", "Content-Type: text/html")
    options = {"rate_limit": "1000/minute"} if limited else {}
    async with upstream(page_of_service) as server:
        config = before_service(server.url, server={"hosts": ["agents.example"]}, **options)
        async with gateway(config) as running:
            got, text = await sent(running, [("Host", host), *more], method=method, target="/old/page")
    assert got == status
    assert len(server.calls) == (status == 200)
    assert status == 200 or "hosts" in text


@pytest.mark.parametrize(
    "file",
    [
        {"auth": {"keys": {"web": "key-of-web-0001"}}},
        {"cors": {"origins": ["*"]}},
        {"server": {"trusted_proxies": ["127.0.0.1"]}},
    ],
    ids=["keys", "any origin", "a trusted proxy"],
)
async def test_pages_reach_a_service_where_something_else_judges_them(file: dict[str, Any]) -> None:
    headers = [("Host", "evil.example"), ("Sec-Fetch-Site", "none"), ("X-Api-Key", "key-of-web-0001")]
    async with (
        upstream(answer(b"<html>", "Content-Type: text/html")) as server,
        gateway(before_service(server.url, **file)) as running,
    ):
        assert (await sent(running, headers, method="GET", target="/old/page"))[0] == 200


async def test_names_in_server_hosts_are_the_gateways_own() -> None:
    served = [("Host", "agents.example"), ("Sec-Fetch-Site", "same-origin")]
    named = {"hosts": ["agents.example"]}
    async with upstream(WHOLE) as server, gateway(without_keys(server.url, server=named)) as running:
        assert (await sent(running, served))[0] == 200
        assert (await sent(running, [("Host", "other.example"), *served[1:]]))[0] == 403


@pytest.mark.parametrize("name", ["http://a.example", "a.example:80", "10.0.0.1", "[::1]", "", "a b", "a/b"])
def test_server_hosts_entry_that_is_no_host_name_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"server\.hosts"):
        without_keys(server={"hosts": [name]})
