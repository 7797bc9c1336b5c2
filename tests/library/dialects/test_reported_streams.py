"""What the streams say that real servers were reported to send, whole, cut and through other protocols.

Each stands for a kind of fault: an id or a word that a server leaves out, spells otherwise or says twice.
"""

from typing import Any

import pytest

from places import RECORDED
from streams import events_of, one_byte_each, random_cuts, translate

TARGETS = ("openai-chat", "anthropic", "ag-ui", "vercel-ui")

REPORTED: dict[str, dict[str, Any]] = {
    "openai-chat/tgi-tool-calls-object": {
        "ends": {"suspended"},
        "tools": [("get_weather", {"location": "Lima"}, None)],
    },
    "openai-chat/mistral-thinking-array": {"text": "你好", "thinking": "好，打招呼。"},
    "openai-chat/minimax-reasoning-cumulative": {"text": "你好", "thinking": "用户在打招呼"},
    "openai-chat/groq-x-groq-usage": {"text": "行", "tokens": (18, 2, 20)},
    "openai-chat/whole-json-then-done": {"text": "好"},
    "openai-chat/vllm-abort": {"ends": {"error"}, "text": "写到一"},
    "openai-chat/zhipu-network-error": {"ends": {"error"}, "text": "写到"},
    "anthropic/anthropic-no-block-stop": {
        "ends": {"suspended"},
        "text": "好，我查。",
        "tools": [("ls", {"p": "a"}, None), ("ls", {"p": "b"}, None)],
    },
    "openai-responses/responses-sglang-router-call": {
        "ends": {"suspended"},
        "tools": [("get_weather", {"city": "京"}, None)],
    },
    "ag-ui/ag-ui-snake-case": {"text": "蛇", "tools": [("f", {}, "success")]},
    "langgraph-server/langgraph-js-tuple-type-ai": {"text": "你好。"},
    "langgraph-server/langgraph-doubling": {"text": "你好！请问职位？"},
    "dify/dify-agent-log": {"text": "九度", "tools": [("weather", {"city": "Lima"}, "success")]},
    "anthropic/anthropic-compaction-only": {"ends": {"suspended"}, "asked": ["continue"]},
    "openai-responses/responses-reasoning-text-part": {"text": "答", "thinking": "想好"},
    "langgraph-server/langgraph-bedrock-converse": {
        "text": "我查六点高潮。",
        "tools": [("lookup", {"q": "潮"}, "success")],
    },
}


def body_of(name: str) -> tuple[str, bytes]:
    dialect, _, stream = name.partition("/")
    (path,) = (RECORDED / dialect).glob(f"reported-{stream}.[sj]s*")
    return dialect, path.read_bytes()


def meaning_of(output: bytes) -> dict[str, Any]:
    texts = {"content": "", "thinking": ""}
    calls: dict[str, list[Any]] = {}
    asked: list[str] = []
    events = events_of(output)
    for event in events:
        data = event["data"]
        match event["type"]:
            case "content" | "thinking" as kind:
                before = "" if data.get("op") == "replace" else texts[kind]
                texts[kind] = before + data["content"]
            case "tool_call_start":
                calls[data["tool_id"]] = [data["tool_name"], data["arguments"], None]
            case "tool_call_end":
                calls[data["tool_id"]][2] = data["status"]
            case "interaction":
                asked.append(data["kind"])
    return {
        "end": events[-1]["data"],
        "text": texts["content"],
        "thinking": texts["thinking"],
        "tools": [tuple(call) for call in calls.values()],
        "asked": asked,
        "codes": [event["data"].get("message_code") for event in events if event["type"] == "warning"],
        "data": str([event for event in events if event["type"] == "data"]),
    }


@pytest.mark.parametrize("name", REPORTED)
def test_stream_as_reported_gives_its_meaning(name: str) -> None:
    dialect, body = body_of(name)
    expected = REPORTED[name]
    for pieces in ([body], one_byte_each(body), list(random_cuts(body, 7))):
        found = meaning_of(translate(pieces, speaks=dialect))
        assert found["end"]["status"] in expected.get("ends", {"completed"})
        assert found["text"] == expected.get("text", "")
        assert found["thinking"] == expected.get("thinking", "")
        assert found["tools"] == expected.get("tools", [])
        if "asked" in expected:
            assert found["asked"] == expected["asked"]
        if "tokens" in expected:
            counts = ("prompt_tokens", "completion_tokens", "total_tokens")
            assert tuple(found["end"]["summary"].get(count) for count in counts) == expected["tokens"]
        assert found["codes"] == []
        assert not (found["thinking"] and found["thinking"] in found["data"])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", REPORTED)
def test_stream_as_reported_keeps_its_meaning_in_other_protocols(name: str, target: str) -> None:
    dialect, body = body_of(name)
    expected = REPORTED[name]
    written = translate([body], speaks=dialect, answers=target, framing="sse")
    found = meaning_of(translate([written], speaks=target))
    if "continue" not in expected.get("asked", ()):  # a chat protocol asks in its text
        assert found["text"].replace("\n\n", "") == expected.get("text", "")
    ends = expected.get("ends", {"completed"})
    assert found["end"]["status"] in ends
    assert len(found["tools"]) == len(expected.get("tools", [])) or target in ("openai-chat", "anthropic")
