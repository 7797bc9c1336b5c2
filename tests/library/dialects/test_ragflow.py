"""What the recorded streams cannot show: options, what is written, clients, and bodies that are no stream."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from places import RECORDED
from streams import events_of, translate
from streamweir.codec.families.think_tags import TaggedText
from streamweir.dialects.ragflow.decode import RagflowDecoder
from streamweir.dialects.ragflow.decode_answer_form import AnswerForm
from streamweir.testing import check_stream

HERE = RECORDED / "ragflow"
EVERYTHING = (HERE.parent / "standard" / "1.1-everything.ndjson").read_bytes()
FORMS: list[dict[str, str]] = [
    {"form": "agent"},
    {"form": "agent", "events": "filtered"},
    {"form": "chat"},
    {"form": "chat", "answer": "cumulative"},
    {"form": "openai"},
]


def standard(*events: dict[str, Any]) -> bytes:
    return b"".join(json.dumps({"metadata": {}, **event}).encode() + b"\n" for event in events)


def event(kind: str, /, metadata: dict[str, Any] | None = None, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, "metadata": metadata or {}}


def written(body: bytes, **options: str) -> bytes:
    return translate(
        [body], speaks="standard", answers="ragflow", framing="sse", protocol_options={"ragflow": options}
    )


def payloads(body: bytes) -> list[Any]:
    """The frames as RAGFlow's own clients take them apart: `data:` and no space."""
    blocks = body.decode().split("\n\n")
    assert all(block.startswith("data:") and block[5] != " " for block in blocks if block)
    return [json.loads(block[5:]) for block in blocks if block and block != "data:[DONE]"]


def read_back(body: bytes) -> list[dict[str, Any]]:
    output = translate([body], speaks="ragflow")
    assert check_stream(output, framing="ndjson") == []
    return events_of(output)


def text_of(events: list[dict[str, Any]]) -> str:
    text = ""
    for found in events:
        if found["type"] == "content":
            piece = found["data"]["content"]
            text = piece if found["data"].get("op") == "replace" else text + piece
    return text


@pytest.mark.parametrize("body", [b"data:[DONE]\n\n", b'data:{"code": 0, "message": "", "data": true}\n\n'])
def test_end_without_any_event_before_it_is_truncated(body: bytes) -> None:
    events = read_back(body)
    assert [found["data"].get("code") for found in events if found["type"] == "error"] == [
        "UPSTREAM_TRUNCATED"
    ]


@pytest.mark.parametrize(
    ("path", "options"),
    [
        ("/api/v1/agentbots/1f/completions", {"end": "eof"}),
        ("/v1/canvas/completion?x=1", {"end": "eof"}),
        ("/api/v1/agents/1f/completions", {}),
        ("/api/v1/chats/1f/completions", {}),
    ],
)
def test_path_decides_which_routes_send_no_done(path: str, options: dict[str, str]) -> None:
    assert dict(RagflowDecoder.options_for(path)) == options


@pytest.mark.parametrize("options", FORMS, ids=str)
def test_every_form_can_be_read_again(options: dict[str, str]) -> None:
    events = read_back(written(EVERYTHING, **options))
    asked = "\n\n出行\n- date" if options["form"] == "chat" else ""  # which cannot ask: a person reads it
    assert text_of(events) == f"年假五天 🏖️# 报告\n{asked}"
    assert "".join(e["data"]["content"] for e in events if e["type"] == "thinking") == "翻手册"
    (reference,) = [found["data"]["citations"] for found in events if found["type"] == "reference"]
    assert reference == [{"id": "37", "title": "员工手册.pdf", "snippet": "年假五天"}]


@pytest.mark.parametrize("options", FORMS, ids=str)
def test_every_form_reports_a_failed_run(options: dict[str, str]) -> None:
    failed = event("error", error_type="execution", code="UPSTREAM_ERROR", message="x", recoverable=True)
    failed["data"]["terminal"] = True
    body = standard(event("content", content="好"), failed, event("session_end", status="error"))
    output = written(body, **options)
    events = read_back(output)
    assert [found["type"] for found in events][-2:] == ["error", "session_end"]
    assert text_of(events) == "好"
    if options["form"] != "openai":
        assert any(frame.get("code") == 500 for frame in payloads(output))


OPENAI_FORM = sorted(
    path for path in (HERE.parent / "openai-chat").glob("ragflow-*") if path.suffix != ".expected"
)


@pytest.mark.parametrize("path", OPENAI_FORM, ids=lambda path: path.stem)
def test_openai_form_is_read_by_clients_that_choose_ragflow(path: Path) -> None:
    body = path.read_bytes()
    plain = {"standard": {"opaque": "off"}}
    assert translate([body], speaks="ragflow") == translate(
        [body], speaks="openai-chat", protocol_options=plain
    )


def test_agent_events_keep_calls_ids_durations_and_usage() -> None:
    body = standard(
        event("tool_call_start", tool_id="a", tool_name="search", arguments={"q": 1}),
        event("tool_call_start", tool_id="b", tool_name="search", arguments={"q": 2}),
        event("tool_call_end", {"duration_ms": 40}, tool_id="a", status="success", result=[1]),
        event(
            "tool_call_end",
            {"duration_ms": 7},
            tool_id="b",
            status="failed",
            error={"code": "NO_HIT", "message": "m"},
        ),
        event("content", {"message_id": "m1"}, content="好"),
        event("data", data_type="dataframe", data={"name": "t", "columns": ["a"], "rows": [[1]]}),
        event(
            "session_end",
            {"duration_ms": 900},
            status="completed",
            summary={"prompt_tokens": 3, "completion_tokens": 4},
        ),
    )
    events = read_back(written(body))
    starts = [found["data"] for found in events if found["type"] == "tool_call_start"]
    assert [(start["tool_id"], start["arguments"]) for start in starts] == [("a", {"q": 1}), ("b", {"q": 2})]
    ends = [found for found in events if found["type"] == "tool_call_end"]
    assert [(end["data"]["status"], end["metadata"]["duration_ms"]) for end in ends] == [
        ("success", 40),
        ("failed", 7),
    ]
    assert ends[0]["data"]["result"] == [1]
    assert ends[1]["data"]["error"]["code"] == "NO_HIT"
    (table,) = [found["data"] for found in events if found["type"] == "data"]
    assert table == {"data_type": "dataframe", "data": {"name": "t", "columns": ["a"], "rows": [[1]]}}
    assert events[-1]["data"]["summary"]["total_tokens"] == 7
    assert events[-1]["metadata"]["duration_ms"] == 900


@pytest.mark.parametrize("status", ["suspended", "cancelled"])
@pytest.mark.parametrize("events", ["all", "filtered"])
def test_agent_events_end_as_the_run_ended(status: str, events: str) -> None:
    body = standard(event("content", content="好"), event("session_end", status=status))
    assert read_back(written(body, events=events))[-1]["data"]["status"] == status


def test_each_form_is_read_back_unchanged() -> None:
    body = (HERE / "user-inputs.sse").read_bytes()
    again = translate([body], speaks="ragflow", answers="ragflow", framing="sse")
    asked = [frame["data"] for frame in payloads(again) if frame["event"] == "user_inputs"]
    assert asked == [frame["data"] for frame in recorded_frames(body) if frame["event"] == "user_inputs"]


def recorded_frames(body: bytes) -> list[Any]:
    lines = body.decode("utf-8-sig").splitlines()
    return [json.loads(line[5:]) for line in lines if line.startswith("data:") and line.endswith("}")]


@pytest.mark.parametrize("failing", [True, False])
def test_filtered_events_suit_the_official_sdk(failing: bool) -> None:
    """Its loop (0.22.1): every event up to the first `message_end` must have `data.content`."""
    end = (
        [event("error", error_type="system", code="INTERNAL", message="m", recoverable=True, terminal=True)]
        if failing
        else [event("session_end", status="completed", summary={"total_tokens": 3})]
    )
    body = standard(
        event("tool_call_start", tool_id="a", tool_name="t"), event("thinking", content="想"), *end
    )
    answers = []
    for frame in payloads(written(body, events="filtered")):
        if frame.get("event") == "message_end":
            break
        answers.append(frame["data"]["content"])
    assert "想" in answers


def test_cumulative_answers_suit_the_official_sdk() -> None:
    """Each frame holds the whole answer up to `data: true`; a replacement simply is the next answer."""
    body = standard(
        event("thinking", content="想"),
        event("content", content="五"),
        event("content", content="六天", op="replace"),
        event("session_end", status="completed"),
    )
    frames = payloads(written(body, form="chat", answer="cumulative"))
    assert [frame["data"]["answer"] for frame in frames[:-1]] == [
        "<think>想",
        "<think>想</think>五",
        "<think>想</think>六天",
        "<think>想</think>六天",
    ]
    assert frames[-1]["data"] is True


@pytest.mark.parametrize(
    ("frames", "marked", "answer"),
    [
        (["A", "B"], False, "AB"),
        (["年假", "年假五天"], False, "年假五天"),
        (["哈", "哈哈", "好"], False, "哈哈哈好"),
        (["哈", "哈哈", "哈哈哈"], True, "哈哈哈哈哈哈"),
        (["哈", "哈"], False, "哈哈"),
        (["年假是五天，可结转到明年三月底。"] * 2, False, "年假是五天，可结转到明年三月底。"),
        (["一二", "一二三四五", "一二三四五六"], True, "一二三四五六"),
    ],
)
def test_pieces_and_copies_are_distinguished(frames: list[str], marked: bool, answer: str) -> None:
    body = b"".join(
        b"data:"
        + json.dumps({"code": 0, "data": {"answer": text, **({"final": False} if marked else {})}}).encode()
        + b"\n\n"
        for text in frames
    )
    assert text_of(read_back(body + b'data:{"code":0,"data":true}\n\n')) == answer


def test_option_of_the_form_overrides_detection() -> None:
    for option, whole in (("delta", None), ("cumulative", "snapshot")):
        form = AnswerForm(option)
        parts = [form.take(text, marked=False, decorated=False) for text in ("a", "ab", "x")]
        assert [part.whole for part in parts] == [whole] * 3


@pytest.mark.parametrize("seed", range(20))
def test_tags_do_not_depend_on_the_cuts(seed: int) -> None:
    text = "a<think>b<think>c</think>d</think>e<thin f</think"
    chance = random.Random(seed)
    tagged = TaggedText("think")
    found: dict[str | None, str] = {None: "", "think": ""}
    while text:
        cut = chance.randint(1, 4)
        for tag, passage in tagged.feed(text[:cut]):
            found[tag] += passage
        text = text[cut:]
    for tag, passage in tagged.flush():
        found[tag] += passage
    assert found == {None: "ad</think>e<thin f</think", "think": "bc"}


ODD: list[Any] = [None, True, 0, -1.5, "", "x", "{", [], ["a"], {}, {"a": [1]}, [[{}]], 10**30]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_field_of_a_wrong_type_does_not_break_the_stream(seed: int) -> None:
    chance = random.Random(seed)
    recorded = sorted(HERE.glob("*.sse"))
    for path in chance.sample(recorded, 8):
        frames = recorded_frames(path.read_bytes())
        for frame in frames:
            spoil(frame, chance)
        body = "".join(f"data:{json.dumps(frame)}\n\n" for frame in frames).encode()
        output = translate([body], speaks="ragflow")
        assert check_stream(output, framing="ndjson") == []
        assert b'"INTERNAL"' not in output
        for options in FORMS:
            again = translate(
                [body],
                speaks="ragflow",
                answers="ragflow",
                framing="sse",
                protocol_options={"ragflow": options},
            )
            assert b"An internal error" not in again


def spoil(value: Any, chance: random.Random) -> None:
    if isinstance(value, dict):
        for key in list(value):
            if chance.random() < 0.15:
                value[key] = chance.choice(ODD)
            else:
                spoil(value[key], chance)
    elif isinstance(value, list):
        for item in value:
            spoil(item, chance)
