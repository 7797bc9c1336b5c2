"""Turns with calls that an Anthropic upstream runs itself; a paused one goes on when it is sent back."""

import json
from typing import Any

import pytest

from loopback import Answer, Gateway, ask, gateway, settled
from scripted_upstream import SSE, Call, answer, chunk, upstream
from streamweir.requests.canonical import Message
from streamweir.requests.messages import made_message
from streamweir.translation.message_state import MessageStreamHandler
from streamweir_gateway.turns.assistant_groups import groups_of
from streamweir_gateway.turns.matched_groups import names_of_turns
from streamweir_gateway.turns.text_names import TextNames
from streamweir_gateway.turns.turn_names import TurnOwner
from strict_upstreams.model import sse

pytestmark = pytest.mark.anyio

ASKED = "Search, please."
SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "tea"}}
PAUSED: dict[str, list[dict[str, Any]]] = {
    "pause_turn": [
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln+/8="},
        {"type": "text", "text": "I search."},
        SEARCH,
    ],
    "compaction": [{"type": "compaction", "content": "Before: tea.", "encrypted_content": "ZW5j+/8="}],
}
LAST = [{"type": "text", "text": "Found."}]
EMPTY: dict[str, dict[str, Any]] = {
    "text": {"text": ""},
    "thinking": {"thinking": "", "signature": ""},
    "server_tool_use": {"input": {}},
    "compaction": {"content": None, "encrypted_content": None},
}


def deltas_of(block: dict[str, Any]) -> list[dict[str, Any]]:
    match block:
        case {"type": "text", "text": text}:
            return [{"type": "text_delta", "text": text}]
        case {"type": "thinking", "thinking": text, "signature": signature}:
            thinking = {"type": "thinking_delta", "thinking": text}
            return [thinking, {"type": "signature_delta", "signature": signature}]
        case {"type": "compaction"}:
            return [{**block, "type": "compaction_delta"}]
    if block["type"].endswith("_tool_result"):
        return []
    return [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]


def frames_of(blocks: list[dict[str, Any]], reason: str) -> list[bytes]:
    start: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m"}
    start |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": start}]
    for index, block in enumerate(blocks):
        begun = {**block, **EMPTY.get(block["type"], {})}
        events.append({"type": "content_block_start", "index": index, "content_block": begun})
        events += [
            {"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas_of(block)
        ]
        events.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": reason, "stop_sequence": None}
    events += [{"type": "message_delta", "delta": delta, "usage": {"output_tokens": 1}}]
    return [sse(event, event["type"]) for event in (*events, {"type": "message_stop"})]


class PausingModel:
    """Pauses its first turn, and refuses a request in which that turn is not the last message, unchanged."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.bodies: list[dict[str, Any]] = []

    async def __call__(self, call: Call) -> None:
        body = json.loads(call.body)
        self.bodies.append(body)
        last = body["messages"][-1]
        if last["role"] == "user" and last["content"] == ASKED:
            blocks, reason = PAUSED[self.reason], self.reason
        elif last == {"role": "assistant", "content": PAUSED[self.reason]}:
            blocks, reason = LAST, "end_turn"
        else:
            error = {"type": "error", "error": {"type": "invalid_request_error", "message": "not the turn"}}
            await call.send(answer(json.dumps(error).encode(), status="400 Bad Request"))
            return
        await call.send(SSE, *map(chunk, frames_of(blocks, reason)), b"0\r\n\r\n")


async def post(running: Gateway, protocol: str, body: Any, accept: str = "text/event-stream") -> Answer:
    headers = [("Content-Type", "application/json"), ("Accept", accept), ("X-Streamweir-Protocol", protocol)]
    got = await ask(running, headers=headers, body=json.dumps(body).encode())
    assert got.status == 200, got.body
    return got


def config_of(url: str, **options: Any) -> Any:
    endpoint = {
        "upstream": url,
        "speaks": "anthropic",
        "answers": ["standard", "ag-ui", "anthropic", "legacy"],
        "request": "mapped",
        **options,
    }
    return settled(endpoints={"/chat": endpoint})


@pytest.mark.parametrize("turns", ["on", "off"])
@pytest.mark.parametrize("reason", PAUSED)
async def test_submitted_pause_of_a_standard_client_sends_the_turn_as_the_last_message(
    reason: str, turns: str
) -> None:
    model = PausingModel(reason)
    if turns == "off" and reason == "pause_turn":
        pytest.skip("the standard has no place for a call of the server's that waits")
    async with upstream(model) as server, gateway(config_of(server.url, turns=turns)) as running:
        asked = {"role": "user", "content": ASKED}
        first = await post(running, "standard", {"messages": [asked]})
        handler = MessageStreamHandler()
        state = [handler.handle_event(event) for event in first.events][-1]
        (question,) = [event["data"] for event in first.events if event["type"] == "interaction"]
        assert (question["kind"], first.end["status"]) == ("continue", "suspended")
        submitted = {"interaction_id": question["interaction_id"], "action": "submit"}
        body = {"messages": [asked, state.as_message()], "resume": [submitted]}
        second = await post(running, "standard", body)
    assert len(model.bodies) == 2
    assert second.text == "Found."


async def test_submitted_pause_of_an_ag_ui_client_sends_the_turn_as_the_last_message() -> None:
    model = PausingModel("pause_turn")
    async with upstream(model) as server, gateway(config_of(server.url)) as running:
        rest: dict[str, Any] = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
        asked = {"id": "1", "role": "user", "content": ASKED}
        first = await post(running, "ag-ui", {"threadId": "t", "runId": "a", "messages": [asked], **rest})
        events = [json.loads(line[6:]) for line in first.body.decode().splitlines() if line[:6] == "data: "]
        (interrupt,) = events[-1]["outcome"]["interrupts"]
        call = next(event for event in events if event["type"] == "TOOL_CALL_START")
        function = {"name": call["toolCallName"], "arguments": '{"query": "tea"}'}
        said = [
            {"id": "2", "role": "assistant", "content": "I search."},
            {
                "id": "3",
                "role": "assistant",
                "toolCalls": [{"id": call["toolCallId"], "type": "function", "function": function}],
            },
        ]
        resume = [{"interruptId": interrupt["id"], "status": "resolved"}]
        body = {"threadId": "t", "runId": "b", "messages": [asked, *said], "resume": resume, **rest}
        second = await post(running, "ag-ui", body)
    assert b"Found." in second.body


@pytest.mark.parametrize("accept", ["text/event-stream", "application/json"])
@pytest.mark.parametrize("reason", PAUSED)
async def test_paused_turn_sent_back_by_an_anthropic_client_is_completed(reason: str, accept: str) -> None:
    model = PausingModel(reason)
    async with upstream(model) as server, gateway(config_of(server.url)) as running:
        asked: dict[str, Any] = {"role": "user", "content": ASKED}
        body = {"model": "m", "max_tokens": 9, "messages": [asked], "stream": accept != "application/json"}
        first = await post(running, "anthropic", body, accept)
        if accept == "application/json":
            assert first.json["stop_reason"] == "pause_turn"
            content = first.json["content"]
        else:
            assert json.dumps(reason).encode() in first.body
            content = PAUSED[reason]
        said = {"role": "assistant", "content": content}
        second = await post(running, "anthropic", {**body, "messages": [asked, said]}, accept)
    assert b"Found." in second.body


async def test_cancelled_pause_is_refused() -> None:
    model = PausingModel("pause_turn")
    async with upstream(model) as server, gateway(config_of(server.url)) as running:
        messages = [{"role": "user", "content": ASKED}, {"role": "assistant", "content": "I search."}]
        body = {"messages": messages, "resume": [{"interaction_id": "ask_1", "action": "cancel"}]}
        got = await ask(
            running, headers=[("Content-Type", "application/json")], body=json.dumps(body).encode()
        )
    assert (got.status, model.bodies) == (400, [])


RESULT = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [{"type": "web_search_result", "url": "https://tea.example/", "title": "Tea"}],
}
WHOLE = [*PAUSED["pause_turn"], RESULT, *LAST]


class SearchingModel:
    """Answers with a search that it has run; keeps the bodies of its requests."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []

    async def __call__(self, call: Call) -> None:
        self.bodies.append(json.loads(call.body))
        await call.send(SSE, *map(chunk, frames_of(WHOLE, "end_turn")), b"0\r\n\r\n")


async def test_turn_with_calls_of_the_upstream_is_found_in_the_messages_of_an_ag_ui_client() -> None:
    model = SearchingModel()
    async with upstream(model) as server, gateway(config_of(server.url)) as running:
        rest: dict[str, Any] = {"state": {}, "tools": [], "context": [], "forwardedProps": {}}
        history: list[dict[str, Any]] = [{"id": "1", "role": "user", "content": ASKED}]
        for number in (2, 3):
            body = {"threadId": "t", "runId": f"r{number}", "messages": history, **rest}
            first = await post(running, "ag-ui", body)
            lines = first.body.decode().splitlines()
            events = [json.loads(line[6:]) for line in lines if line[:6] == "data: "]
            call = next(event for event in events if event["type"] == "TOOL_CALL_START")
            call_id = call["toolCallId"]
            function = {"name": call["toolCallName"], "arguments": '{"query": "tea"}'}
            asked = {"id": call_id, "type": "function", "function": function}
            history += [
                {"id": f"a{number}", "role": "assistant", "content": "I search."},
                {"id": f"b{number}", "role": "assistant", "toolCalls": [asked]},
                {"id": f"c{number}", "role": "tool", "toolCallId": call_id, "content": "[]"},
                {"id": f"d{number}", "role": "assistant", "content": "Found."},
                {"id": f"e{number}", "role": "user", "content": f"Question {number}"},
            ]
        await post(running, "ag-ui", {"threadId": "t", "runId": "r4", "messages": history, **rest})
    last = model.bodies[-1]["messages"]
    assert [message["role"] for message in last] == ["user", "assistant", "user", "assistant", "user"]
    assert [last[1]["content"], last[3]["content"]] == [WHOLE, WHOLE]


def test_names_of_many_neighbours_cost_no_more_than_a_bounded_text() -> None:
    messages: list[Message] = [made_message("assistant", "x" * 1000) for _ in range(3000)]
    groups = groups_of(messages)
    owner = TurnOwner("/chat", None)
    names = names_of_turns(groups, messages, owner, TextNames(owner))
    assert len(names) == len(messages)
    assert sum(map(len, names)) < 2 * (len(messages) + 1100)
