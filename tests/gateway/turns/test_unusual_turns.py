"""Turns with unusual bytes or in an unusual order are sent back unchanged, for clients of all protocols."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pytest

from forgetful_clients import CLIENTS as FORGETFUL
from forgetful_clients import ProtocolClient, doubled
from loop_clients import CLIENTS, LoopClient
from loopback import Gateway, ask, gateway, settled
from scripted_upstream import SSE, Call, answer, chunk, upstream
from streamweir.jsontext import write_json
from strict_upstreams.model import sse

pytestmark = pytest.mark.anyio

SEPARATORS = '{"city":"Z\u2028\u2029\x85"}'
NUMBERS = '{"n": 123456789012345678901234567890, "f": 1.0, "e":1e2, "far": 1e400, "z": -0.0}'
ESCAPED = r'{"city": "\u003cZ\u00fcrich\u003e", "path": "a\/b"}'
REPEATED = '{"b":1,"a":2,"b":3}'
EMPTY = "{}"
INPUTS = {
    "separators": SEPARATORS,
    "numbers": NUMBERS,
    "escapes": ESCAPED,
    "repeated-names": REPEATED,
    "empty": EMPTY,
}
MANY = 20
"""More calls side by side than messages are tried together."""


class Turn(NamedTuple):
    """One turn of an upstream.

    Attributes:
        dialect: that the upstream speaks.
        frames: of the answer.
        sent: what the next request has to hold, byte for byte.
    """

    dialect: str
    frames: list[bytes]
    sent: list[bytes]


def anthropic(text: str, count: int = 1, thoughts: Sequence[str] = ("Hm.",)) -> Turn:
    """A thought in pieces, calls with an input, and a text behind them."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    start = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "usage": usage,
    }
    blocks: list[tuple[dict[str, Any], list[dict[str, Any]]]] = [
        (
            {"type": "thinking", "thinking": "", "signature": ""},
            [
                *({"type": "thinking_delta", "thinking": thought} for thought in thoughts),
                {"type": "signature_delta", "signature": "c2ln+/8="},
            ],
        )
    ]
    for number in range(count):
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "weather", "input": {}}
        blocks.append((call, [{"type": "input_json_delta", "partial_json": text}]))
    blocks.append(({"type": "text", "text": ""}, [{"type": "text_delta", "text": "I look."}]))
    frames = [sse({"type": "message_start", "message": start}, "message_start")]
    for index, (begun, deltas) in enumerate(blocks):
        frames.append(sse({"type": "content_block_start", "index": index, "content_block": begun}))
        frames += (sse({"type": "content_block_delta", "index": index, "delta": delta}) for delta in deltas)
        frames.append(sse({"type": "content_block_stop", "index": index}))
    end = {"stop_reason": "tool_use", "stop_sequence": None}
    frames += [sse({"type": "message_delta", "delta": end, "usage": usage}), sse({"type": "message_stop"})]
    thinking = "".join(thoughts)
    signed = f'{{"type":"thinking","thinking":"{thinking}","signature":"c2ln+/8="}}'.encode()
    calls = (f'"id":"toolu_{number}","name":"weather","input":{text}'.encode() for number in range(count))
    return Turn("anthropic", frames, [signed, *calls, b'{"type":"text","text":"I look."}]}'])


def gemini(text: str, count: int = 1) -> Turn:
    """Calls, of which the first has a signature that is written with escapes, and a text behind them."""
    signature = r'"thoughtSignature":"QUJD\u003d\u003d"'
    first = f'{{"functionCall":{{"name":"weather","args":{text}}},{signature}}}'
    others = [f'{{"functionCall":{{"name":"weather","args":{text}}}}}'] * (count - 1)
    said = r'{"text":"I look\u0021","thoughtSignature":"RUZH\u003d"}'
    frames = [
        f'data: {{"candidates":[{{"index":0,"content":{{"role":"model","parts":[{part}]}}{end}}}]}}\r\n\r\n'
        for part, end in [*((part, "") for part in (first, *others)), (said, ',"finishReason":"STOP"')]
    ]
    return Turn(
        "gemini", [frame.encode() for frame in frames], [part.encode() for part in (first, *others, said)]
    )


def chat(text: str, count: int = 1) -> Turn:
    """Reasoning, a text, and calls side by side."""
    ids = [f"call_{number}" for number in range(count)]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "reasoning_content": ""}, {"content": "I look."}]
    for index, call_id in enumerate(ids):
        function = {"name": "weather", "arguments": text}
        deltas.append(
            {"tool_calls": [{"index": index, "id": call_id, "type": "function", "function": function}]}
        )
    ends = [*((delta, None) for delta in deltas), ({}, "tool_calls")]
    frames = [
        sse({"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": d, "finish_reason": end}]})
        for d, end in ends
    ]
    arguments = write_json(text).decode()
    calls = [
        f'{{"id":"{call_id}","type":"function","function":{{"name":"weather","arguments":{arguments}}}}}'.encode()
        for call_id in ids
    ]
    return Turn("openai-chat", [*frames, b"data: [DONE]\n\n"], [b'"reasoning_content":""', *calls])


def responses(text: str, count: int = 1) -> Turn:
    """A search of the upstream's own with null fields, reasoning, and calls side by side."""
    action = {"type": "search", "query": "tea", "sources": None}
    search = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": action}
    reasoning: dict[str, Any] = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [],
        "encrypted_content": "gAA+/w==",
        "status": None,
    }
    items = [search, reasoning]
    for number in range(count):
        call = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": "weather"}
        items.append({**call, "arguments": text, "status": "completed"})
    response = {"id": "resp_1", "object": "response", "status": "in_progress", "output": [], "store": False}
    frames = [sse({"type": "response.created", "response": response})]
    for index, item in enumerate(items):
        frames.append(sse({"type": "response.output_item.added", "output_index": index, "item": item}))
        frames.append(sse({"type": "response.output_item.done", "output_index": index, "item": item}))
    done = {**response, "status": "completed", "output": items}
    frames.append(sse({"type": "response.completed", "response": done}))
    arguments = f'"arguments":{json.dumps(text, ensure_ascii=False)}'.encode()
    sent = [
        b'"action":{"type":"search","query":"tea"}',
        b'"encrypted_content":"gAA+/w=="',
        *[arguments] * count,
    ]
    return Turn("openai-responses", frames, sent)


FAMILIES = {make.__name__: make for make in (anthropic, gemini, chat, responses)}


class Model:
    """Answers the first request with a turn, and each further one with the same turn again."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.bodies: list[bytes] = []

    async def __call__(self, call: Call) -> None:
        self.bodies.append(call.body)
        await call.send(SSE, *map(chunk, self.turn.frames), b"0\r\n\r\n")


async def reloaded(running: Gateway, client: LoopClient) -> list[tuple[str, str]]:
    """Send one request; the client keeps the conversation as a page in JavaScript does."""
    headers = [("Content-Type", "application/json"), ("Accept", "text/event-stream")]
    body = {name: value for name, value in client.body.items() if name not in ("store", "include")}
    got = await ask(running, headers=headers, body=json.dumps(body).encode())
    assert got.status == 200, got.body
    calls = client.take(got.body)
    client.messages = json.loads(json.dumps(doubled(client.messages)))
    return calls


def missing(body: bytes, sent: list[bytes]) -> Iterator[bytes]:
    """Yield each part that is not in a body at all, in this order, or as often as it was made."""
    at = 0
    for part in sent:
        found = body.find(part, at)
        if found < 0 or body.count(part) != sent.count(part):
            yield part
        else:
            at = found + 1


@pytest.mark.parametrize("protocol", CLIENTS)
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("name", "count"), [*((name, 2) for name in INPUTS), ("escapes", MANY)])
async def test_turn_with_unusual_bytes_is_sent_back_unchanged(
    family: str, protocol: str, name: str, count: int
) -> None:
    turn = FAMILIES[family](INPUTS[name], count)
    model, client = Model(turn), CLIENTS[protocol]()
    async with upstream(model) as server:
        endpoint = {
            "upstream": server.url,
            "speaks": turn.dialect,
            "answers": [protocol],
            "request": {"mapped": {"store": False}} if family == "responses" else "mapped",
        }
        async with gateway(settled(endpoints={"/chat": endpoint})) as running:
            client.ask("How warm is it?")
            for call in await reloaded(running, client):
                client.answer(call, "21 degrees")
            await reloaded(running, client)
    assert [*missing(model.bodies[1], turn.sent)] == []


@pytest.mark.parametrize("protocol", CLIENTS)
@pytest.mark.parametrize("pieces", [1, 2, 3, 10, 300])
async def test_thought_in_pieces_is_carried_whole_by_a_client_alone(protocol: str, pieces: int) -> None:
    turn = anthropic(EMPTY, thoughts=[f"Thought {number}. " for number in range(pieces)])
    model, client = Model(turn), CLIENTS[protocol]()
    async with upstream(model) as server:
        endpoint = {
            "upstream": server.url,
            "speaks": turn.dialect,
            "answers": [protocol],
            "request": "mapped",
            "turns": "off",
        }
        async with gateway(settled(endpoints={"/chat": endpoint})) as running:
            client.ask("How warm is it?")
            for call in await reloaded(running, client):
                client.answer(call, "21 degrees")
            await reloaded(running, client)
    assert turn.sent[0] in model.bodies[1]


class RepeatingModel:
    """Gives the same text to each request, signed anew."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []

    async def __call__(self, call: Call) -> None:
        self.bodies.append(call.body)
        signature = f"signature-{len(self.bodies)}"
        content = [
            {"type": "thinking", "thinking": "Hm.", "signature": signature},
            {"type": "text", "text": "Done."},
        ]
        message = {"type": "message", "role": "assistant", "id": "msg_1", "model": "m", "content": content}
        body = json.dumps({**message, "stop_reason": "end_turn", "usage": {}}).encode()
        await call.send(answer(body, "Content-Type: application/json"))


@pytest.mark.parametrize("make_client", FORGETFUL)
async def test_equal_texts_after_equal_questions_have_their_own_signatures(
    make_client: type[ProtocolClient],
) -> None:
    model, client = RepeatingModel(), make_client()
    async with upstream(model) as server:
        endpoint = {
            "upstream": server.url,
            "speaks": "anthropic",
            "answers": [client.protocol],
            "request": "mapped",
        }
        async with gateway(settled(endpoints={"/chat": endpoint})) as running:
            for _ in range(4):
                client.ask("Go on.")
                headers = [("Content-Type", "application/json"), ("Accept", client.accept)]
                got = await ask(running, headers=headers, body=json.dumps(client.body()).encode())
                assert got.status == 200, got.body
                client.take(got)
    sent = [block for message in json.loads(model.bodies[-1])["messages"] for block in message["content"]]
    signatures = [block["signature"] for block in sent if isinstance(block, dict) and "signature" in block]
    assert signatures == ["signature-1", "signature-2", "signature-3"]
