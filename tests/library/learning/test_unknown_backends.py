"""Backends that nobody has described: what is learned from one recording reads it, without an edit."""

import json
import time
from typing import Any, NamedTuple

import pytest

from home_made import spoken, sse
from streamweir import load_dialect
from streamweir.codec.dialect import Dialect
from streamweir.learning.learn import NothingLearned, learn


def ndjson(*messages: Any) -> bytes:
    return b"".join(json.dumps(message, ensure_ascii=False).encode() + b"\n" for message in messages)


class Backend(NamedTuple):
    """What one sends, and what it means."""

    body: bytes
    text: str = "Tea is better. "
    pieces: int = 3
    thought: str = ""
    calls: tuple[tuple[str, Any, Any], ...] = ()


TEXT = ("Tea ", "is ", "better. ")
SEARCH = ("search", {"q": "tea"}, "3 hits")

HITS = {"hits": 3}

BACKENDS = {
    "tokens": Backend(sse(*({"kind": "tok", "t": text} for text in TEXT), {"kind": "bye"})),
    "event names, no JSON": Backend(sse(*(("chunk", text) for text in TEXT), ("end", "x"))),
    "done mark": Backend(sse(*({"delta": {"content": text}} for text in TEXT), "[DONE]")),
    "no end at all": Backend(ndjson(*({"answer": text} for text in TEXT))),
    "cumulative": Backend(
        ndjson(*({"answer": "".join(TEXT[:count])} for count in (1, 2, 3)), {"answer": "", "done": True})
    ),
    "all of it again": Backend(
        sse(
            *({"type": "msg.delta", "text": text} for text in TEXT),
            {"type": "msg.final", "text": "".join(TEXT)},
            {"type": "closed"},
        )
    ),
    "laughter is no repetition": Backend(
        sse(*({"kind": "tok", "t": text} for text in ("哈", "哈哈", "，好")), {"kind": "bye"}), "哈哈哈，好"
    ),
    "thinking apart": Backend(
        sse(
            {"type": "reasoning", "content": "Hm, "},
            {"type": "reasoning", "content": "tea."},
            *({"type": "text", "content": text} for text in TEXT),
            {"type": "finish", "usage": {"input_tokens": 3, "output_tokens": 4}},
        ),
        thought="Hm, tea.",
    ),
    "a flag says what is thought": Backend(
        ndjson(
            {"text": "Hm, ", "thought": True},
            {"text": "tea.", "thought": True},
            *({"text": text} for text in TEXT),
            {"finish_reason": "stop"},
        ),
        thought="Hm, tea.",
    ),
    "tools by id": Backend(
        sse(
            {"ev": "tool_begin", "call": {"id": "c1", "fn": "search", "args": {"q": "tea"}}},
            {"ev": "tool_finish", "call": {"id": "c1", "out": "3 hits"}},
            *({"ev": "say", "txt": text} for text in TEXT),
            {"ev": "bye"},
        ),
        calls=(SEARCH,),
    ),
    "tools by name, two at once": Backend(
        sse(
            {"type": "tool_start", "tool": "search", "input": {"q": "tea"}},
            {"type": "tool_start", "tool": "clock", "input": {"zone": "CET"}},
            {"type": "tool_end", "tool": "clock", "output": "08:30"},
            {"type": "tool_end", "tool": "search", "output": "3 hits"},
            *({"type": "token", "content": text, "seq": seq} for seq, text in enumerate(TEXT)),
            {"type": "complete"},
        ),
        calls=(("clock", {"zone": "CET"}, "08:30"), SEARCH),
    ),
    "tools whole, in a list": Backend(
        sse(
            ("steps", [{"tool": "search", "toolInput": {"q": "tea"}, "toolOutput": "3 hits"}]),
            *(("token", {"text": text}) for text in TEXT),
            ("end", {}),
        ),
        calls=(SEARCH,),
    ),
    "arguments in pieces, id and name in the first": Backend(
        sse(
            {"calls": [{"index": 0, "id": "c1", "name": "search", "args": ""}]},
            {"calls": [{"index": 0, "args": '{"q": '}]},
            {"calls": [{"index": 0, "args": '"tea"}'}]},
            {"result": {"tool_call_id": "c1", "content": "3 hits"}},
            *({"content": text} for text in TEXT),
            {"stop": True},
        ),
        calls=(SEARCH,),
    ),
    "a flag says what is only a piece": Backend(
        sse(
            *({"author": "bot", "partial": True, "parts": [{"text": text}]} for text in TEXT),
            {"author": "bot", "partial": False, "parts": [{"text": "".join(TEXT)}], "finish": "stop"},
        )
    ),
    "a call is announced first": Backend(
        sse(
            {"type": "item.added", "item": {"type": "function_call", "call_id": "c1", "name": "search"}},
            {
                "type": "item.done",
                "item": {
                    "type": "function_call",
                    "call_id": "c1",
                    "name": "search",
                    "arguments": '{"q": "tea"}',
                },
            },
            {"type": "item.done", "item": {"type": "function_result", "call_id": "c1", "output": "3 hits"}},
            *({"type": "text.delta", "delta": text} for text in TEXT),
            {"type": "finished"},
        ),
        calls=(SEARCH,),
    ),
    "calls as far as they have come, beside their pieces": Backend(
        ndjson(
            {
                "msg": {
                    "text": "",
                    "tool_calls": [{"id": "c1", "name": "search", "args": {}}],
                    "tool_call_chunks": [{"index": 0, "id": "c1", "name": "search", "args": ""}],
                }
            },
            {
                "msg": {
                    "text": "",
                    "tool_calls": [{"id": None, "name": "", "args": {"q": ""}}],
                    "tool_call_chunks": [{"index": 0, "args": '{"q": "te'}],
                }
            },
            {"msg": {"text": "", "tool_call_chunks": [{"index": 0, "args": 'a"}'}]}},
            {"answer_of_tool": {"tool_call_id": "c1", "name": "search", "content": "3 hits"}},
            *({"msg": {"text": text}} for text in TEXT),
            {"done": True},
        ),
        calls=(SEARCH,),
    ),
    "fields tell what it is": Backend(
        ndjson(
            {"thought": "Hm, "},
            {"thought": "tea."},
            {"tool_call": {"name": "search", "arguments": {"q": "tea"}, "id": "c0"}},
            {"tool_result": {"id": "c0", "name": "search", "result": "3 hits"}},
            *({"text": text} for text in TEXT),
            {"done": True},
        ),
        thought="Hm, tea.",
        calls=(SEARCH,),
    ),
    "a call in one message, below a code": Backend(
        ndjson(
            *({"code": 0, "data": {"kind": "reason", "content": text}} for text in ("Hm, ", "tea.")),
            {
                "code": 0,
                "data": {
                    "kind": "tool",
                    "tool": {"name": "search", "args": {"q": "tea"}, "result": "3 hits"},
                },
            },
            {"code": 0, "data": {"kind": "tool", "tool": {"name": "clock", "args": {}, "result": "08:30"}}},
            *({"code": 0, "data": {"kind": "answer", "content": text}} for text in TEXT),
            {"code": 0, "data": {"kind": "stop"}},
        ),
        thought="Hm, tea.",
        calls=(SEARCH, ("clock", {}, "08:30")),
    ),
    "blocks with roles": Backend(
        sse(
            {"role": "assistant", "content": [{"type": "text", "text": "Tea "}]},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "t0", "name": "search", "input": {"q": "tea"}}],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t0", "content": {"hits": 3}}],
            },
            *({"role": "assistant", "content": [{"type": "text", "text": text}]} for text in TEXT[1:]),
            {"role": "system", "stop_reason": "end_turn"},
        ),
        calls=(("search", {"q": "tea"}, HITS),),
    ),
    "a status says whether a call begins": Backend(
        sse(
            *({"type": "text", "delta": text} for text in TEXT),
            {"type": "tool", "status": "running", "tool_name": "search", "input": {"q": "tea"}, "run": "r0"},
            {"type": "tool", "status": "done", "tool_name": "search", "output": "3 hits", "run": "r0"},
            {"type": "end"},
        ),
        calls=(SEARCH,),
    ),
    "wrapped, with heartbeats": Backend(
        sse(
            {"type": "ping"},
            *({"code": 0, "type": "chunk", "payload": {"answer": text}} for text in TEXT),
            {"type": "ping"},
            {"code": 0, "type": "over", "payload": {}},
        )
    ),
    "JSON text in JSON": Backend(
        ndjson(
            *({"id": 7, "data": json.dumps({"kind": "tok", "t": text})} for text in TEXT),
            {"id": 7, "data": json.dumps({"kind": "bye"})},
        )
    ),
    "lines": Backend(
        b'TOK "Tea "\nTOK "is "\nCALL search {"q": "tea"}\nRESULT search "3 hits"\nTOK "better. "\nEND\n',
        calls=(SEARCH,),
    ),
    "letters before JSON": Backend(
        b'0:"Tea "\n9:{"toolCallId":"c1","toolName":"search","args":{"q":"tea"}}\n'
        b'a:{"toolCallId":"c1","result":"3 hits"}\n0:"is "\n0:"better. "\nd:{"finishReason":"stop"}\n',
        calls=(SEARCH,),
    ),
    "the whole answer in one document": Backend(
        json.dumps({"status": "ok", "answer": "".join(TEXT)}, indent=1).encode(), pieces=1
    ),
    "plain text": Backend("".join(TEXT).encode(), pieces=1),
}


def pieces_of(events: list[dict[str, Any]], kind: str) -> list[str]:
    texts = [event["content"] for event in events if event["type"] == kind]
    return [text for text in texts if text]


def calls_of(events: list[dict[str, Any]]) -> list[tuple[str, Any, Any]]:
    started = {
        event["tool_id"]: (event["tool_name"], event["arguments"])
        for event in events
        if event["type"] == "tool_call_start"
    }
    ended = [event for event in events if event["type"] == "tool_call_end"]
    assert len(ended) == len(started)
    return sorted((*started[event["tool_id"]], event["result"]) for event in ended)


@pytest.mark.parametrize("name", BACKENDS)
def test_learned_dialect_reads_its_body(name: str) -> None:
    backend = BACKENDS[name]
    learned = learn([backend.body], name="acme")
    events = spoken(Dialect.of_class("acme", load_dialect(learned.dialect)), backend.body)
    texts = pieces_of(events, "content")
    assert "".join(texts) == backend.text, learned.yaml
    assert len(texts) == backend.pieces, learned.yaml
    assert "".join(pieces_of(events, "thinking")) == backend.thought, learned.yaml
    assert calls_of(events) == sorted(backend.calls), learned.yaml
    assert (events[-1]["type"], events[-1]["status"]) == ("session_end", "completed"), learned.yaml


def test_report_names_the_frames_that_are_not_understood() -> None:
    body = sse(
        *({"kind": "tok", "t": text} for text in TEXT), {"kind": "mood", "level": {"joy": 3}}, "[DONE]"
    )
    learned = learn([body], name="acme")
    report = learned.report.as_json()
    assert (report["framing"], report["frames"], report["explained"]) == ("sse", 5, 4)
    assert report["share"] == 0.8
    assert "level.joy" in report["fields"]
    assert "level.joy" not in report["fields_used"]
    (mood,) = [name for name in report["names"] if name["name"] == "mood"]
    assert (mood["count"], mood["sure"]) == (1, False)
    assert {"about": "mood", "question": "`mood` was not understood: what does it say?"} in report["unsure"]
    assert "# `mood` was not understood: what does it say?" in learned.yaml
    events = spoken(Dialect.of_class("acme", load_dialect(learned.dialect)), body)
    assert {"name": "mood", "value": {"kind": "mood", "level": {"joy": 3}}} in [
        event.get("data") for event in events
    ]


def test_end_that_is_not_in_the_recording_is_marked() -> None:
    learned = learn([BACKENDS["no end at all"].body])
    assert learned.dialect["terminal"] == ["eof"]
    assert "# no end was seen" in learned.yaml
    assert learned.report.unsure


def test_several_bodies_teach_more_than_one() -> None:
    plain, tools = (
        BACKENDS["tokens"],
        sse(
            {"kind": "tool_start", "name": "search", "args": {"q": "tea"}},
            {"kind": "tool_end", "name": "search", "result": "3 hits"},
            {"kind": "tok", "t": "Done. "},
            {"kind": "bye"},
        ),
    )
    learned = learn([plain.body, tools])
    dialect = Dialect.of_class("acme", load_dialect(learned.dialect))
    assert "".join(pieces_of(spoken(dialect, plain.body), "content")) == plain.text
    assert calls_of(spoken(dialect, tools)) == [SEARCH]


@pytest.mark.parametrize("body", [b"", b"  \n", b"\x89PNG\0\xff", ndjson({"status": "ok"}, {"n": 1})])
def test_learn_from_a_body_without_events_learns_nothing(body: bytes) -> None:
    with pytest.raises(NothingLearned):
        learn([body])


def test_time_grows_no_faster_than_the_number_of_calls() -> None:
    """One kind of record begins and ends each call, so that all of them are compared with the others."""

    def seconds(count: int) -> float:
        calls = [
            {"type": "tool", "id": f"c{number}", "name": "search", "args": {"q": "tea"}, "result": result}
            for number in range(count)
            for result in (None, f"{number} hits")
        ]
        words = [{"type": "token", "text": f"word {number} "} for number in range(count)]
        body = sse(*calls, *words, {"type": "done"})
        began = time.process_time()
        learn([body])
        return time.process_time() - began

    seconds(10)  # what is loaded on first use
    few = seconds(100)
    assert seconds(400) < 12 * few + 0.5
