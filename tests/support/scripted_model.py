"""A model behind OpenAI's chat completions that does what the first part of its path says.

`http://127.0.0.1:PORT/tools/v1` calls two tools at once and then answers, `.../429/v1` refuses, and so on; at
`.../asked/v1` it does what the newest question names (`scenario=tools`), for servers that have one model.
The texts of its failures hold made-up secrets: none may reach a client.
"""

import json
import re
from collections.abc import Awaitable, Callable, Iterator
from typing import Any, Final

from scripted_upstream import SSE, Call, answer, chunk

ANSWER: Final = "West sells most: 5 against 3. 西部最多。"
THOUGHT: Final = "East or west: compare the amounts."
PIECE: Final = 6
ENDLESS: Final = 1200
"""Pieces of the scenario `slow`, one every 50 ms: a minute, if nobody leaves."""

REFUSALS: Final = {
    "401": ("401 Unauthorized", "Incorrect API key provided: sk-bad0000000000000000."),
    "429": ("429 Too Many Requests", "Rate limit reached for gpt-4o in organization org-SECRET123."),
    "500": ("500 Internal Server Error", "Traceback: connection to 10.1.2.3:5432 refused, password=abc"),
}
TOOL_ARGUMENTS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("weather", {"city": "Paris"}),
    ("weather", {"city": "北京"}),
    ("list_directory", {"path": "."}),
    ("execute_python", {"code": "print(1 + 1)"}),
    ("explore", {"purpose": "look", "code": "print(1 + 1)"}),
    ("inspect_source_data", {"table_names": ["sales"]}),
)
"""What the tools are called with; the first two that are offered are called."""

QUESTION: Final = {
    "action": "clarify",
    "thought": "two readings",
    "questions": [
        {"text": "Which metric?", "responseType": "single_choice", "options": ["Revenue", "Orders"]}
    ],
}
ONE_TOOL: Final = {
    "interrupt": [("book", {"city": "Paris"})],
    "raise": [("fail", {"city": "Paris"})],
    "long": [("order", {"city": "Paris"})],
}
"""Scenarios that call one tool: one that asks a person, one that raises, one that somebody else completes."""
_NAMED: Final = re.compile(rb"scenario=(\w+)")

Request = dict[str, Any]
ToolCalls = list[tuple[str, dict[str, Any]]]


async def play(call: Call) -> None:
    """Answer one request; the script of `scripted_upstream.upstream`."""
    scenario = scenario_of(call)
    request: Request = json.loads(call.body)
    if scenario in REFUSALS:
        await refuse(call, scenario)
    elif not request.get("stream"):
        await answer_at_once(call, request, scenario)
    else:
        await STREAMED.get(scenario, stream)(call, request, scenario)


def scenario_of(call: Call) -> str:
    """What to do: the first part of the path, or what the newest question names."""
    first = call.target.split("/")[1]
    return first if first != "asked" else _NAMED.findall(call.body)[-1].decode()


async def refuse(call: Call, scenario: str) -> None:
    status, message = REFUSALS[scenario]
    body = json.dumps({"error": {"message": message, "type": "error", "code": scenario}}).encode()
    await call.send(answer(body, "Content-Type: application/json", "Connection: close", status=status))


async def answer_at_once(call: Call, request: Request, scenario: str) -> None:
    """The answer as one JSON object; half of it, where it is cut."""
    text, calls = text_of(request, scenario), calls_of(request, scenario)
    message = {"role": "assistant", "content": text, "tool_calls": [*called(calls)] or None}
    if scenario == "reasoning":
        message["reasoning_content"] = THOUGHT
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    usage = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    body = json.dumps({**frame("chat.completion"), "choices": [choice], "usage": usage}).encode()
    whole = answer(body, "Content-Type: application/json", "Connection: close")
    await call.send(whole[: -len(body) // 2] if scenario == "cut" else whole)


async def stream(call: Call, request: Request, scenario: str) -> None:
    await begin(call)
    text, calls = text_of(request, scenario), calls_of(request, scenario)
    for piece in pieces_of(THOUGHT if scenario == "reasoning" else ""):
        await send(call, {"reasoning_content": piece})
    for piece in pieces_of(text):
        await send(call, {"content": piece})
    for index, made in enumerate(called(calls)):
        await send(call, {"tool_calls": [{"index": index, **made}]})
    await send(call, {}, finish_reason="tool_calls" if calls else "stop")
    await call.send(chunk(b"data: [DONE]\n\n"), b"0\r\n\r\n")


def pieces_of(text: str) -> list[str]:
    return [text[start : start + PIECE] for start in range(0, len(text), PIECE)]


async def stream_half(call: Call, request: Request, scenario: str) -> None:
    """Break off amid the text."""
    await begin(call)
    for piece in ("West", " sells"):
        await send(call, {"content": piece})


async def stream_on(call: Call, request: Request, scenario: str) -> None:
    """Go on until the caller leaves."""
    await begin(call)
    for number in range(ENDLESS):
        await send(call, {"content": f"{number} "}, pause=0.05)


STREAMED: Final[dict[str, Callable[[Call, Request, str], Awaitable[None]]]] = {
    "cut": stream_half,
    "crash": stream_half,
    "slow": stream_on,
}


async def begin(call: Call) -> None:
    """The head of a stream, which ends with its last chunk, and a first piece without text."""
    await call.send(SSE)
    await send(call, {"content": ""})


async def send(
    call: Call, delta: dict[str, Any], *, finish_reason: str | None = None, pause: float = 0.0
) -> None:
    choice = {"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": finish_reason}
    data = json.dumps({**frame("chat.completion.chunk"), "choices": [choice]})
    await call.send(chunk(f"data: {data}\n\n".encode()), pause=pause)


def frame(kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-1", "object": kind, "created": 1790000000, "model": "gpt-4o-mini"}


def calls_of(request: Request, scenario: str) -> ToolCalls:
    """The tools to call: none once there are results."""
    known = TOOL_ARGUMENTS if scenario == "tools" else ONE_TOOL.get(scenario, ())
    if request["messages"][-1]["role"] == "tool":
        return []
    offered = offered_in(request)
    return [(name, arguments) for name, arguments in known if name in offered][:2]


def called(calls: ToolCalls) -> Iterator[dict[str, Any]]:
    for index, (name, arguments) in enumerate(calls):
        function = {"name": name, "arguments": json.dumps(arguments)}
        yield {"id": f"call_{index}", "type": "function", "function": function}


def text_of(request: Request, scenario: str) -> str:
    """The text of the answer; Data Formulator's analyst expects its actions as JSON in it."""
    if calls_of(request, scenario):
        return ""
    if "explore" not in offered_in(request):
        return ANSWER
    action = (
        QUESTION if scenario == "interrupt" else {"action": "summary", "thought": "done", "summary": ANSWER}
    )
    return json.dumps(action, ensure_ascii=False)


def offered_in(request: Request) -> set[str]:
    return {tool["function"]["name"] for tool in request.get("tools") or ()}
