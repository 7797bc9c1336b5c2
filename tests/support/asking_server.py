"""Users of chat protocols in front of a server whose runs wait for the results of calls."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

from loopback import Answer, Gateway, ask, gateway, settled
from scripted_upstream import Call, answer, upstream
from streams import sse_messages

KEYS = {"web": "key-of-web-0001", "batch": "key-of-batch-0001"}
UPSTREAM_ID = "call_1"
"""The id of every call, in every run: upstreams are free to count anew in each."""


def run_that_asks(number: int) -> bytes:
    """The stream of run `number` of a Coze server, which waits for the result of a call."""
    ids = {"id": f"chat-{number}", "conversation_id": f"conversation-{number}", "bot_id": "b"}
    call = {"id": UPSTREAM_ID, "type": "function", "function": {"name": "look", "arguments": "{}"}}
    asked = {"type": "submit_tool_outputs", "submit_tool_outputs": {"tool_calls": [call]}}
    events = [
        ("conversation.chat.created", {**ids, "status": "created"}),
        (
            "conversation.chat.requires_action",
            {**ids, "status": "requires_action", "required_action": asked},
        ),
        ("done", "[DONE]"),
    ]
    text = "".join(f"event:{name}\ndata:{json.dumps(data)}\n\n" for name, data in events)
    return answer(text.encode(), "Content-Type: text/event-stream")


class CozeServer:
    """A server each of whose runs asks.

    Attributes:
        begun: by the text that a user asked, the run that it began.
        answered: by the text of an answer, the run that it went to.
        conversations: of the questions, as the requests name them.
    """

    def __init__(self) -> None:
        self.begun: dict[str, str] = {}
        self.answered: dict[str, str] = {}
        self.conversations: list[str | None] = []
        self._count = 0

    async def __call__(self, call: Call) -> None:
        target, body = urlsplit(call.target), json.loads(call.body)
        self._count += 1
        if target.path == "/v3/chat":
            self.conversations.append(parse_qs(target.query).get("conversation_id", [None])[0])
            self.begun[body["additional_messages"][-1]["content"]] = f"chat-{self._count}"
        else:
            assert target.path == "/v3/chat/submit_tool_outputs"
            (output,) = body["tool_outputs"]
            assert output["tool_call_id"] == UPSTREAM_ID
            self.answered[output["output"]] = parse_qs(target.query)["chat_id"][0]
        await call.send(run_that_asks(self._count))


@asynccontextmanager
async def coze(**options: Any) -> AsyncIterator[tuple[Gateway, CozeServer]]:
    """A gateway before such a server."""
    async with coze_replicas(1, "memory", **options) as ((running,), script):
        yield running, script


@asynccontextmanager
async def coze_replicas(
    count: int, store: str, **options: Any
) -> AsyncIterator[tuple[list[Gateway], CozeServer]]:
    """Gateways with one store before such a server."""
    script = CozeServer()
    async with upstream(script) as server:
        endpoint = {
            "upstream": server.url,
            "path": "/v3/chat",
            "speaks": "coze",
            "request": {"mapped": {"bot_id": "7"}},
            "answers": ["openai-chat", "openai-responses", "anthropic", "ag-ui", "standard"],
            **options,
        }
        config = settled(endpoints={"/chat": endpoint}, auth={"keys": KEYS}, store=store)
        async with AsyncExitStack() as stack:
            yield [await stack.enter_async_context(gateway(config)) for _ in range(count)], script


async def post(running: Gateway, key: str, protocol: str, body: Any) -> Answer:
    headers = [
        ("Content-Type", "application/json"),
        ("X-Api-Key", KEYS[key]),
        ("X-Streamweir-Protocol", protocol),
    ]
    return await ask(running, headers=headers, body=json.dumps(body).encode())


def messages_in(got: Answer) -> list[Any]:
    """Return the JSON of each frame of an answer; of a JSON answer, its one object."""
    return [got.json] if got.framing == "json" else sse_messages(got.body)


def values_in(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield each key in a JSON value, at any depth, with its value."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield name, item
            yield from values_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from values_in(item)


class User:
    """A client of one protocol that asks and then sends the result of the call it is given."""

    def __init__(self, name: str, key: str, protocol: str, *, streams: bool = True) -> None:
        self.name = name
        self.key = key
        self.protocol = protocol
        self.streams = streams
        self.given = ""

    def body(self, question: str, result: str | None = None, call_id: str | None = None) -> dict[str, Any]:
        """A request: the question, and behind it the result of a call."""
        call_id = call_id or self.given
        user: Any = {"role": "user", "content": question}
        body: dict[str, Any] = {"model": "m", "stream": self.streams}
        match self.protocol:
            case "openai-chat":
                call = {"id": call_id, "type": "function", "function": {"name": "look", "arguments": "{}"}}
                done = [
                    {"role": "assistant", "tool_calls": [call]},
                    {"role": "tool", "tool_call_id": call_id, "content": result},
                ]
                return {**body, "messages": [user, *(done if result else [])]}
            case "openai-responses":
                done = [
                    {"type": "function_call", "call_id": call_id, "name": "look", "arguments": "{}"},
                    {"type": "function_call_output", "call_id": call_id, "output": result},
                ]
                return {**body, "input": [user, *(done if result else [])]}
            case "anthropic":
                use = {"type": "tool_use", "id": call_id, "name": "look", "input": {}}
                got = {"type": "tool_result", "tool_use_id": call_id, "content": result}
                done = [{"role": "assistant", "content": [use]}, {"role": "user", "content": [got]}]
                return {**body, "max_tokens": 9, "messages": [user, *(done if result else [])]}
        call = {"id": call_id, "type": "function", "function": {"name": "look", "arguments": "{}"}}
        done = [
            {"id": "a", "role": "assistant", "toolCalls": [call]},
            {"id": "t", "role": "tool", "toolCallId": call_id, "content": result},
        ]
        messages = [{"id": f"message of {self.name}", **user}, *(done if result else [])]
        thread = {"threadId": f"thread of {self.name}", "runId": "r", "state": {}, "tools": []}
        return {**thread, "context": [], "forwardedProps": {}, "messages": messages}

    async def ask(self, running: Gateway) -> None:
        """Ask, and take the id of the call that the answer waits for."""
        got = await post(running, self.key, self.protocol, self.body(f"question of {self.name}"))
        assert got.status == 200, got.body
        self.given = self.call_id(got)

    def call_id(self, got: Answer) -> str:
        """The id that the client is given to answer with."""
        said = messages_in(got)
        names = {"openai-responses": "call_id", "ag-ui": "toolCallId"}
        if self.protocol in names:
            return str(next(value for name, value in values_in(said) if name == names[self.protocol]))
        if self.protocol == "openai-chat":
            return str(next(value for name, value in values_in(said) if name == "tool_calls")[0]["id"])
        return next(
            str(value["id"])
            for value in [*said, *(item for _, item in values_in(said)), *_blocks(said)]
            if isinstance(value, dict) and value.get("type") == "tool_use"
        )

    async def answer(self, running: Gateway, call_id: str | None = None) -> Answer:
        body = self.body(f"question of {self.name}", f"answer of {self.name}", call_id)
        return await post(running, self.key, self.protocol, body)


def _blocks(said: list[Any]) -> Iterator[Any]:
    for _, value in values_in(said):
        if isinstance(value, list):
            yield from value
