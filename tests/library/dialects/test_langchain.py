"""LangChain and LangGraph: the same stream in other wrappings, its failures in every shape, its ends."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from places import ROOT
from streams import PLANTED, events_of, translate
from streamweir import Translator, detect_dialect

RECORDED = ROOT / "tests/dialects/langgraph-events"
EVENTS = ("events_v2_tool.sse", "events-v1-tools.sse", "events-v2-texts-of-python.sse", "events-v2-asks.sse")
SECRET = "Error code: 429 - rate limit of org-SECRET123, password=abc at 10.1.2.3"

Fields = dict[str, Any]


def messages_of(name: str) -> list[Any]:
    lines = (RECORDED / name).read_text().split("\n")
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


def meaning_of(body: bytes, speaks: str = "langgraph-events") -> Fields:
    """What comes of a body, without its ids."""
    events = events_of(translate([body], speaks=speaks))
    named = {kind: [event["data"] for event in events if event["type"] == kind] for kind in KINDS}
    return {
        "text": "".join(data["content"] for data in named["content"]),
        "calls": [(data["tool_name"], data["arguments"]) for data in named["tool_call_start"]],
        "results": sorted((data["status"], str(data.get("result"))) for data in named["tool_call_end"]),
        "asked": [data["questions"] for data in named["interaction"]],
        "status": named["session_end"][0]["status"],
    }


KINDS = ("content", "tool_call_start", "tool_call_end", "interaction", "session_end")


def in_sse(value: Any, name: str = "") -> str:
    named = f"event: {name}\n" if name else ""
    return f"{named}data: {json.dumps(value, ensure_ascii=False)}\n\n"


WRAPPINGS: dict[str, Callable[[Fields], str]] = {
    "lines": lambda event: f"{json.dumps(event)}\n",
    "a name beside it": lambda event: in_sse(event, event["event"]),
    "its data alone behind the name": lambda event: in_sse(event["data"], event["event"]),
    "a pair": lambda event: in_sse([event["event"], event]),
    "JSON in a string": lambda event: in_sse(json.dumps(event)),
    "an object around it": lambda event: in_sse({"type": "agent", "data": event}),
    "no blank lines": lambda event: in_sse(event)[:-1],
    "CRLF": lambda event: in_sse(event).replace("\n", "\r\n"),
}


@pytest.mark.parametrize("wrapping", WRAPPINGS)
@pytest.mark.parametrize("name", EVENTS)
def test_events_mean_the_same_in_any_wrapping(name: str, wrapping: str) -> None:
    body = "".join([*map(WRAPPINGS[wrapping], messages_of(name)), "\n"]).encode()
    assert detect_dialect(body) == "langgraph-events"
    assert meaning_of(body) == meaning_of((RECORDED / name).read_bytes())


def also_as_messages(event: Fields) -> str:
    """An event of the LangGraph server's mode, and what its mode `messages-tuple` says of the same piece."""
    chunk = event["data"].get("chunk") if event["event"] == "on_chat_model_stream" else None
    beside = in_sse([chunk, {"langgraph_node": "agent"}], "messages") if chunk else ""
    return in_sse(event, "events") + beside


@pytest.mark.parametrize(
    "write", [lambda event: in_sse(event, "events"), also_as_messages], ids=["alone", "both"]
)
@pytest.mark.parametrize("name", ["events_v2_tool.sse", "events-v2-asks.sse"])
def test_langgraph_server_has_a_mode_for_events(name: str, write: Callable[[Fields], str]) -> None:
    first = in_sse({"run_id": "r1", "attempt": 1}, "metadata")
    body = "".join([first, *map(write, messages_of(name))]).encode()
    assert detect_dialect(body) == "langgraph-server"
    assert meaning_of(body, "langgraph-server") == meaning_of((RECORDED / name).read_bytes())


ASKED: list[str] = [
    in_sse({"question": "Book Rome?"}, "interrupt"),
    in_sse({"type": "interrupt", "value": {"question": "Book Rome?"}}),
    in_sse({"type": "interrupt", "data": [{"value": {"question": "Book Rome?"}, "id": "i1"}]}),
    in_sse({"event": "interrupt", "interrupts": [{"value": "Book Rome?", "id": "i1"}]}),
    in_sse({"type": "interrupt", "id": "i1", "value": "Book Rome?"}),
    in_sse({"__interrupt__": ["Interrupt(value='Book Rome?', id='i1')"]}),
]


@pytest.mark.parametrize("asked", ASKED)
def test_question_in_the_form_of_a_server_is_read(asked: str) -> None:
    run = in_sse(
        {"event": "on_chain_end", "name": "g", "run_id": "r", "parent_ids": [], "data": {"output": {}}}
    )
    found = meaning_of(f"{run}{asked}data: [DONE]\n\n".encode())
    assert [questions[0]["text"] for questions in found["asked"]] == ["Book Rome?"]
    assert found["status"] == "suspended"


FAILURES: list[str] = [
    in_sse({"error": SECRET}, "error"),
    in_sse(SECRET, "error"),
    in_sse({"error": SECRET}),
    in_sse({"error": {"message": SECRET, "type": "RateLimitError"}}),
    in_sse({"type": "error", "content": SECRET}),
    in_sse({"event": "error", "data": {"message": SECRET, "status_code": 429}}),
    in_sse({"type": "error", "message": SECRET, "traceback": SECRET}),
    in_sse(["error", {"message": SECRET}]),
]


@pytest.mark.parametrize("failure", FAILURES)
def test_failure_ends_the_stream_and_keeps_its_text(failure: str) -> None:
    begun = "".join(map(in_sse, messages_of("events_v2_tool.sse")[:12]))
    output = translate([f"{begun}{failure}data: [DONE]\n\n".encode()], speaks="langgraph-events", debug=True)
    assert [event["data"]["code"] for event in events_of(output) if event["type"] == "error"] == [
        "RATE_LIMITED"
    ]
    assert not [secret for secret in PLANTED if secret.encode() in output]


FAILED_STEPS: list[str] = [
    in_sse({"id": "1", "name": "n", "error": SECRET, "result": None, "interrupts": []}, "tasks"),
    in_sse({"type": "task_result", "payload": {"id": "1", "name": "n", "error": SECRET}, "step": 1}, "debug"),
    in_sse({"event": "tool-error", "tool_call_id": "c", "message": SECRET}, "tools"),
    in_sse({"node": {"error": SECRET}}, "updates"),
    in_sse({"node": {"messages": [{"type": "tool", "content": SECRET, "status": "error"}]}}, "updates"),
    in_sse({"messages": [], "topic": "sales", "error": SECRET}, "values"),
    in_sse({"messages": [], "last_error": {"message": SECRET}}, "values"),
    in_sse({"event": "failed", "graph_name": "g", "error": SECRET}, "lifecycle"),
    *(
        in_sse({"event": f"on_{kind}_error", "run_id": "r", "parent_ids": ["r0"], "data": {"error": SECRET}})
        for kind in ("chain", "tool", "chat_model", "retriever")
    ),
]


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("step", FAILED_STEPS)
def test_cause_of_a_failed_step_stays_inside(step: str, raw: bool) -> None:
    output = translate([step.encode()], speaks="langgraph-events", raw=raw)
    assert len(events_of(output)) > 2
    assert not [secret for secret in PLANTED if secret.encode() in output]


def cut_short(name: str) -> Iterator[tuple[int, bytes]]:
    events = messages_of(name)
    for size in range(1, len(events)):
        yield size, "".join(map(in_sse, events[:size])).encode()


@pytest.mark.parametrize("end", ["", "data: [DONE]\n\n", 'data: {"type": "done"}\n\n'])
def test_end_of_an_inner_run_is_not_the_end(end: str) -> None:
    for size, body in cut_short("events_v2_tool.sse"):
        assert meaning_of(body + end.encode())["status"] == "error", size


@pytest.mark.parametrize(
    ("speaks", "step"),
    [
        ("langgraph-server", in_sse({"agent": {"messages": []}}, "updates")),
        ("langgraph-events", in_sse({"agent": {"messages": []}}, "updates")),
        ("langserve", in_sse({"agent": {"messages": []}}, "data")),
    ],
)
def test_silence_between_two_steps_is_not_the_end(speaks: str, step: str) -> None:
    translator = Translator(speaks=speaks)
    translator.feed(step.encode())
    assert not translator.complete


def test_calls_without_ids_are_paired_and_come_once() -> None:
    calls = [{"name": "sales", "args": {"month": month}, "id": None} for month in ("March", "April")]
    chunks = [
        {"name": "sales", "args": json.dumps(call["args"]), "index": at} for at, call in enumerate(calls)
    ]
    asked = {"type": "ai", "content": "", "id": "m1", "tool_calls": calls}
    results = [{"type": "function", "content": text, "name": "sales", "id": text} for text in ("31", "44")]
    answer = {"type": "ai", "content": "Up.", "id": "m2", "response_metadata": {"finish_reason": "stop"}}
    pieces: list[Any] = [
        ["messages", [{"type": "AIMessageChunk", "content": "", "id": "m1", "tool_call_chunks": chunks}, {}]],
        ["updates", {"agent": {"messages": [asked]}}],
        *(["updates", {"tools": {"messages": [result]}}] for result in results),
        ["values", {"messages": [asked, *results, answer]}],
    ]
    assert meaning_of("".join(map(in_sse, pieces)).encode()) == {
        "text": "Up.",
        "calls": [("sales", {"month": "March"}), ("sales", {"month": "April"})],
        "results": [("success", "31"), ("success", "44")],
        "asked": [],
        "status": "completed",
    }


def test_models_side_by_side_have_separate_messages() -> None:
    pieces = [
        {name: {"type": "AIMessageChunk", "content": text, "id": name}}
        for name, text in [("joke", "Why "), ("poem", "Roses "), ("joke", "not?"), ("poem", "are red.")]
    ]
    body = "".join(in_sse(piece, "data") for piece in pieces) + "event: end\n\n"
    texts: dict[str, str] = {}
    for event in events_of(translate([body.encode()], speaks="langserve")):
        if event["type"] == "content":
            message_id = event["metadata"]["message_id"]
            texts[message_id] = texts.get(message_id, "") + event["data"]["content"]
    assert texts == {"joke": "Why not?", "poem": "Roses are red."}


def test_agent_of_langserve_calls_its_tools_once() -> None:
    action = {"tool": "sales", "tool_input": {"month": "March"}, "log": "", "tool_call_id": "c1"}
    message = {
        "type": "AIMessageChunk",
        "content": "",
        "id": "m1",
        "tool_calls": [{"name": "sales", "id": "c1"}],
    }
    result = {"type": "tool", "content": "31", "tool_call_id": "c1"}
    answer = {"type": "ai", "content": "31 rows.", "id": "m2"}
    pieces: list[Any] = [
        {"actions": [action], "messages": [message]},
        {"steps": [{"action": action, "observation": "31"}], "messages": [result]},
        {"output": "31 rows.", "messages": [answer]},
    ]
    body = "".join(in_sse(piece, "data") for piece in pieces) + "event: end\n\n"
    assert meaning_of(body.encode(), "langserve") == {
        "text": "31 rows.",
        "calls": [("sales", {"month": "March"})],
        "results": [("success", "31")],
        "asked": [],
        "status": "completed",
    }


@pytest.mark.parametrize("ending", ["", "-cut", "-failed", "-asks"])
def test_envelopes_with_sse_names_mean_the_same_for_the_server_dialect(ending: str) -> None:
    body = (RECORDED / f"events-v3-server{ending}.sse").read_bytes()
    assert meaning_of(body, "langgraph-server") == meaning_of(body)
    assert detect_dialect(body) == "langgraph-events"


def test_messages_of_parallel_nodes_in_envelopes_stay_apart() -> None:
    def enveloped(node: str, event: Fields) -> Fields:
        return {
            "type": "event",
            "method": "messages",
            "params": {"namespace": [], "node": node, "data": event},
        }

    started = [
        enveloped(node, {"event": "message-start", "role": "ai", "id": f"m-{node}"}) for node in ("a", "b")
    ]
    texts = [
        enveloped(
            node,
            {
                "event": "content-block-delta",
                "index": 0,
                "delta": {"type": "text-delta", "text": f"from {node}"},
            },
        )
        for node in ("a", "b")
    ]
    body = "".join(in_sse(message, "messages") for message in [*started, *texts]).encode()
    found = {
        event["metadata"]["message_id"]: event["data"]["content"]
        for event in events_of(translate([body], speaks="langgraph-events"))
        if event["type"] == "content" and event["data"]["content"]
    }
    assert found == {"m-a": "from a", "m-b": "from b"}


def test_search_of_a_message_under_two_ids_comes_once() -> None:
    search = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "oslo"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [{"title": "Oslo"}]}
    content = [search, found, {"type": "text", "text": "Cold."}]
    piece = {"type": "AIMessageChunk", "id": "run-1", "content": content, "chunk_position": "last"}
    state = {"messages": [{"type": "ai", "id": "msg_9", "content": content}]}
    body = in_sse([piece, {"langgraph_node": "model"}], "messages") + in_sse(state, "values")
    meaning = meaning_of(body.encode(), "langgraph-server")
    assert meaning["calls"] == [("web_search", {"query": "oslo"})]
    assert [status for status, _ in meaning["results"]] == ["success"]
    assert meaning["status"] == "completed"
