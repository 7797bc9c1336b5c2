"""What a dialect from YAML writes for the events of a stream."""

import json
from typing import Any

import pytest

from home_made import dialect, sse
from streams import canonical_streams, events_of, one_byte_each, translate
from streamweir import Translator
from streamweir.codec.dialect import Dialect
from streamweir.codec.mapped.write_scope import MAX_ANSWER

ACME = """
  write:
    rules:
      - on: content
        when: "channel == null"
        send: {event: delta, data: {kind: chunk, text: "${{ content }}", msg: "${{ message_id }}"}}
      - on: [status, thinking]
        send: []
      - {on: session_end, when: "status != 'error'", send: [{data: {kind: bye}}, "[DONE]"]}
"""
CHUNK = {"type": "token", "content": "Hi", "message_id": "m1"}
DONE = {"type": "done"}


def written(text: str, *messages: Any, framing: str = "sse", **options: Any) -> str:
    """What clients get of a legacy stream."""
    answers = dialect(text)
    return translate([sse(*messages)], speaks="legacy", answers=answers, framing=framing, **options).decode()


def rule(text: str, **keys: str) -> str:
    others = "".join(f"{key}: {value}, " for key, value in keys.items())
    return f"write: {{{others}rules: [{text}]}}"


def test_example_of_the_contract_is_written() -> None:
    assert written(ACME, CHUNK, {"type": "thinking", "content": "hm"}, DONE) == (
        'event: delta\ndata: {"kind":"chunk","text":"Hi","msg":"m1"}\n\n'
        'event: delta\ndata: {"kind":"chunk","text":"","msg":"m1"}\n\n'
        'data: {"kind":"bye"}\n\n'
        "data: [DONE]\n\n"
    )


def test_send_writes_the_frames_of_a_rule() -> None:
    send = """[
      {data: {a: "${{ content }}", b: "${{ missing }}", c: null}},
      {text: "<${{ content }}>"},
      {event: named},
      {event: "e${{ sequence }}", id: "${{ sequence }}", data: [1]},
      {when: missing, data: never},
      {each: "['x', 'y']", data: "${{ _item }}${{ _index }}"},
      "plain ${{ content }}"
    ]"""
    assert written(
        rule(f"{{on: content, when: content, send: {send}}}"), {"type": "token", "content": "Hi"}, DONE
    ) == (
        'data: {"a":"Hi","c":null}\n\n'
        "data: <Hi>\n\n"
        "event: named\n\n"
        "id: 1\nevent: e1\ndata: [1]\n\n"
        'data: "x0"\n\ndata: "y1"\n\n'
        "data: plain Hi\n\n"
    )


@pytest.mark.parametrize(
    ("framing", "expected"),
    [
        ("sse", "data: a\ndata: b\ndata: c\ndata: d\n\n"),
        ("ndjson", "a b c d\n"),
        ("lines", "a b c d\n"),
    ],
)
def test_line_end_in_a_text_never_ends_a_frame(framing: str, expected: str) -> None:
    text = rule("{on: content, when: content, send: '${{ content }}'}", framing=framing)
    assert written(text, {"type": "token", "content": "a\nb\r\nc\rd"}, DONE, framing=framing) == expected


def test_upstream_text_cannot_begin_an_sse_field() -> None:
    text = rule(
        "{on: content, when: content, send: {event: '${{ content }}', id: '${{ content }}', data: 1}}"
    )
    out = written(text, {"type": "token", "content": "a\ndata: evil\r\n\nb\0"}, DONE)
    assert out == "id: a data: evil   b \nevent: a data: evil   b \ndata: 1\n\n"


def test_framing_lines_has_its_media_type_unless_given() -> None:
    for text, media_type in {
        rule("{on: content, send: x}", framing="lines"): "text/plain; charset=utf-8",
        rule("{on: content, send: x}", framing="lines", media_type="text/x-acme"): "text/x-acme",
        rule("{on: content, send: x}"): "text/event-stream; charset=utf-8",
        rule("{on: content, send: x}", framing="ndjson"): "application/x-ndjson",
    }.items():
        assert Translator(answers=dialect(text)).media_type == media_type
        assert Translator(answers=dialect(text), framing="json").media_type == "application/json"


def test_first_framing_of_several_is_the_default() -> None:
    text = rule("{on: content, send: {data: 1}}", framing="[ndjson, lines]")
    assert Translator(answers=dialect(text)).framing == "ndjson"
    assert Translator(answers=dialect(text), framing="lines").framing == "lines"


@pytest.mark.parametrize(
    ("own", "expected"),
    [("sse", "sse"), ("ndjson", "ndjson"), ("lines", "lines"), ("auto", "sse"), ("text", "sse")],
)
def test_framing_of_write_defaults_to_that_of_the_dialect(own: str, expected: str) -> None:
    text = f"framing: {own}\n" + rule("{on: content, send: x}")
    assert Translator(answers=dialect(text), framing="sse").framing == expected


@pytest.mark.parametrize(
    ("heartbeat", "framing", "expected"),
    [("on", "sse", b": ping\n"), ("off", "sse", b""), ("on", "lines", b"\n"), ("off", "ndjson", b"")],
)
def test_heartbeats_are_written_as_configured(heartbeat: str, framing: str, expected: bytes) -> None:
    text = rule("{on: content, send: x}", framing=framing, heartbeat=heartbeat)
    assert Translator(answers=dialect(text), framing=framing).heartbeat() == expected


def test_sse_prefix_may_have_no_space() -> None:
    text = rule("{on: content, when: content, send: {data: {t: '${{ content }}'}}}", data_prefix="'data:'")
    assert written(text, CHUNK, DONE) == 'data:{"t":"Hi"}\n\n'


# What expressions see


def shown(message: Any, *, on: str, expression: str, before: tuple[Any, ...] = ()) -> Any:
    text = rule(f'{{on: {on}, send: {{data: {{v: "${{{{ {expression} }}}}"}}}}}}', framing="ndjson")
    out = written(text, *before, message, DONE, framing="ndjson")
    return json.loads(out.splitlines()[0])


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("content", "Hi"),
        ("message_id", "m1"),
        ("type", "content"),
        ("sequence", 1),
        ("request_id", "req_1"),
        ("timestamp", 1790000000000),
        ("_message.content", "Hi"),
        ("@.content", "Hi"),
        ("_count", 0),
        ("_answer", "Hi"),
    ],
)
def test_expressions_see_a_flat_event(expression: str, value: Any) -> None:
    assert shown(CHUNK, on="content", expression=expression) == {"v": value}


def test_later_events_of_a_call_have_its_name_and_arguments() -> None:
    call = {"type": "tool_call", "tool_id": "c", "tool_name": "f", "tool_args": {"a": 1}}
    end = {"type": "tool_result", "tool_id": "c", "result": "r"}
    assert shown(end, on="tool_call_end", expression="[tool_name, arguments, result]", before=(call,)) == {
        "v": ["f", {"a": 1}, "r"]
    }


def test_count_is_the_number_of_frames_of_the_rule() -> None:
    send = "{data: {n: '${{ _count }}', t: '${{ content }}'}}"
    text = rule(f"{{on: content, when: content, send: {send}}}", framing="ndjson")
    messages = [{"type": "token", "content": f"w{n}"} for n in range(40)]
    out = written(text, *messages, DONE, framing="ndjson")
    assert [json.loads(line) for line in out.splitlines()] == [{"n": n, "t": f"w{n}"} for n in range(40)]


def test_answer_over_its_limit_is_null() -> None:
    text = rule(
        "{on: session_end, send: {data: {v: '${{ _answer }}', n: '${{ length(_answer) }}'}}}",
        framing="ndjson",
    )
    messages = [{"type": "token", "content": f"w{n} "} for n in range(40)]
    whole = json.loads(written(text, *messages, DONE, framing="ndjson"))
    assert whole["v"] == "".join(message["content"] for message in messages)
    piece = "x" * (MAX_ANSWER // 16)
    fits = [{"type": "token", "content": piece}] * 16
    assert json.loads(written(text, *fits, DONE, framing="ndjson"))["n"] == MAX_ANSWER
    assert json.loads(written(text, *fits, CHUNK, DONE, framing="ndjson")) == {}


def test_answer_after_replace_is_the_new_text() -> None:
    text = rule("{on: session_end, send: {data: '${{ _answer }}'}}", framing="ndjson", replaces="true")
    messages = [{"type": "token", "content": "Hello"}, {"type": "final_answer", "content": "Bye bye"}, DONE]
    assert json.loads(written(text, *messages, framing="ndjson")) == "Bye bye"


def test_write_rules_can_remember() -> None:
    text = """
      write:
        framing: ndjson
        rules:
          - on: content
            when: "content && !(_state.begun)"
            send: [begin, "${{ content }}"]
            remember: {begun: true}
          - {on: content, when: content, send: "${{ content }}"}
    """
    messages = [{"type": "token", "content": f"w{n}"} for n in range(5)]
    assert written(text, *messages, DONE, framing="ndjson").split() == ["begin", "w0", "w1", "w2", "w3", "w4"]


def test_write_rules_see_options() -> None:
    options = "options: {case: [lower, upper]}"
    text = rule("{on: content, when: content, send: '${{ _options.case }}'}")
    text = f"{options}\n{text}"
    assert written(text, CHUNK, DONE) == "data: lower\n\n"


# Losses


def test_event_without_a_rule_is_lost_with_one_warning() -> None:
    table = {"type": "dataframe_data", "name": "t", "columns": ["a"], "rows": [[1]]}
    quiet = "{on: content, send: []}, {on: session_end, send: []}"
    text = rule(f"{quiet}, {{on: warning, send: '${{{{ message_code }}}}'}}", framing="lines")
    assert written(text, CHUNK, table, table, DONE, framing="lines") == "LOSSY_CONVERSION\n"
    silent = rule("{on: content, send: []}")
    translator = Translator(speaks="legacy", answers=dialect(silent))
    translator.feed(sse(CHUNK, table, DONE))
    assert translator.counts["lost"] == 2  # the table, and the warning that says so


def test_event_with_too_many_items_is_lost_alone() -> None:
    end = "{on: session_end, send: end}"
    text = rule(f"{{on: data, send: '${{{{ length(data.value.value[].v[]) }}}}'}}, {end}", framing="lines")
    many = {"type": "odd", "value": [{"v": [1] * 400}] * 300}
    assert written(text, many, DONE, framing="lines") == "end\n"
    few = {"type": "odd", "value": [{"v": [1] * 4}] * 3}
    assert written(text, few, DONE, framing="lines") == "12\nend\n"


# The fast way of texts is the long way


@pytest.mark.parametrize(
    "send",
    [
        '{data: {t: "${{ content }}"}}',
        '{data: {t: "${{ content }}", id: "${{ message_id }}", n: "${{ sequence }}"}}',
        '{data: {t: "${{ content }}", n: "${{ _count }}", at: "${{ timestamp }}"}}',
        '{event: "${{ message_id }}", data: {choices: [{delta: {content: "${{ content }}"}}]}}',
        '{data: {t: "${{ content }}", l: "${{ length(content) }}"}}',
        '{id: "${{ sequence }}", data: {t: "${{ content }}"}}',
        '{data: {t: "${{ content }}", all: "${{ _answer }}"}}',
        '"${{ content }}"',
        '{each: "[content, content]", data: {t: "${{ _item }}"}}',
    ],
)
@pytest.mark.parametrize(
    "when", ["", "when: content, ", "when: \"content != 'w3'\", ", "when: '_count < `5`', "]
)
def test_texts_of_one_read_are_written_like_single_texts(send: str, when: str) -> None:
    text = rule(f"{{on: content, {when}send: {send}}}, {{on: content, send: other}}")
    if not when:
        text = rule(f"{{on: content, send: {send}}}")
    speaks = [{"type": "token", "content": f"w{n}", "message_id": "m"} for n in range(12)]
    body = sse(*speaks, {"type": "thinking", "content": "hm"}, *speaks, DONE)
    answers = dialect(text)
    whole = translate([body], speaks="legacy", answers=answers, framing="sse")
    pieces = [block + b"\n\n" for block in body.split(b"\n\n")]
    assert translate(pieces, speaks="legacy", answers=answers, framing="sse") == whole
    assert translate(one_byte_each(body), speaks="legacy", answers=answers, framing="sse") == whole


# Any stream


@pytest.mark.parametrize("name", canonical_streams())
def test_each_event_type_can_be_written_and_read_again(name: str) -> None:
    text = """
      framing: ndjson
      rules: [{emit: {type: content, content: "${{ text }}"}}]
      terminal: [eof]
      write: {replaces: true, rules: [{on: "*", send: {data: "${{ _message }}"}}]}
    """
    answers: Dialect = dialect(text)
    body = canonical_streams()[name]
    straight = translate([body], speaks="standard")
    flat = events_of(translate([body], speaks="standard", answers=answers, framing="ndjson"))
    for event, message in zip(events_of(straight), flat, strict=True):
        assert message == {**event["metadata"], **event["data"], "type": event["type"]} or event["type"] in (
            "tool_call_progress",
            "tool_call_end",
        )
