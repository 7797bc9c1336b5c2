"""A request goes to the upstream as configured, and its stream comes back in the standard protocol."""

import asyncio
import json
import re

import pytest

from loopback import ask, client, gateway, one_endpoint, relayed, settled
from patience import PROMPTLY
from scripted_upstream import CLOSE_DELIMITED, HELLO, LAST_CHUNK, SSE, WHOLE, Call, answer, chunk, upstream

pytestmark = pytest.mark.anyio


async def test_stream_is_returned_in_the_standard_protocol() -> None:
    got = (await relayed(WHOLE)).assert_valid()
    assert (got.status, got.text, got.end["reason"]) == (200, "Hello", "done")


async def test_each_upstream_event_leaves_at_once() -> None:
    async def slowly(call: Call) -> None:
        await call.send(SSE, *map(chunk, HELLO), LAST_CHUNK, pause=0.1)

    got = (await relayed(slowly)).assert_valid()
    assert len(got.pieces) == 3
    assert got.times[1] - got.times[0] > 0.05


async def test_one_read_is_one_send() -> None:
    burst = b"".join(b'data: {"type": "token", "content": "%d "}\n\n' % number for number in range(1000))
    got = (await relayed(answer(burst + HELLO[-1]))).assert_valid()
    assert got.text == "".join(f"{number} " for number in range(1000))
    assert len(got.pieces) < 20


async def test_upstream_that_writes_single_bytes_gives_the_whole_text() -> None:
    async def dripping(call: Call) -> None:
        await call.send(CLOSE_DELIMITED)
        for byte in b"".join(HELLO):
            await call.send(bytes([byte]), pause=0.0005)

    got = (await relayed(dripping)).assert_valid()
    assert got.text == "Hello"


@pytest.mark.slow
async def test_body_ends_with_the_final_event_on_an_open_upstream() -> None:
    async def goes_on(call: Call) -> None:
        await call.send(SSE, *map(chunk, HELLO), chunk(b'data: {"type": "token", "content": "late"}\n\n'))
        await call.until_closed()

    async with upstream(goes_on) as server, gateway(one_endpoint(server.url)) as running:
        async with asyncio.timeout(PROMPTLY):
            got = (await ask(running)).assert_valid()
            await server.call.closed.wait()
    assert got.text == "Hello"


async def test_connections_are_used_again() -> None:
    async def twice(call: Call) -> None:
        await call.send(WHOLE)
        await call.read_request()
        await call.send(WHOLE)

    async with upstream(twice) as server, gateway(one_endpoint(server.url)) as running:
        (await ask(running)).assert_valid()
        await asyncio.sleep(0.05)
        got = (await ask(running)).assert_valid()
    assert got.text == "Hello"


# --- the request to the upstream ----------------------------------------------------------------------------


async def call_of(*, options: dict[str, object] | None = None, path: str = "", **request: object) -> Call:
    async with upstream(WHOLE) as server:
        async with gateway(one_endpoint(server.url + path, **(options or {}))) as running:
            (await ask(running, **request)).assert_valid()  # type: ignore[arg-type]
        return server.call


async def test_body_and_its_type_are_forwarded() -> None:
    call = await call_of(body=b'{"q": 1}', headers=[("Content-Type", "application/json; charset=utf-8")])
    assert (call.method, call.target, call.body) == ("POST", "/", b'{"q": 1}')
    assert call.header("content-type") == "application/json; charset=utf-8"


async def test_large_bodies_are_forwarded_whole() -> None:
    body = bytes(range(256)) * (3 << 12)
    assert (await call_of(body=body)).body == body


async def test_configured_headers_are_the_only_ones_forwarded() -> None:
    call = await call_of(
        options={"forward_headers": ["Accept-Language"], "headers": {"X-Ours": "yes"}},
        headers=[
            ("Accept-Language", "de"),
            ("Authorization", "Bearer client"),
            ("Cookie", "a=b"),
            ("X-Other", "no"),
            ("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"),
            ("X-Request-Id", "mine"),
        ],
    )
    assert {name for name, _ in call.headers} == {
        "host", "user-agent", "accept", "accept-encoding", "accept-language", "x-ours", "traceparent",
        "x-request-id", "content-length", "via",
    }  # fmt: skip
    assert call.header("x-request-id") == "mine"
    assert call.header("accept-encoding") == "identity"
    assert (call.header("accept") or "").startswith("text/event-stream")


async def test_configured_headers_win_over_the_clients() -> None:
    call = await call_of(
        options={"forward_headers": ["Authorization"], "headers": {"authorization": "Bearer ours"}},
        headers=[("Authorization", "Bearer client")],
    )
    assert [value for name, value in call.headers if name == "authorization"] == ["Bearer ours"]


async def test_credentials_in_the_url_become_a_header() -> None:
    async with upstream(WHOLE) as server:
        url = server.url.replace("http://", "http://us%40er:pass@")
        async with gateway(one_endpoint(url)) as running:
            (await ask(running)).assert_valid()
            assert "pass" not in json.dumps(running.log.lines)
    assert server.call.header("authorization") == "Basic dXNAZXI6cGFzcw=="


async def test_query_of_the_url_is_sent_as_it_is_written() -> None:
    call = await call_of(path='/a%2Fb/c?x=\'|%2f+%20&y="z"')
    assert call.target == '/a%2Fb/c?x=\'|%2f+%20&y="z"'


async def test_configured_query_parameters_are_the_only_ones_forwarded() -> None:
    call = await call_of(
        options={"forward_query": ["a b", "lang"]}, path="/p?k=v", target="/chat?lang=d%2fe&x=1&a+b=2&lang=f"
    )
    assert call.target == "/p?k=v&lang=d%2fe&a+b=2&lang=f"


@pytest.mark.parametrize(
    "query", ["lang=x;admin=1", "lang=x;lang;admin=1", "lang=;&admin=1", "lang;admin=1&lang=x"]
)
async def test_forwarded_query_parameter_stays_one_parameter(query: str) -> None:
    """Some servers end a parameter at a semicolon."""
    call = await call_of(options={"forward_query": ["lang"]}, target=f"/chat?{query}")
    pieces = re.split("[&;]", call.target.partition("?")[2])
    assert {piece.partition("=")[0] for piece in pieces} == {"lang"}


async def test_names_in_the_path_are_filled_in_percent_encoded() -> None:
    async with upstream(WHOLE) as server:
        config = settled(
            endpoints={
                "/support/{agent}/chat": {
                    "upstream": server.url + "/api",
                    "path": "/agents/{agent}/run?stream=true",
                    "speaks": "legacy",
                }
            }
        )
        async with gateway(config) as running:
            (await ask(running, target="/support/a%20b%3F%C3%BC/chat")).assert_valid()
    assert server.call.target == "/api/agents/a%20b%3F%C3%BC/run?stream=true"


@pytest.mark.parametrize(
    ("name", "reason"), [("generate-report-chat", "done"), ("data-loading-chat", "truncated")]
)
@pytest.mark.parametrize("speaks", ["data-formulator", "auto"])
async def test_name_in_the_path_decides_the_form_of_the_stream(name: str, reason: str, speaks: str) -> None:
    text = b'{"type": "text_delta", "content": "West leads."}\n'
    async with upstream(
        SSE.replace(b"text/event-stream", b"application/x-ndjson") + chunk(text) + LAST_CHUNK
    ) as server:
        endpoint = {"upstream": server.url, "path": "/api/agent/{ep}", "speaks": speaks}
        async with gateway(settled(endpoints={"/df/{ep}": endpoint})) as running:
            got = (await ask(running, target=f"/df/{name}")).assert_valid()
    assert got.end["reason"] == reason
    assert b"END_UNCONFIRMED" not in got.body


@pytest.mark.parametrize(
    "name", [".", "..", "%2e%2e", "", "a/b", "a%2f..", "a%2f%2fb", "a%252f..%252fb", "%2fa"]
)
async def test_name_that_leads_to_another_path_is_404(name: str) -> None:
    endpoint = {"upstream": "http://127.0.0.1:9", "path": "/agents/{agent}/run", "speaks": "legacy"}
    async with gateway(settled(endpoints={"/support/{agent}/chat": endpoint})) as running:
        got = await ask(running, target=f"/support/{name}/chat")
    assert (got.status, got.json["error"]["code"]) == (404, "ENDPOINT_NOT_FOUND")


async def test_coded_slash_in_a_name_stays_a_part_of_it() -> None:
    async with upstream(WHOLE) as server:
        endpoint = {"upstream": server.url, "path": "/agents/{agent}/run", "speaks": "legacy"}
        async with gateway(settled(endpoints={"/support/{agent}/chat": endpoint})) as running:
            got = await ask(running, target="/support/a%2Fb%20c/chat")
    assert got.status == 200
    assert server.call.target == "/agents/a%2Fb%20c/run"


PATTERNS: dict[str, object] = {"forward_headers": ["X-*", "*"], "headers": {"X-Ours": "yes"}}


async def test_pattern_covers_names_but_no_credentials_and_nothing_of_the_connection() -> None:
    never = [
        *("Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key", "Forwarded", "X-Forwarded-For"),
        *("X-Real-Ip", "Last-Event-ID", "TE", "Keep-Alive", "Accept-Encoding"),
    ]
    sent = [(name, "hidden") for name in never]
    sent += [("X-Tenant-Id", "7"), ("Accept-Language", "de"), ("X-Ours", "no"), ("x_forwarded_for", "hidden")]
    sent += [("X-Of-This-Hop", "hidden"), ("Connection", "x-of-this-hop")]
    call = await call_of(options=PATTERNS, headers=sent)
    assert call.header("x-tenant-id") == "7"
    assert call.header("accept-language") == "de"
    assert [value for name, value in call.headers if name == "x-ours"] == ["yes"]
    assert "hidden" not in {value for _, value in call.headers}


async def test_pattern_of_response_headers_leaves_ours_alone() -> None:
    extra = (
        b"Set-Cookie: a=b\r\nServer: x\r\nX-Tenant: 7\r\nX-Request-Id: theirs\r\nVary: Cookie\r\nETag: e\r\n"
    )
    script = WHOLE.replace(b"\r\n", b"\r\n" + extra, 1)
    got = await relayed(script, forward_response_headers=["X-*", "etag*"])
    headers = dict(got.headers)
    assert (headers["x-tenant"], headers["etag"]) == ("7", "e")
    assert "set-cookie" not in headers
    assert headers["x-request-id"] != "theirs"
    assert len(got.headers) == len(headers), "no header is there twice"


# --- the response -------------------------------------------------------------------------------------------


async def test_response_has_the_headers_of_a_stream() -> None:
    got = (await relayed(WHOLE)).assert_valid()
    headers = dict(got.headers)
    assert headers["content-type"] == "text/event-stream; charset=utf-8"
    assert headers["cache-control"] == "no-cache, no-transform"
    assert headers["x-accel-buffering"] == "no"
    assert headers["content-encoding"] == "identity"
    assert headers["x-request-id"] == got.events[0]["metadata"]["request_id"]
    assert "server" not in headers


async def test_configured_response_headers_are_the_only_ones_returned() -> None:
    head = SSE.replace(b"\r\n\r\n", b"\r\nX-Cost: 3\r\nX-Cost: 4\r\nX-Other: 1\r\nSet-Cookie: a=b\r\n\r\n")
    script = head + b"".join(map(chunk, HELLO)) + LAST_CHUNK
    got = (await relayed(script, forward_response_headers=["x-cost"])).assert_valid()
    assert [value for name, value in got.headers if name == "x-cost"] == ["3", "4"]
    assert not {"x-other", "set-cookie"} & {name for name, _ in got.headers}


@pytest.mark.parametrize("odd", [b"a\x01b", b"a\0b", b"\x0b", b"a\x7f", b"a\x1b[31m"])
async def test_response_header_that_cannot_be_written_is_left_out(odd: bytes) -> None:
    head = SSE.replace(b"\r\n\r\n", b"\r\nX-Cost: %b\r\nX-Cost: a\t1\r\n\r\n" % odd)
    script = head + b"".join(map(chunk, HELLO)) + LAST_CHUNK
    got = (await relayed(script, forward_response_headers=["X-Cost"])).assert_valid()
    assert got.text == "Hello"
    assert [value for name, value in got.headers if name == "x-cost"] == ["a\t1"]


async def test_cookies_of_one_request_are_not_sent_with_the_next() -> None:
    head = SSE.replace(b"\r\n\r\n", b"\r\nSet-Cookie: session=1; Path=/\r\n\r\n")

    async def setting(call: Call) -> None:
        await call.send(head, *map(chunk, HELLO), LAST_CHUNK)

    async with upstream(setting) as server, gateway(one_endpoint(server.url)) as running:
        await ask(running)
        await asyncio.sleep(0.05)
        await ask(running)
    assert [call.header("cookie") for call in server.calls] == [None, None]


@pytest.mark.parametrize("given", ["abc", "a.b_c:d-e", "x" * 128])
async def test_valid_request_id_is_kept(given: str) -> None:
    got = (await relayed(WHOLE, headers=[("X-Request-Id", given)])).assert_valid()
    assert got.header("x-request-id") == given
    assert {event["metadata"]["request_id"] for event in got.events} == {given}


@pytest.mark.parametrize("given", [[""], ["a b"], ["x" * 129], ["a/b"], ["a", "b"]])
async def test_any_other_request_id_is_replaced(given: list[str]) -> None:
    headers = [("X-Request-Id", value) for value in given]
    got = (await relayed(WHOLE, headers=headers)).assert_valid()
    assert (got.header("x-request-id") or "").startswith("req_")


async def test_injected_warnings_come_first() -> None:
    warning = {"message": "This service moves.", "message_code": "DEPRECATED"}
    got = (await relayed(WHOLE, warnings=[warning])).assert_valid()
    assert got.events[1]["data"] == warning


async def test_finished_request_is_one_log_line() -> None:
    async with upstream(WHOLE) as server, gateway(one_endpoint(server.url)) as running:
        got = await ask(running, headers=[("X-Request-Id", "r1")])
        line = await running.log.next_line()
        assert len(running.log.lines) == 1
    assert line["request_id"] == "r1"
    assert (line["endpoint"], line["upstream"], line["method"]) == ("/chat", server.url, "POST")
    assert (line["speaks"], line["answers"], line["framing"]) == ("legacy", "standard", "sse")
    assert (line["status"], line["reason"], line["events"]) == (200, "done", len(got.events))
    assert (line["bytes_in"], line["bytes_out"]) == (sum(map(len, HELLO)), len(got.body))
    assert line["duration_ms"] >= line["first_event_ms"] > 0


# --- what the client asks for -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("accept", "framing"),
    [
        ("text/event-stream", "sse"),
        ("application/x-ndjson", "ndjson"),
        ("application/json", "json"),
        ("*/*", "sse"),
        ("text/html", "sse"),
    ],
)
async def test_accept_chooses_the_framing(accept: str, framing: str) -> None:
    got = (await relayed(WHOLE, headers=[("Accept", accept)])).assert_valid()
    assert got.framing == framing


async def test_endpoint_chooses_the_framing_if_accept_leaves_it_open() -> None:
    assert (await relayed(WHOLE, framing="ndjson")).assert_valid().framing == "ndjson"


async def test_protocol_header_chooses_the_protocol() -> None:
    got = await relayed(WHOLE, answers=["standard", "legacy"], headers=[("X-Streamweir-Protocol", "legacy")])
    assert b'"token"' in got.body


async def test_unknown_protocol_in_the_header_is_refused() -> None:
    got = await relayed(WHOLE, headers=[("X-Streamweir-Protocol", "legacy")])
    assert (got.status, got.json["error"]["code"], got.json["error"]["retry"]) == (400, "BAD_REQUEST", False)


@pytest.mark.parametrize(("query", "type_"), [("legacy", b'"token"'), ("other", b'"content"')])
async def test_query_chooses_the_protocol_if_it_is_offered(query: str, type_: bytes) -> None:
    async with (
        upstream(WHOLE) as server,
        gateway(one_endpoint(server.url, answers=["standard", "legacy"])) as running,
    ):
        got = await ask(running, target=f"/chat?protocol={query}")
    assert type_ in got.body


async def test_folded_answer_is_one_json_object() -> None:
    got = (await relayed(WHOLE, headers=[("Accept", "application/json")])).assert_valid()
    assert (got.status, got.json["message"]["content"], got.json["error"]) == (200, "Hello", None)
    assert got.json["request_id"] == got.header("x-request-id")


async def test_folded_answer_that_broke_off_is_still_an_answer() -> None:
    got = (await relayed(SSE + chunk(HELLO[0]), headers=[("Accept", "application/json")])).assert_valid()
    assert (got.status, got.json["error"]["code"]) == (200, "UPSTREAM_TRUNCATED")


async def test_folded_failure_has_a_status() -> None:
    script = answer(b"", "Retry-After: 7", status="429 Too Many Requests")
    got = (await relayed(script, headers=[("Accept", "application/json")])).assert_valid()
    assert (got.status, got.json["error"]["code"]) == (429, "RATE_LIMITED")
    assert got.header("retry-after") == "7"


# --- requests that never reach an upstream ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "target", "status", "code"),
    [
        ("POST", "/nowhere", 404, "ENDPOINT_NOT_FOUND"),
        ("POST", "/chat/", 404, "ENDPOINT_NOT_FOUND"),
        ("GET", "/chat", 405, "METHOD_NOT_ALLOWED"),
        ("DELETE", "/healthz", 405, "METHOD_NOT_ALLOWED"),
    ],
)
async def test_refusals_are_an_envelope(method: str, target: str, status: int, code: str) -> None:
    async with gateway(one_endpoint("http://127.0.0.1:9")) as running:
        got = await ask(running, method, target, headers=[("X-Request-Id", "r1")])
    assert got.status == status
    assert got.header("x-request-id") == "r1"
    assert got.json["request_id"] == "r1"
    assert got.json["status"] == "error"
    assert got.json["error"]["code"] == code
    assert got.json["error"]["retry"] is False
    assert set(got.json["error"]) == {"code", "message", "retry"}


async def test_refused_method_names_those_that_are_allowed() -> None:
    async with gateway(one_endpoint("http://127.0.0.1:9", methods=["GET"])) as running:
        assert (await ask(running, "PUT")).status == 405
        async with client(running) as head:
            head.writer.write(b"HEAD /chat HTTP/1.1\r\nHost: x\r\n\r\n")
            first = await head.reader.readuntil(b"\r\n\r\n")
    assert first.startswith(b"HTTP/1.1 405")
    assert b"allow: GET\r\n" in first


async def test_body_over_the_limit_is_refused() -> None:
    async with gateway(one_endpoint("http://127.0.0.1:9", limits={"request_bytes": "1KiB"})) as running:
        got = await ask(running, body=b"x" * 1025)
        async with client(running) as chunked:
            chunked.writer.write(b"POST /chat HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
            chunked.writer.write(chunk(b"x" * 600) + chunk(b"x" * 600))
            head = await chunked.reader.readuntil(b"\r\n\r\n")
    assert (got.status, got.json["error"]["code"]) == (413, "REQUEST_TOO_LARGE")
    assert head.startswith(b"HTTP/1.1 413")


async def test_reconnecting_event_source_is_stopped() -> None:
    async with upstream(WHOLE) as server, gateway(one_endpoint(server.url, methods=["GET"])) as running:
        got = await ask(running, "GET", headers=[("Last-Event-ID", "3")], body=b"")
        assert server.calls == []
        assert (await ask(running, "GET", body=b"")).assert_valid().text == "Hello"
    assert (got.status, got.body) == (204, b"")


async def test_health_path_returns_ok() -> None:
    config = one_endpoint("http://127.0.0.1:9")
    async with gateway(config) as running:
        served = {"status": "ok", "config": config.fingerprint}
        for path, expected in (("/healthz", {"status": "ok"}), ("/readyz", served)):
            got = await ask(running, "GET", path, body=b"")
            assert (got.status, got.json) == (200, expected)


async def test_literal_path_wins_over_the_one_with_names() -> None:
    async with upstream(WHOLE) as literal, upstream(WHOLE) as named:
        config = settled(
            endpoints={
                "/a/{name}": {"upstream": named.url, "speaks": "legacy"},
                "/a/b": {"upstream": literal.url, "speaks": "legacy"},
            }
        )
        async with gateway(config) as running:
            await ask(running, target="/a/b")
            await ask(running, target="/a/c")
    assert (len(literal.calls), len(named.calls)) == (1, 1)


async def test_dialect_is_detected() -> None:
    got = (await relayed(WHOLE, speaks="auto")).assert_valid()
    assert got.text == "Hello"


@pytest.mark.slow
async def test_demo_backends_run_with_the_gateway() -> None:
    async with gateway(
        settled(endpoints={"/demo": {"upstream": "demo:legacy", "speaks": "legacy"}})
    ) as running:
        got = (await ask(running, target="/demo")).assert_valid()
    assert got.end["status"] == "completed"
