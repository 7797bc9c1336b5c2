"""Upstreams that speak over a WebSocket, asked over HTTP."""

import asyncio
import gc
import json
import ssl
from pathlib import Path
from typing import Any, ClassVar

import pytest
import trustme
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection
from websockets.frames import Frame, Opcode

from loopback import Answer, ask, client, gateway, one_endpoint, settled
from patience import PATIENCE
from scripted_upstream import answer, upstream
from socket_service import accepted, raw_service, service, switching
from streams import Recorded, recorded_streams
from streamweir_gateway.upstream import dialing
from streamweir_gateway.upstream.websocket.connection import WebSocketConnection

pytestmark = pytest.mark.anyio

TOKENS = [{"type": "token", "content": text} for text in ("Zwei ", "Läden", " 店")]
DONE = {"type": "done"}
NDJSON = ("Accept", "application/x-ndjson")
ASKED = b'{"message": "hi"}'
SOON = {"connect": "1s", "first_event": "1s"}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


async def answers(connection: ServerConnection) -> None:
    """Answer each message with a whole run."""
    async for _ in connection:
        for event in (*TOKENS, DONE):
            await connection.send(text(event))


async def asked(
    handler: Any, *, headers: Any = (), body: bytes = ASKED, **options: Any
) -> tuple[Answer, Any]:
    async with service(handler) as running, gateway(one_endpoint(running.url, **options)) as gate:
        got = await ask(gate, headers=headers, body=body)
        line = await gate.log.next_line()
        code = await running.next_code()
    return got, {**line, "got": code}


async def test_stream_of_messages_is_a_whole_stream_for_every_protocol() -> None:
    for protocol in ("standard", "openai-chat", "anthropic", "vercel-ui", "ag-ui", "legacy"):
        got, line = await asked(answers, answers=[protocol])
        body = got.body.decode()
        assert "Zwei" in body
        assert "店" in body or "\\u5e97" in body
        assert got.is_whole
        assert line["reason"] == "done", protocol
        assert line["got"] == 1000


@pytest.mark.parametrize("framing", ["sse", "ndjson"])
async def test_client_of_the_dialect_gets_each_message_byte_for_byte(framing: str) -> None:
    messages = [
        '{"type":"token",  "content":"a b"}',
        '{ "type": "token", "content": "\\u5e97" }',
        '{"type":"done"}',
    ]

    async def speak(connection: ServerConnection) -> None:
        await connection.recv()
        for message in messages:
            await connection.send(message)

    headers = [NDJSON] if framing == "ndjson" else []
    got, line = await asked(speak, headers=headers, answers=["legacy"])
    before, behind = ("data: ", "\n\n") if framing == "sse" else ("", "\n")
    assert got.body.decode() == "".join(f"{before}{message}{behind}" for message in messages)
    assert line["duration_ms"] < 4000, "the end of the run ends the answer, though the connection stays open"


@pytest.mark.parametrize("framing", ["sse", "ndjson"])
async def test_message_with_line_breaks_stays_one_frame(framing: str) -> None:
    async def speak(connection: ServerConnection) -> None:
        await connection.recv()
        for event in (*TOKENS, DONE):
            await connection.send(json.dumps(event, indent=2).replace("\n", "\r\n"))

    headers = [NDJSON] if framing == "ndjson" else []
    for protocol in ("standard", "legacy"):
        got, _ = await asked(speak, headers=headers, answers=[protocol])
        if protocol == "standard":
            assert got.assert_valid().text == "Zwei Läden 店"
        else:
            frames = got.body.splitlines() if framing == "ndjson" else data_of_sse(got.body)
            assert [json.loads(frame) for frame in frames] == [*TOKENS, DONE]


def data_of_sse(body: bytes) -> list[bytes]:
    """The data of each event."""
    lines = [block.splitlines() for block in body.removesuffix(b"\n\n").split(b"\n\n")]
    return [b"\n".join(line.removeprefix(b"data: ") for line in block) for block in lines]


LINES = [
    stream for stream in recorded_streams() if stream.path.suffix == ".ndjson" and b"data:" not in stream.body
]


@pytest.mark.parametrize("stream", LINES, ids=str)
async def test_recorded_lines_as_messages_give_the_events_of_the_body(stream: Recorded) -> None:
    lines = [line for line in stream.body.splitlines() if line.strip()]
    speaks = stream.dialect

    async def speak(connection: ServerConnection) -> None:
        await connection.recv()
        for line in lines:
            await connection.send(line, text=True)
        await connection.close()

    options = {
        "speaks": speaks,
        "answers": ["standard"],
        "protocol_options": {speaks: stream.options} if stream.options else {},
    }
    async with service(speak) as running, gateway(one_endpoint(running.url, **options)) as gate:
        over_socket = await ask(gate, headers=[NDJSON, ("X-Request-Id", "req_same")], body=ASKED)
    body = answer(b"\n".join(lines) + b"\n", "Content-Type: application/x-ndjson")
    async with upstream(body) as server, gateway(one_endpoint(server.url, **options)) as gate:
        over_http = await ask(gate, headers=[NDJSON, ("X-Request-Id", "req_same")], body=ASKED)
    assert shape(over_socket) == shape(over_http)


def shape(got: Answer) -> list[Any]:
    """The events without the fields that differ from run to run."""
    return [
        (event["type"], {name: value for name, value in event["data"].items() if name not in VARYING})
        for event in got.events
    ]


VARYING = {"request_id", "session_id", "summary", "duration_ms", "interaction_id"}


CLOSES = [
    (4401, "AUTH_FAILED"),
    (4403, "AUTH_FAILED"),
    (4429, "RATE_LIMITED"),
    (4500, "UPSTREAM_ERROR"),
    (1003, "UPSTREAM_REJECTED"),
    (1007, "UPSTREAM_REJECTED"),
    (1008, "UPSTREAM_REJECTED"),
    (1009, "UPSTREAM_REJECTED"),
    (1010, "UPSTREAM_REJECTED"),
    (1011, "UPSTREAM_ERROR"),
    (1012, "UPSTREAM_ERROR"),
    (1013, "UPSTREAM_ERROR"),
    (1000, "UPSTREAM_TRUNCATED"),
    (1001, "UPSTREAM_TRUNCATED"),
    (3000, "UPSTREAM_TRUNCATED"),
    (4999, "UPSTREAM_TRUNCATED"),
]


@pytest.mark.parametrize(("code", "expected"), CLOSES)
async def test_close_before_the_first_event_is_the_failure_of_its_code(code: int, expected: str) -> None:
    async def refuse(connection: ServerConnection) -> None:
        await connection.recv()
        await connection.close(code, "password=hunter2")

    got, line = await asked(refuse)
    status = {1011: 500, 1012: 503, 1013: 503}.get(code, code - 4000 if 4400 <= code < 4600 else None)
    if status is not None:
        async with (
            upstream(answer(b"", status=f"{status} X")) as server,
            gateway(one_endpoint(server.url)) as gate,
        ):
            over_http = await ask(gate, body=ASKED)
        assert over_http.error is not None
        assert over_http.error["code"] == expected
    assert got.error is not None
    assert got.error["code"] == expected
    assert line["close_code"] == code
    assert b"hunter2" not in got.body


@pytest.mark.parametrize(
    ("code", "expected"), [(code, "UPSTREAM_TRUNCATED") for code in (1001, 1011, 4401, 1008)]
)
async def test_error_close_after_an_event_breaks_the_stream(code: int, expected: str) -> None:
    async def break_off(connection: ServerConnection) -> None:
        await connection.recv()
        await connection.send(text(TOKENS[0]))
        await connection.close(code)

    got, line = await asked(break_off)
    assert got.error is not None
    assert got.error["code"] == expected
    assert line["close_code"] == code
    assert str(code) in line["hint"]


async def test_messages_in_one_read_with_the_101_are_part_of_the_stream() -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        messages = [text(event).encode() for event in (*TOKENS, DONE)]
        frames = [b"\x81%c%b" % (len(message), message) for message in messages]
        writer.write(switching(head) + b"".join(frames) + b"\x88\x02\x03\xe8")
        await reader.read(-1)

    async with raw_service(speak) as url, gateway(one_endpoint(url)) as gate:
        got = await ask(gate, body=ASKED)
        line = await gate.log.next_line()
    assert got.assert_valid().text == "Zwei Läden 店"
    assert line["close_code"] == 1000


async def test_messages_of_a_service_faster_than_the_gateway_are_part_of_the_stream(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def connect_late(*where: Any, **how: Any) -> None:
        await dialing.connect(*where, **how)
        await asyncio.sleep(0.2)  # a busy machine: the service might have answered by now

    monkeypatch.setattr("streamweir_gateway.upstream.websocket.transport.connect", connect_late)

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await accepted(reader, writer)
        for event in (*TOKENS, DONE):
            message = text(event).encode()
            writer.write(b"\x81%c%b" % (len(message), message))
        await reader.read(-1)

    async with raw_service(speak) as url, gateway(one_endpoint(url, timeouts=SOON)) as gate:
        got = await ask(gate, body=ASKED)
    assert got.assert_valid().text == "Zwei Läden 店"


async def test_clean_close_is_the_end_of_the_body() -> None:
    async def end(connection: ServerConnection) -> None:
        await connection.recv()
        await connection.send(text(TOKENS[0]))
        await connection.close()

    got, line = await asked(end, eof="complete")
    assert got.assert_valid().end["status"] == "completed"
    assert line["close_code"] == 1000
    got, _ = await asked(end)
    assert got.error is not None
    assert got.error["code"] == "UPSTREAM_TRUNCATED"


async def test_connection_that_just_ends_is_a_broken_stream() -> None:
    for events in ([], TOKENS):

        async def vanish(connection: ServerConnection, events: Any = events) -> None:
            await connection.recv()
            for event in events:
                await connection.send(text(event))
            connection.transport.abort()

        got, line = await asked(vanish)
        assert got.error is not None
        assert got.error["code"] == "UPSTREAM_TRUNCATED"
        assert "close_code" not in line


BREACHES = [
    b"\x81\x83abcdxyz",
    b"\xc1\x02{}",
    b"\x83\x00",
    b"\x80\x01a",
    b"\x89\x7e\x00\x7e" + bytes(126),
    b"\x88\x01\x03",
    b"\x81\x7f\xff" + bytes(7),
]


@pytest.mark.parametrize("breach", BREACHES)
async def test_breach_of_the_protocol_is_answered_with_1002_and_is_an_invalid_response(breach: bytes) -> None:
    got_code: asyncio.Queue[bytes] = asyncio.Queue()

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await accepted(reader, writer)
        writer.write(breach)
        got_code.put_nowait(await reader.read(-1))

    async with raw_service(speak) as url, gateway(one_endpoint(url)) as gate:
        got = await ask(gate, body=ASKED)
        sent = await asyncio.wait_for(got_code.get(), PATIENCE)
    assert got.error is not None
    assert got.error["code"] == "UPSTREAM_INVALID_RESPONSE"
    mask, masked = sent[-6:-2], sent[-2:]
    assert int.from_bytes(bytes(a ^ b for a, b in zip(masked, mask, strict=False))) == 1002


@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
        b"HTTP/1.1 302 Found\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: bm8=\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n",
        b"SSH-2.0-x\r\n\r\n",
    ],
)
async def test_answer_that_is_no_101_and_no_refusal_is_an_invalid_response(reply: bytes) -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(reply)
        await reader.read(-1)

    async with raw_service(speak) as url, gateway(one_endpoint(url)) as gate:
        got = await ask(gate, body=ASKED)
    assert got.error is not None
    assert got.error["code"] == "UPSTREAM_INVALID_RESPONSE"


@pytest.mark.parametrize(
    "header", ["Sec-WebSocket-Protocol: other", "Sec-WebSocket-Extensions: permessage-deflate"]
)
async def test_101_with_a_subprotocol_not_offered_is_an_invalid_response(header: str) -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(switching(await reader.readuntil(b"\r\n\r\n"), header))
        await reader.read(-1)

    async with raw_service(speak) as url, gateway(one_endpoint(url)) as gate:
        got = await ask(gate, body=ASKED)
    assert got.error is not None
    assert got.error["code"] == "UPSTREAM_INVALID_RESPONSE"


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
async def test_refused_handshake_is_the_failure_of_its_status(status: int) -> None:
    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(f"HTTP/1.1 {status} No\r\nContent-Length: 9\r\n\r\nhunter2!!".encode())
        await reader.read(-1)

    async with raw_service(speak) as url, gateway(one_endpoint(url)) as gate:
        got = await ask(gate, body=ASKED)
        line = await gate.log.next_line()
    async with (
        upstream(answer(b"hunter2!!", status=f"{status} No")) as server,
        gateway(one_endpoint(server.url)) as gate,
    ):
        over_http = await ask(gate, body=ASKED)
    assert got.error is not None
    assert over_http.error is not None
    assert got.error["code"] == over_http.error["code"]
    assert b"hunter2" not in got.body
    assert ("a path that they do not know" in line["hint"]) == (status == 403)


async def test_connection_of_a_refused_handshake_is_released() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
        await reader.read(-1)

    async def leave(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")

    for speak in (refuse, leave):
        async with raw_service(speak) as url, gateway(one_endpoint(url)) as gate:
            for _ in range(5):
                assert (await ask(gate, body=ASKED)).error is not None
            async with asyncio.timeout(PATIENCE):
                while _connections():  # noqa: ASYNC110 - the transport closes a turn later
                    await asyncio.sleep(0.01)


def _connections() -> list[WebSocketConnection]:
    gc.collect()
    return [each for each in gc.get_objects() if issubclass(type(each), WebSocketConnection)]


async def test_handshake_has_the_configured_headers_without_origin() -> None:
    options = {
        "headers": {"Authorization": "Bearer k"},
        "forward_headers": ["X-Tenant-Id"],
        "forward_query": ["lang"],
        "websocket": {"subprotocols": ["chat.v1", "chat.v2"]},
    }
    async with service(answers, subprotocols=("chat.v2",)) as running:
        async with gateway(one_endpoint(running.url, **options)) as gate:
            await ask(
                gate,
                target="/chat?lang=de&x=1",
                headers=[("X-Tenant-Id", "7"), ("Origin", f"http://127.0.0.1:{gate.address[1]}")],
                body=ASKED,
            )
        (connection,) = running.connections
        request = connection.request
    assert request is not None
    assert request.path == "/chat?lang=de"
    sent = {name.lower(): value for name, value in request.headers.raw_items()}
    assert sent["authorization"] == "Bearer k"
    assert sent["x-tenant-id"] == "7"
    assert sent["sec-websocket-protocol"] == "chat.v1, chat.v2"
    assert {"x-request-id", "traceparent", "via"} <= {*sent}
    assert not {"origin", "sec-websocket-extensions", "content-length", "content-type"} & {*sent}
    assert connection.subprotocol == "chat.v2"


async def collected(options: dict[str, Any], body: bytes, headers: Any = ()) -> list[str | bytes]:
    """The messages that a service gets for one request."""
    got: list[str | bytes] = []

    async def collect(connection: ServerConnection) -> None:
        while b"last" not in (message := await connection.recv(decode=False)):
            got.append(message)
        got.append(message)
        await connection.close()

    await asked(collect, body=body, headers=headers, **options)
    return got


async def test_passthrough_sends_the_body_as_one_message() -> None:
    assert await collected({}, '{"message":  "last 店"}'.encode()) == ['{"message":  "last 店"}'.encode()]


async def test_hello_is_sent_before_the_request() -> None:
    options = {
        "websocket": {
            "hello": [{"type": "login", "user": "${{ headers.x-user }}"}, "${{ message }}!", "plain"]
        },
        "forward_headers": ["X-User"],
    }
    assert await collected(options, b'{"message": "last"}') == [b'{"type":"login"}', b"last!"]
    login = b'{"type":"login","user":"u7"}'
    assert await collected(options, b'{"message": "last"}', [("X-User", "u7")]) == [login, b"last!"]
    assert await collected(options, b"first last") == [b'{"type":"login"}', b"!", b"plain", b"first last"]


async def test_hello_of_a_get_has_the_canonical_request_of_its_query() -> None:
    websocket = {"hello": ["${{ request.message }} in ${{ request.thread_id }}"]}
    got: list[str | bytes] = []

    async def greet(connection: ServerConnection) -> None:
        got.append(await connection.recv())
        await connection.send(text(DONE))

    options = {"websocket": websocket, "methods": ["GET"]}
    async with service(greet) as running, gateway(one_endpoint(running.url, **options)) as gate:
        assert (await ask(gate, "GET", "/chat?message=hi&thread_id=t1", body=b"")).status == 200
    assert got == ["hi in t1"]


@pytest.mark.parametrize(
    ("tree", "expected"),
    [
        ({"body": "${{ message }}"}, b"last 1"),
        ({"body": {"q": "${{ message }}"}}, b'{"q":"last 1"}'),
        ({"question": "${{ message }}", "n": 1}, b'{"question":"last 1","n":1}'),
    ],
)
async def test_tree_is_sent_as_json_and_a_text_as_itself(tree: Any, expected: bytes) -> None:
    assert await collected({"request": tree}, b'{"message": "last 1"}') == [expected]


async def test_mapped_request_is_one_message() -> None:
    options = {"speaks": "openai-chat", "answers": ["standard"], "request": "mapped"}
    (message,) = await collected(options, b'{"message": "last"}')
    assert json.loads(message)["messages"] == [{"role": "user", "content": "last"}]


async def test_client_that_leaves_has_the_cancel_message_and_1001_sent() -> None:
    told: asyncio.Queue[Any] = asyncio.Queue()

    async def endless(connection: ServerConnection) -> None:
        await connection.recv()
        await connection.send(text(TOKENS[0]))
        told.put_nowait(await connection.recv())

    options = {"websocket": {"cancel": {"type": "stop", "of": "${{ message }}"}}}
    async with service(endless) as running, gateway(one_endpoint(running.url, **options)) as gate:
        async with client(gate) as connected:
            connected.send(body=ASKED)
            await connected.until(b"Zwei")
        assert json.loads(await asyncio.wait_for(told.get(), PATIENCE)) == {"type": "stop", "of": "hi"}
        assert await running.next_code() == 1001


async def test_message_over_event_bytes_is_answered_with_1009() -> None:
    async def speak(connection: ServerConnection) -> None:
        await connection.recv()
        await connection.send(text(TOKENS[0]))
        await connection.send(["x" * 3000, "y" * 3000])

    got, line = await asked(speak, limits={"event_bytes": 4096})
    assert got.error is not None
    assert got.error["code"] == "STREAM_LIMIT_EXCEEDED"
    assert line["got"] == 1009


async def test_stream_over_stream_bytes_is_answered_with_1009() -> None:
    async def speak(connection: ServerConnection) -> None:
        await connection.recv()
        for _ in range(100):
            await connection.send(text({"type": "token", "content": "x" * 1000}))

    got, line = await asked(speak, limits={"event_bytes": 4096, "stream_bytes": 8192})
    assert got.error is not None
    assert got.error["code"] == "STREAM_LIMIT_EXCEEDED"
    assert line["got"] == 1009


async def test_ping_of_the_service_is_answered_and_ours_leave_by_the_clock() -> None:
    pings = 0

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal pings
        await accepted(reader, writer)
        writer.write(Frame(Opcode.PING, b"42").serialize(mask=False))
        seen = b""
        while seen.count(b"\x89\x80") < 3 or b"\x8a\x82" not in seen:
            seen += await reader.read(1024)
        pings = seen.count(b"\x89\x80")
        for event in (*TOKENS, DONE):
            writer.write(Frame(Opcode.TEXT, text(event).encode()).serialize(mask=False))
        await reader.read(-1)

    async with raw_service(speak) as url, gateway(one_endpoint(url, websocket={"ping": "50ms"})) as gate:
        got = await ask(gate, body=ASKED)
    assert got.assert_valid().end["status"] == "completed"
    assert pings >= 3


async def test_messages_that_are_pieces_of_an_sse_body_are_that_body() -> None:
    body = "".join(f"data: {text(event)}\n\n" for event in (*TOKENS, DONE)).encode()
    for size in (1, 7, 1000):

        async def speak(connection: ServerConnection, size: int = size) -> None:
            await connection.recv()
            await connection.send(body[:8], text=True)
            for index in range(8, len(body), size):
                await connection.send(body[index : index + size])

        got, _ = await asked(speak)
        assert got.assert_valid().text == "Zwei Läden 店"


async def test_pieces_of_an_ndjson_body_have_its_media_type() -> None:
    body = b"".join(json.dumps(event).encode() + b"\n" for event in (*TOKENS, DONE))

    async def speak(connection: ServerConnection) -> None:
        await connection.recv()
        for start in range(0, len(body), 7):
            await connection.send(body[start : start + 7], text=True)

    got, _ = await asked(speak, answers=["legacy"], websocket={"framing": "ndjson"})
    assert (got.header("content-type"), got.body) == ("application/x-ndjson", body)


async def test_first_message_decides_for_binary_pieces_that_arrive_with_it() -> None:
    body = "".join(f"data: {text(event)}\n\n" for event in (*TOKENS, DONE)).encode()
    frames = [Frame(Opcode.PONG, b"data:"), Frame(Opcode.BINARY, b""), Frame(Opcode.TEXT, body[:8])]
    frames += [Frame(Opcode.BINARY, body[index : index + 1]) for index in range(8, len(body))]

    async def speak(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await accepted(reader, writer)
        writer.write(b"".join(frame.serialize(mask=False) for frame in frames))
        await reader.read(-1)

    async with raw_service(speak) as url, gateway(one_endpoint(url)) as gate:
        got = await ask(gate, body=ASKED)
    assert got.assert_valid().text == "Zwei Läden 店"


async def test_binary_message_is_text_if_it_is_utf_8_and_else_malformed() -> None:
    async def speak(connection: ServerConnection) -> None:
        await connection.recv()
        await connection.send(text(TOKENS[0]).encode())
        await connection.send(b"\xff\xfe{")
        await connection.send(b"")
        await connection.send(text(DONE))

    got, line = await asked(speak)
    assert got.assert_valid().text == "Zwei "
    assert line["malformed"] == 1


async def test_next_upstream_of_a_list_is_asked_if_one_refuses() -> None:
    async def refuse(connection: ServerConnection) -> None:
        await connection.close(1013)

    async with service(refuse) as bad, service(answers) as good:
        chain = {"upstream": [bad.url, good.url], "speaks": "legacy"}
        async with gateway(settled(endpoints={"/chat": chain})) as gate:
            got = await ask(gate, body=ASKED)
            line = await gate.log.next_line()
    assert got.assert_valid().text == "Zwei Läden 店"
    assert line["attempts"] == 2


async def test_service_behind_tls_is_relayed_and_asked(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("127.0.0.1").configure_cert(tls)
    trust = {"tls": {"ca": str(tmp_path / "ca.pem")}, "max_streams": 10}
    async with service(answers, tls=tls) as running:
        base = running.url.removesuffix("/chat")
        config = settled(
            upstreams={
                "socket": {"url": running.url, **trust},
                "old": {"url": base.replace("wss:", "https:"), **trust},
                "strict": {"url": running.url},
            },
            endpoints={
                "/chat": {"upstream": "socket", "speaks": "legacy"},
                "/strict": {"upstream": "strict", "speaks": "legacy"},
                "/app/*": {"upstream": "old", "relay": "all"},
            },
        )
        async with gateway(config) as gate:
            assert (await ask(gate, body=ASKED)).assert_valid().text == "Zwei Läden 店"
            refused = await ask(gate, target="/strict", body=ASKED)
            assert refused.error is not None
            assert refused.error["code"] == "UPSTREAM_UNREACHABLE"
            async with connect(f"ws://127.0.0.1:{gate.address[1]}/app/chat") as page:
                await page.send("hi")
                assert json.loads(await page.recv()) == TOKENS[0]
            while "websocket" not in (line := await gate.log.next_line()):
                pass
            assert line["reason"] == "done"


async def test_run_over_a_socket_is_kept_and_read_again() -> None:
    async with service(answers) as running, gateway(one_endpoint(running.url, resume="on")) as gate:
        first = await ask(gate, body=ASKED)
        again = await ask(gate, "GET", first.header("content-location") or "", body=b"")
        assert first.assert_valid().text == "Zwei Läden 店"
        assert again.body == first.body


class TestKeep:
    """`keep`: the next request of a thread goes over the same connection."""

    OPTIONS: ClassVar[dict[str, Any]] = {
        "websocket": {"keep": "5m", "hello": ["hello"]},
        "forward_headers": ["X-User"],
    }

    @staticmethod
    async def speak(connection: ServerConnection) -> None:
        async for message in connection:
            if message == "hello":
                continue
            if "vanish" in str(message):
                connection.transport.abort()
                return
            for event in ({"type": "token", "content": str(id(connection))}, DONE):
                await connection.send(text(event))
            await connection.send(text({"type": "token", "content": "between"}))

    async def test_request_of_the_same_thread_key_and_headers_uses_the_connection(self) -> None:
        async with service(self.speak) as running:
            config = settled(
                endpoints={"/chat": {"upstream": running.url, "speaks": "legacy", **self.OPTIONS}},
                auth={"keys": {"a": "key-of-a-00000", "b": "key-of-b-00000"}},
            )
            async with gateway(config) as gate:

                async def where(thread: str | None, key: str = "a", user: str = "u") -> str:
                    headers = [("Authorization", f"Bearer key-of-{key}-00000"), ("X-User", user)]
                    body = {"message": "hi", **({} if thread is None else {"thread_id": thread})}
                    got = await ask(gate, headers=headers, body=json.dumps(body).encode())
                    assert "between" not in got.text
                    return got.assert_valid().text

                first = await where("t1")
                assert await where("t1") == first
                assert await where("t2") != first
                assert await where("t1", key="b") != first
                assert await where("t1", user="v") != first
                assert await where(None) != await where(None)
                assert await where("t1") == first
            codes = [await running.next_code() for _ in running.connections]
        assert {*codes} <= {1000, 1001}

    async def test_connection_that_has_ended_or_does_not_answer_is_replaced(self) -> None:
        body = b'{"message": "hi", "thread_id": "t"}'
        async with service(self.speak) as running, gateway(one_endpoint(running.url, **self.OPTIONS)) as gate:
            first = (await ask(gate, body=body)).text
            running.connections[0].transport.abort()
            assert (await ask(gate, body=body)).assert_valid().text != first

    async def test_requests_of_a_thread_at_once_have_a_connection_each(self) -> None:
        body = b'{"message": "hi", "thread_id": "t"}'
        asked = asyncio.Barrier(5)

        async def answer_together(connection: ServerConnection) -> None:
            await connection.recv()  # hello
            await connection.recv()
            await asked.wait()
            await connection.send(text(DONE))

        async with (
            service(answer_together) as running,
            gateway(one_endpoint(running.url, **self.OPTIONS)) as gate,
        ):
            answers = await asyncio.gather(*(ask(gate, body=body) for _ in range(5)))
            assert len(running.connections) == 5
        for got in answers:
            assert got.assert_valid().end["status"] == "completed"
