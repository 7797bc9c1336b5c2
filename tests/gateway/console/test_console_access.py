"""Access to the console: each rule, over real HTTP."""

import asyncio
import os
import socket
import subprocess
from pathlib import Path

import pytest

from command_line import COMMAND
from console_client import API, TOKEN, Console, console_of
from loopback import Answer
from patience import PATIENCE
from running_gateway import running_gateway
from streamweir.codec.dialects import Dialects

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(os.name == "nt", reason="Unix sockets")]

DEMO = {"/legacy": {"upstream": "demo:legacy", "speaks": "legacy"}}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
VIEWS = ["/", "/streams/abc-1", "/playground", "/config", "/dialects"]


def assert_guarded(answer: Answer, *, is_api: bool) -> None:
    headers = dict(answer.headers)
    assert headers["content-security-policy"] == POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert not [name for name in headers if name.startswith("access-control-") or name == "set-cookie"]
    if is_api:
        assert headers["cache-control"] == "no-store"


async def code_of(console: Console, target: str, **options: object) -> tuple[int, str | None]:
    answer = await console.request(target, **options)  # type: ignore[arg-type]
    assert_guarded(answer, is_api=target.startswith("/api/"))
    return answer.status, answer.json["error"]["code"] if answer.status >= 400 else None


async def test_console_answers_follow_each_rule_of_access(tmp_path: Path) -> None:
    async with console_of(tmp_path, endpoints=DEMO, console={"hosts": ["console.example"]}) as console:
        port = console.at.address[1]
        info = API + "info"
        for view in VIEWS:
            page = await console.request(view, token=None)
            assert (page.status, page.header("content-type")) == (200, "text/html; charset=utf-8")
            assert_guarded(page, is_api=False)
            assert TOKEN.encode() not in page.body
        for host in (f"localhost:{port}", f"[::1]:{port}", "192.0.2.7", "console.example:1", "LOCALHOST"):
            assert await code_of(console, info, host=host) == (200, None), host
        for host in (
            "evil.example",
            f"evil.example:{port}",
            "",
            "127.0.0.1.evil.example",
            "a b",
            "localhost.x",
        ):
            for target in (info, "/"):
                assert await code_of(console, target, host=host) == (403, "FORBIDDEN"), host
        for origin, expected in (
            (f"http://{console.host}", 200),
            (f"https://{console.host}", 200),
            ("http://evil.example", 403),
            ("null", 403),
            ("http://127.0.0.1:1", 403),
        ):
            for target in (info, "/"):
                assert (await code_of(console, target, headers=[("Origin", origin)]))[0] == expected, origin
        for site, expected in (("none", 200), ("same-origin", 200), ("same-site", 403), ("cross-site", 403)):
            assert (await code_of(console, info, headers=[("Sec-Fetch-Site", site)]))[0] == expected
        assert (await console.request("/", headers=[("Sec-Fetch-Site", "cross-site")])).status == 200
        assert await code_of(console, info, token=None) == (401, "UNAUTHENTICATED")
        assert await code_of(console, f"{info}?token={TOKEN}", token=None) == (401, "UNAUTHENTICATED")
        cookie = [("Cookie", f"token={TOKEN}")]
        assert await code_of(console, info, token=None, headers=cookie) == (401, "UNAUTHENTICATED")
        assert (await console.request(info, "OPTIONS", token=None)).status == 401
        assert (await console.request(info, "POST")).status == 405
        assert (await console.request("/", "POST", body=b"{}")).status == 405
        for path in ("/nothing", "/assets/../../api.py", "/..%2f..%2fapi.py", f"{API}nothing"):
            assert (await console.request(path)).status == 404, path


async def test_ten_wrong_tokens_make_further_ones_429_and_leave_the_right_one(tmp_path: Path) -> None:
    async with console_of(tmp_path, endpoints=DEMO) as console:
        for number in range(10):
            assert (await code_of(console, API + "info", token=f"wrong-{number}"))[0] == 401
        assert await code_of(console, API + "info", token="wrong-again") == (429, "RATE_LIMITED")
        assert (await code_of(console, API + "info"))[0] == 200
        assert (await code_of(console, API + "info", token=None))[0] == 401


async def test_malformed_requests_get_the_headers_of_every_answer(tmp_path: Path) -> None:
    async with console_of(tmp_path, endpoints=DEMO) as console:
        answer = await console.request("/ bad", token=None)
        assert answer.status == 400
        assert_guarded(answer, is_api=True)


async def test_token_is_made_at_each_start_where_the_file_has_none(tmp_path: Path) -> None:
    tokens = set()
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        async with running_gateway(
            folder, "--console", endpoints=DEMO, console={"listen": "127.0.0.1:0"}
        ) as running:
            await running.ready()
            from console_client import opened

            console = await opened(running)
            assert (await console.get("info"))["api"] == 1
            tokens.add(console.token)
    assert len(tokens) == 2
    assert all(len(token) >= 20 for token in tokens)


def test_console_that_cannot_listen_starts_nothing(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        file = tmp_path / "config.yaml"
        file.write_text(
            f"listen: 127.0.0.1:0\nconsole: {{listen: '127.0.0.1:{port}'}}\n"
            "endpoints: {/legacy: {upstream: 'demo:legacy', speaks: legacy}}\n"
        )
        ended = subprocess.run(
            [*COMMAND, "serve", str(file)], capture_output=True, text=True, timeout=60, check=False
        )
    assert ended.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}" in ended.stderr
    assert ended.stdout == ""


def test_console_for_others_without_a_token_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(
        "console: {listen: '0.0.0.0:0'}\nendpoints: {/legacy: {upstream: 'demo:legacy', speaks: legacy}}\n"
    )
    ended = subprocess.run(
        [*COMMAND, "serve", str(file)], capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 78
    assert "console.token" in ended.stderr


async def test_info_has_a_sample_for_endpoints_of_every_dialect(tmp_path: Path) -> None:
    names = Dialects.built_in().readable
    endpoints = {f"/{name}": {"upstream": "http://127.0.0.1:9", "speaks": name} for name in names}
    async with console_of(tmp_path, endpoints=endpoints) as console:
        found = (await console.get("info"))["endpoints"]
    assert len(found) == len(names)
    for endpoint in found:
        assert all(sample["body"] for sample in endpoint["samples"].values())


LOOK_LIKE_ADDRESSES = (
    *("localhost.", "console.example.", "127.1", "0x7f.1", "2130706433", "127.0.0.1:", "localhost:80:80"),
    *("user@localhost", "localhost/evil", "127.0.0.1.nip.io", "[::1", "::1", "1.2.3.4, evil", "*", "[evil]"),
)


async def test_hosts_that_look_like_addresses_are_refused(tmp_path: Path) -> None:
    async with console_of(tmp_path, endpoints=DEMO, console={"hosts": ["console.example"]}) as console:
        for host in ("[::ffff:127.0.0.1]:80", "console.EXAMPLE:99", "10.0.0.1"):
            assert await code_of(console, API + "info", host=host) == (200, None), host
        for host in LOOK_LIKE_ADDRESSES:
            assert await code_of(console, "/", host=host) == (403, "FORBIDDEN"), host


async def test_other_methods_get_405_with_the_headers_of_every_answer(tmp_path: Path) -> None:
    async with console_of(tmp_path, endpoints=DEMO) as console:
        for name in ("info", "streams", "streams/x", "feed", "plots", "config", "dialects"):
            for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"):
                answer = await console.request(API + name, method)
                assert (answer.status, answer.header("allow")) == (405, "GET"), name
                assert_guarded(answer, is_api=True)
        assert (await console.request(API + "playground")).header("allow") == "POST"


async def test_schemes_and_places_of_the_token_other_than_bearer_are_refused(tmp_path: Path) -> None:
    async with console_of(tmp_path, endpoints=DEMO) as console:
        given = [("Authorization", f"bearer {TOKEN}")]
        assert (await console.request(API + "info", token=None, headers=given)).status == 200
        for name, value in (
            ("Authorization", f"Basic {TOKEN}"),
            ("Authorization", TOKEN),
            ("X-Api-Key", TOKEN),
            ("Authorization", f"Bearer {TOKEN}x"),
            ("Authorization", "Bearer"),
            ("Authorization", "Bearer \xff"),
        ):
            answer = await console.request(API + "info", token=None, headers=[(name, value)])
            assert answer.status == 401, value
            assert_guarded(answer, is_api=True)


async def test_parameters_that_are_no_numbers_get_400_with_a_clear_text(tmp_path: Path) -> None:
    digits = "9" * 5000
    async with console_of(tmp_path, endpoints=DEMO) as console:
        for query, text in (
            ("streams?limit=-1", "limit must be a whole number."),
            ("streams?limit=1e3", "limit must be a whole number."),
            ("streams?limit=%D9%A1", "limit must be a whole number."),
            (f"streams?limit={digits}", "limit must be a whole number."),
            ("streams?state=gone", "state must be one of waiting, streaming, detached, ended, refused."),
            ("feed?since=x", "since must be a whole number."),
            (f"feed?since={digits}", "since must be a whole number."),
        ):
            answer = await console.request(API + query)
            assert (answer.status, answer.json["error"]["message"]) == (400, text), query
        for query in (
            "streams?limit=99999",
            "streams?before=gone",
            f"streams?before={digits}",
            "streams?q=%ff",
        ):
            assert (await console.request(API + query)).status == 200, query
        assert (await console.request(API + "feed?stream=gone")).status == 404


async def test_nested_playground_request_is_sent_or_gets_400(tmp_path: Path) -> None:
    own = [("Content-Type", "application/json")]
    async with console_of(tmp_path, endpoints=DEMO) as console:
        for depth in (985, 995, 100_000):
            nested = b"[" * depth + b"]" * depth
            for part in (b'"body": %s', b'"query": {"a": %s}', b'"path": {"a": %s}'):
                body = b'{"endpoint": "%s", %s}' % (next(iter(DEMO)).encode(), part % nested)
                answer = await console.request(API + "playground", "POST", headers=own, body=body)
                assert answer.status in (200, 400, 431), (depth, part, answer.body)
                assert_guarded(answer, is_api=True)
        assert not [line for line in console.running.told if line["level"] == "error"]


async def test_paths_outside_the_built_page_are_not_found(tmp_path: Path) -> None:
    async with console_of(tmp_path, endpoints=DEMO) as console:
        for path in (
            *("/../x", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/assets/", "/..", "/\\..\\x", "/%00"),
            *("/streams/a/b", "/" + "x" * 5000, "/" + "x/" * 2000),
        ):
            answer = await console.request(path, token=None)
            assert answer.status == 404, path
            assert_guarded(answer, is_api=False)


async def test_connections_without_a_whole_head_hold_up_no_viewer(tmp_path: Path) -> None:
    async with console_of(tmp_path, endpoints=DEMO) as console:
        slow = [await asyncio.open_connection(*console.at.address) for _ in range(60)]
        for _, writer in slow:
            writer.write(b"GET / HTTP/1.1\r\nHost: local")
        assert (await console.request(API + "info")).status == 200
        for _, writer in slow:
            writer.transport.abort()
        answer = await console.request("/", headers=[("X", "y" * 100_000)], token=None)
        assert answer.status in (413, 431)
        assert_guarded(answer, is_api=True)


async def test_body_that_is_too_large_by_its_length_is_refused_before_it_comes(tmp_path: Path) -> None:
    length = [("Content-Length", str(1 << 40))]
    targets = {
        "playground": 413,
        **dict.fromkeys(("info", "streams", "streams/x", "streams/x/capture", "feed", "plots"), 405),
        **dict.fromkeys(("config", "dialects", "playground/events"), 405),
        "nothing": 404,
    }
    async with console_of(tmp_path, endpoints=DEMO) as console:
        for target, status in targets.items():
            for more in ([], [("Expect", "100-continue")]):
                answer = await console.request(API + target, "POST", headers=[*length, *more])
                assert answer.status == status, target
                assert_guarded(answer, is_api=True)
        answer = await console.request(API + "playground", "POST", headers=length, token="wrong")
        assert answer.status == 401


@pytest.mark.parametrize("is_announced", [True, False])
async def test_body_that_is_too_large_gets_its_refusal_though_the_client_sends_all_of_it(
    tmp_path: Path, is_announced: bool
) -> None:
    """The client reads after its last byte, as `http.client` and most others do."""
    size = 14 << 20
    async with console_of(tmp_path, endpoints=DEMO) as console:
        reader, writer = await asyncio.open_connection(*console.at.address)
        head = console.head("POST", API + "playground").removesuffix(b"\r\n")
        if is_announced:
            writer.write(head + b"Content-Length: %d\r\n\r\n" % size)
            writer.write(bytes(size))
        else:
            writer.write(head + b"Transfer-Encoding: chunked\r\n\r\n")
            for _ in range(size >> 16):
                writer.write(b"10000\r\n" + bytes(1 << 16) + b"\r\n")
        async with asyncio.timeout(PATIENCE):
            await writer.drain()
            while writer.transport.get_write_buffer_size():  # noqa: ASYNC110 - no event below the drain's limit
                await asyncio.sleep(0.01)
            answer = await reader.read()
        writer.close()
        assert answer.startswith(b"HTTP/1.1 413 ")
        assert b'"REQUEST_TOO_LARGE"' in answer
