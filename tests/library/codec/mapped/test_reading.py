"""What the rules of a dialect from YAML make of what a backend sends."""

from textwrap import dedent
from typing import Any

import pytest

from home_made import dialect, ending, spoken, sse, summary
from streamweir.codec.dialect import Dialect
from streamweir.ids import made_call_id

END = {"type": "session_end", "status": "completed", "reason": "done"}
COMPLETED = {"type": "content", "content": "", "is_complete": True}


def events(text: str, *messages: Any) -> list[dict[str, Any]]:
    """The events of some messages, without the end of the last message and of the stream."""
    found = spoken(dialect(f"terminal: [eof]\n{dedent(text)}"), sse(*messages))
    return [event for event in found if event not in (END, COMPLETED) and not is_end_of_nothing(event)]


def is_end_of_nothing(event: dict[str, Any]) -> bool:
    """A body that says nothing has broken off."""
    ends = ("UPSTREAM_TRUNCATED", "UPSTREAM_INVALID_RESPONSE")
    is_doubt = event.get("message_code") == "END_UNCONFIRMED"
    return event.get("code") in ends or event["type"] == "session_end" or is_doubt


def content(text: str, **fields: Any) -> dict[str, Any]:
    return {"type": "content", **fields, "content": text}


def said_by(rule: str, message: Any) -> bool:
    """Does a rule with these conditions take the message?"""
    rules = f"rules:\n  - {{{rule}, emit: {{type: content, content: taken}}}}\n  - emit: []"
    return events(rules, message) == [content("taken")]


@pytest.mark.parametrize(
    ("condition", "message", "takes"),
    [
        ("event: token", ("token", {}), True),
        ("event: token", ("other", {}), False),
        ("event: [token, other]", ("other", {}), True),
        ("event: message", {}, True),
        ("event: message", ("message", {}), True),
        ("event: message", ("token", {}), False),
        ("match: {kind: a}", {"kind": "a"}, True),
        ("match: {kind: a}", {"kind": "b"}, False),
        ("match: {kind: a, n: 1}", {"kind": "a", "n": 1}, True),
        ("match: {kind: a, n: 1}", {"kind": "a", "n": 2}, False),
        ("match: {n: 1}", {"n": "1"}, False),
        ("match: {n: 1}", {"n": True}, False),
        ("match: {n: 1}", {"n": 1.0}, True),
        ("match: {n: true}", {"n": True}, True),
        ("match: {n: true}", {"n": 1}, False),
        ("match: {kind: [a, b]}", {"kind": "b"}, True),
        ("match: {kind: [a, null]}", {}, True),
        ("match: {tool: {error: true}}", {"tool": {"error": True}}, True),
        ("match: {tool: {error: true}}", {"tool": {}}, False),
        ("match: {tool: {error: true}}", {"tool": "x"}, False),
        ("match: {error: null}", {}, True),
        ("match: {error: null}", {"error": None}, True),
        ("match: {error: null}", {"error": 0}, False),
        ("match: {kind: a}", ["a"], False),
        ("has: tool.error", {"tool": {"error": 0}}, True),
        ("has: tool.error", {"tool": {"error": None}}, False),
        ("has: tool.error", {"tool": {}}, False),
        ("has: [a, b]", {"a": 1}, False),
        ("has: 'choices[0].delta'", {"choices": [{"delta": {}}]}, True),
        ("has: 'choices[1].delta'", {"choices": [{"delta": {}}]}, False),
        ("lacks: error", {}, True),
        ("lacks: error", {"error": None}, True),
        ("lacks: [error, warning]", {"warning": "x"}, False),
        ("text: '[DONE]'", "[DONE]", True),
        ("text: '[DONE]'", "[DONE] ", False),
        ("text: [a, b]", "b", True),
        ("prefix: 'TOK '", "TOK x", True),
        ("prefix: 'TOK '", "TOC x", False),
        ("when: n", {"n": 0}, True),
        ("when: n", {"n": ""}, False),
        ("when: n", {"n": []}, False),
        ("when: n", {"n": {}}, False),
        ("when: n", {"n": False}, False),
        ("when: 'n > `3`'", {"n": 4}, True),
        ("when: '${{ n > `3` }}'", {"n": 3}, False),
        ("when: 'length(n) > `1`'", {"n": 7}, False),
        ("when: \"_event == 'token'\"", ("token", {}), True),
        ("event: bye, match: {n: 1}", ("bye", {"n": 1}), True),
        ("event: bye, match: {n: 1}", ("hi", {"n": 1}), False),
    ],
)
def test_rule_takes_a_frame_if_all_conditions_hold(condition: str, message: Any, takes: bool) -> None:
    assert said_by(condition, message) is takes


def test_first_matching_rule_takes_the_frame() -> None:
    rules = """
      rules:
        - {match: {kind: a}, when: n, emit: {type: content, content: first}}
        - {match: {kind: [a, b]}, emit: {type: content, content: second}}
        - {emit: {type: content, content: last}}
    """
    said = events(rules, {"kind": "a", "n": 1}, {"kind": "a"}, {"kind": "b"}, {"kind": "c"}, {"n": 1}, [1])
    assert [event["content"] for event in said] == ["first", "second", "second", "last", "last", "last"]


def test_prefix_rest_is_the_text_of_its_rule_only() -> None:
    rules = """
      data: text
      rules:
        - {prefix: "A ", when: "_text == 'x'", emit: {type: content, content: "1 ${{ _text }}"}}
        - {prefix: "A", emit: {type: content, content: "2 ${{ _text }}"}}
        - {emit: {type: content, content: "3 ${{ _text }} ${{ _message }}"}}
    """
    said = events(rules, "A x", "A y", "B")
    assert [event["content"] for event in said] == ["1 x", "2  y", "3 B B"]


# What no rule takes


def test_unknown_message_becomes_a_custom_event_with_its_name() -> None:
    rules = "rules: [{match: {kind: a}, emit: {type: content, content: x}}]"
    messages = [{"type": "odd", "kind": "b"}, {"event": "other"}, {"kind": "c"}, {"type": 7, "event": "e"}]
    names = [event["data"]["name"] for event in events(rules, *messages, ("sse", {"type": "t"}), 5)]
    assert names == ["odd", "other", "c", "e", "sse", "message"]
    (whole,) = events(rules, {"type": "odd", "n": [1]})
    assert whole["data"] == {"name": "odd", "value": {"type": "odd", "n": [1]}}


def test_unknown_frame_without_json_is_malformed() -> None:
    (warning,) = events("rules: [{emit: []}]", "not json")
    assert warning["message_code"] == "UPSTREAM_MALFORMED_EVENT"


def test_frame_without_json_can_match_by_event_name() -> None:
    rules = "rules: [{event: token, emit: {type: content, content: '${{ @ }}'}}]"
    assert events(rules, ("token", "Hel lo")) == [content("Hel lo")]


def test_empty_frame_counts_only_if_it_has_a_name() -> None:
    rules = "rules: [{match: {kind: a}, emit: {type: content, content: x}}]"
    assert events(rules, ("odd", None)) == [
        {"type": "data", "data_type": "custom", "data": {"name": "odd", "value": ""}}
    ]
    assert events("rules: [{event: end, emit: {type: content, content: x}}]", ("end", None)) == [content("x")]
    assert events("rules: [{emit: {type: content, content: x}}]", "") == []


# Ignored, terminal


def test_words_match_the_name_or_the_whole_text() -> None:
    text = "ignore: [ping, '[IDLE]', {n: 1}]\nrules: [{emit: {type: content, content: x}}]"
    said = events(text, ("ping", {}), {"type": "ping"}, " [IDLE] ", {"n": 1}, {"text": "ping"})
    assert said == [content("x")]


@pytest.mark.parametrize("last", [{"type": "bye"}, ("bye", {}), "bye", "[DONE]", {"over": True}])
def test_terminal_frame_is_evidence_of_the_end(last: Any) -> None:
    text = """
      rules: [{has: t, emit: {type: content, content: "${{ t }}"}}]
      terminal: [bye, "[DONE]", {over: true}]
    """
    speaks = dialect(text)
    assert ending(speaks, sse({"t": "x"}, last)) == ("completed", "done")
    assert ending(speaks, sse({"t": "x"})) == ("error", "truncated")
    assert ending(speaks, sse({"t": "x"}, last, {"t": "y"})) == ("completed", "done")


def test_terminal_frame_is_read_by_rules_too() -> None:
    text = "rules: [{match: {kind: bye}, emit: {type: content, content: '${{ last }}'}}]\nterminal: [bye]"
    speaks = dialect(text)
    assert spoken(speaks, sse({"kind": "bye", "last": "!"}))[0] == content("!")
    assert ending(speaks, sse({"kind": "bye", "last": "!"})) == ("completed", "done")


# Evidence of the end


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        ("{type: session_end}", ("completed", "done")),
        ("{type: session_end, status: cancelled}", ("cancelled", "cancelled")),
        ("{type: session_end, status: suspended}", ("suspended", "interaction")),
        ("{type: session_end, status: error}", ("error", "upstream_error")),
        ("{type: error}", ("error", "upstream_error")),
        ("{type: complete}", ("completed", "done")),
        ("{type: interaction, kind: form}", ("suspended", "interaction")),
        ("{type: interaction, kind: form, state: resolved}", ("error", "truncated")),
        ("{type: error, terminal: false}", ("error", "truncated")),
    ],
)
def test_stream_end_depends_on_the_evidence(entry: str, expected: tuple[str, str]) -> None:
    speaks = dialect(f"rules: [{{has: end, emit: {entry}}}, {{emit: {{type: content, content: x}}}}]")
    assert ending(speaks, sse({"n": 1}, {"end": 1})) == expected


def test_session_end_rule_ends_the_stream_at_once() -> None:
    speaks = dialect("rules: [{has: end, emit: {type: session_end}}, {emit: {type: content, content: x}}]")
    assert spoken(speaks, sse({"n": 0}, {"end": 1}, {"n": 1}))[-1] == END


EOF_TEXT = """
  terminal: [eof]
  rules:
    - {has: t, emit: {type: content, content: "${{ t }}", is_complete: "${{ last }}"}}
    - {has: call, emit: {type: tool_call_start, tool_id: "${{ call }}", tool_name: f}}
    - {has: piece, emit: {type: tool_call_delta, tool_id: c, tool_name: f, arguments_delta: "${{ piece }}"}}
    - {has: result, emit: {type: tool_call_end, tool_id: "${{ result }}"}}
    - {has: ask, emit: {type: interaction, kind: approval}}
"""


@pytest.mark.parametrize(
    ("messages", "status"),
    [
        ([{"t": "x", "last": True}], "completed"),
        ([{"t": "x"}], "error"),  # the dialect marks the end of messages
        ([{"call": "c"}, {"result": "c"}], "completed"),
        ([{"call": "c"}], "error"),
        ([{"piece": "{}"}], "error"),
        ([{"call": "c"}, {"ask": 1}], "suspended"),
        ([], "error"),
    ],
)
def test_terminal_eof_is_evidence_if_no_message_is_open(messages: list[Any], status: str) -> None:
    assert ending(dialect(EOF_TEXT), sse(*messages))[0] == status


def test_terminal_eof_behind_half_a_line_is_no_evidence() -> None:
    speaks = dialect(
        "framing: ndjson\nterminal: [eof]\nrules: [{emit: {type: content, content: '${{ t }}'}}]"
    )
    assert ending(speaks, b'{"t": "a"}\n{"t": "b"}') == ("completed", "done")
    assert ending(speaks, b'{"t": "a"}\n{"t": "b') == ("error", "truncated")


# Values


@pytest.mark.parametrize(
    ("leaf", "value"),
    [
        ("literal", "literal"),
        ("7", 7),
        ("true", True),
        ("'${{ n }}'", 5),
        ("'${{ o.list }}'", [1, "x"]),
        ("'<${{ n }}>'", "<5>"),
        ("'${{ n }}${{ missing }}${{ o.list }}'", '5[1,"x"]'),
        ("'$${{ n }}'", "${{ n }}"),
        ("{a: '${{ missing }}', b: null, c: '${{ n }}'}", {"b": None, "c": 5}),
        ("['${{ missing }}', null, '${{ n }}']", [None, 5]),
        ("'${{ {x: n, y: {z: n}} }}'", {"x": 5, "y": {"z": 5}}),
        ("\"${{ '}}' }}\"", "}}"),
        ("'${{ from_json(text).a }}'", 1),
        ("'${{ _message.n }}'", 5),
        ("'${{ items[?id == _message.n].v | [0] }}'", "found"),
        ("'${{ @._event }}'", "own"),
        ("'${{ _event }}'", "name"),
    ],
)
def test_leaf_values_keep_their_type(leaf: str, value: Any) -> None:
    message = {
        "n": 5,
        "o": {"list": [1, "x"]},
        "text": '{"a": 1}',
        "items": [{"id": 4, "v": "no"}, {"id": 5, "v": "found"}],
        "_event": "own",
    }
    rules = f"rules: [{{emit: {{type: data, data_type: state, data: {{v: {leaf}}}}}}}]"
    assert events(rules, ("name", message))[0]["data"] == {"v": value}


@pytest.mark.parametrize(
    ("value", "text"), [("a", "a"), (5, "5"), (0, "0"), (True, "true"), ({"a": 1}, '{"a":1}'), ([1], "[1]")]
)
def test_text_field_converts_other_values_to_json(value: Any, text: str) -> None:
    rules = "rules: [{emit: {type: content, content: '${{ v }}', message_id: m}}]"
    assert events(rules, {"v": value}) == [
        content(text, message_id="m"),
        {**COMPLETED, "message_id": "m"},
    ]


@pytest.mark.parametrize("value", [None, ""])
def test_content_without_text_is_dropped_unless_it_completes(value: Any) -> None:
    rules = "rules: [{emit: [{type: content, content: '${{ v }}'}, {type: thinking, content: '${{ v }}'}]}]"
    assert events(rules, {"v": value}) == []
    ends = dialect(
        "terminal: [eof]\nrules: [{emit: {type: content, content: '${{ v }}', is_complete: true}}]"
    )
    assert spoken(ends, sse({"v": "a"}, {"v": ""})) == [{**content("a"), "is_complete": True}, END]


def test_id_field_accepts_texts_and_numbers_only() -> None:
    rules = "rules: [{emit: {type: content, content: x, message_id: '${{ id }}', run_id: '${{ run }}'}}]"
    assert events(rules, {"id": 7})[0] == content("x", message_id="7")
    assert events(rules, {"id": ""})[0] == content("x")
    assert events(rules, {"id": ["a"]})[0]["message_code"] == "UPSTREAM_MALFORMED_EVENT"


@pytest.mark.parametrize(
    "entry",
    [
        "{type: tool_call_delta, arguments_delta: '${{ v }}'}",
        "{type: data, data_type: state, data: '${{ v }}'}",
        "{type: data, data_type: '${{ v }}', data: {a: 1}}",
        "{type: reference, citations: '${{ v }}'}",
        "{type: status, scope: node, state: '${{ v }}'}",
        "{type: warning, message: '${{ v }}'}",
        "{type: interaction, kind: '${{ v }}'}",
        "{type: session_start, session_id: '${{ v }}'}",
        "{type: usage, prompt_tokens: '${{ v }}'}",
    ],
)
def test_entry_with_a_null_required_field_is_dropped(entry: str) -> None:
    assert events(f"rules: [{{emit: {entry}}}]", {"n": 1}) == []


def test_tool_without_a_name_is_called_unknown() -> None:
    said = events("rules: [{emit: {type: tool_call_start, tool_name: '${{ v }}'}}]", {"n": 1})
    assert said[0]["tool_name"] == "unknown"


@pytest.mark.parametrize(
    "entry",
    [
        "{type: reference, citations: '${{ v }}'}",
        "{type: status, scope: node, state: '${{ v }}'}",
        "{type: data, data_type: image, data: {name: '${{ v }}'}}",
        "{type: data, data_type: state_delta, data: ['${{ v }}']}",
        "{type: tool_call_progress, progress: '${{ v }}'}",
        "{type: interaction, kind: form, schema: '${{ v }}'}",
        "{type: content, content: x, is_complete: '${{ v }}'}",
        "{type: content, content: x, duration_ms: '${{ v }}'}",
        "{type: usage, total_tokens: '${{ v }}'}",
        "{type: error, http_status: '${{ v }}'}",
    ],
)
def test_value_of_a_wrong_kind_makes_the_frame_malformed(entry: str) -> None:
    rules = (
        f"rules: [{{emit: [{{type: content, content: before}}, {entry}, {{type: content, content: after}}]}}]"
    )
    said = events(rules, {"v": "odd"})
    assert [event.get("content", event.get("message_code")) for event in said] == [
        "before",
        "UPSTREAM_MALFORMED_EVENT",
    ]


# Events


def one(entry: str, message: Any = None) -> dict[str, Any]:
    (event,) = events(f"rules: [{{emit: {entry}}}]", message or {"n": 1})
    return event


def test_cumulative_and_repeated_text_is_sent_once() -> None:
    rules = """
      rules:
        - {has: all, emit: {type: content, content: "${{ all }}", text: cumulative}}
        - {has: last, emit: {type: content, content: "${{ last }}", text: whole}}
    """
    said = events(rules, {"all": "Hel"}, {"all": "Hello"}, {"last": "Hello!"})
    assert [event["content"] for event in said] == ["Hel", "lo", "!"]


def test_calls_without_ids_are_paired_by_name() -> None:
    both = """
      rules:
        - emit:
            each: data
            emit:
              - {type: tool_call_start, tool_name: "${{ _item.tool }}", arguments: "${{ _item.toolInput }}"}
              - {type: tool_call_end, tool_name: "${{ _item.tool }}", result: "${{ _item.toolOutput }}"}
    """
    said = events(both, {"data": [{"tool": "f", "toolInput": {"a": 1}, "toolOutput": "x"}, {"tool": "g"}]})
    assert [(event["type"], event["tool_id"]) for event in said] == [
        ("tool_call_start", made_call_id("req_1", 1)),
        ("tool_call_end", made_call_id("req_1", 1)),
        ("tool_call_start", made_call_id("req_1", 2)),
        ("tool_call_end", made_call_id("req_1", 2)),
    ]


def test_call_with_an_error_fails_and_hides_its_text() -> None:
    rules = """
      rules:
        - emit:
            - {type: tool_call_start, tool_id: c, tool_name: f}
            - {type: tool_call_end, tool_id: c, error: "${{ error }}", for_users: "${{ safe }}"}
    """
    (_, inside) = events(rules, {"error": "db-internal is down"})
    assert (inside["status"], inside["error"]) == (
        "failed",
        {"code": "TOOL_FAILED", "message": "The tool failed."},
    )
    (_, outside) = events(rules, {"error": {"code": "NO_CITY", "message": "No such city"}, "safe": True})
    assert outside["error"] == {"code": "NO_CITY", "message": "No such city"}
    (_, well) = events(rules, {"n": 1})
    assert well["status"] == "success"


def test_errors_are_classified_as_upstream_errors() -> None:
    entry = "{type: error, message: '${{ m }}', code: '${{ c }}', http_status: '${{ s }}', terminal: false}"
    assert one(entry, {"m": "slow down", "s": 429})["code"] == "RATE_LIMITED"
    assert one(entry, {"m": "x", "c": "insufficient_quota"})["code"] == "QUOTA_EXCEEDED"
    assert one(entry, {"m": "x", "c": "MY_CODE"})["code"] == "MY_CODE"
    assert one(entry, {"m": "password=abc"})["message"] == "The service reported an error. Please try again."
    own = one(
        "{type: error, error_type: validation, recoverable: false, retry_after_ms: 50, terminal: false}"
    )
    assert (own["error_type"], own["recoverable"], own["retry_after_ms"]) == ("validation", False, 50)


def test_error_text_is_sent_only_if_written_for_users() -> None:
    rule = "rules: [{emit: {type: error, message: 'No such city'}}]"
    assert spoken(dialect(rule), sse({}))[0]["message"] == "The service reported an error. Please try again."
    for_users = dialect(f"errors_for_users: true\n{rule}")
    assert spoken(for_users, sse({}))[0]["message"] == "No such city"


def test_usage_entry_sets_the_summary_and_the_last_value_wins() -> None:
    rules = """
      rules:
        - {has: u, emit: {type: usage, prompt_tokens: "${{ u.p }}", finish_reason: "${{ u.f }}"}}
        - {has: end, emit: {type: session_end}}
      terminal: [over]
    """
    speaks = dialect(rules)
    for last in ({"end": 1}, "over"):
        found = summary(speaks, sse({"u": {"p": 5, "f": "MAX_TOKENS"}}, {"u": {"p": 7}}, last))
        assert (found["prompt_tokens"], found["finish_reason"]) == (7, "length")


def test_other_entries_become_their_events() -> None:
    said = events(
        "rules: [{emit: [{type: tool_call_start, tool_name: f}, {type: tool_call_progress, progress: 45}]}]",
        {},
    )
    assert said[1]["progress"] == 0.45
    table = one("{type: data, data_type: dataframe, data: {name: t, columns: [a], rows: [{a: 1}]}}")
    assert table["data"] == {"name": "t", "columns": ["a"], "rows": [[1]]}
    cited = one("{type: reference, citations: '${{ c }}'}", {"c": [{"title": "T", "page": 3, "score": 0.5}]})
    assert cited["citations"] == [{"title": "T", "score": 0.5}]
    asked = one("{type: interaction, kind: questions, questions: ['How many?']}")
    assert asked["interaction_id"] == "ask_1"
    assert asked["questions"] == [{"text": "How many?", "response_type": "free_text"}]
    assert one("{type: status, scope: node, state: running, name: n, node_id: 3}")["node_id"] == "3"
    assert one("{type: thinking, content: hm, stage: planning}")["stage"] == "planning"


def test_interaction_without_id_names_the_last_open_call() -> None:
    rules = """
      rules:
        - emit:
            - {type: tool_call_start, tool_id: c1, tool_name: f}
            - {type: interaction, kind: tool}
    """
    assert events(rules, {})[1]["interaction_id"] == "c1"


# Groups


def test_groups_can_repeat_and_nest() -> None:
    rules = """
      rules:
        - emit:
            each: outer
            emit:
              - {type: content, content: "${{ _index }}", when: "_item.inner"}
              - each: _item.inner
                emit: {type: content, content: "${{ _index }}${{ _item }}"}
              - {type: content, content: "${{ _item.last }}"}
    """
    said = events(rules, {"outer": [{"inner": ["a", "b"], "last": "!"}, {"last": "?"}]})
    assert "".join(event["content"] for event in said) == "00a1b!?"


@pytest.mark.parametrize(
    ("value", "count"), [(None, 0), ([], 0), ([1, 2], 2), ("one", 1), ({"a": 1}, 1), (0, 1)]
)
def test_each_emits_an_event_for_each_item(value: Any, count: int) -> None:
    said = events("rules: [{emit: {type: content, each: v, content: '${{ _index }}'}}]", {"v": value})
    assert len(said) == count


def test_frame_with_over_a_thousand_events_is_malformed() -> None:
    rules = "rules: [{emit: {type: content, each: v, content: '${{ _item }}'}}]"
    assert len(events(rules, {"v": [1] * 1000})) == 1000
    said = events(rules, {"v": [1] * 1001})
    assert len(said) == 1001
    assert said[-1]["message_code"] == "UPSTREAM_MALFORMED_EVENT"


def test_frame_with_too_many_visited_items_is_malformed() -> None:
    rules = "rules: [{emit: {type: content, content: '${{ length(v[].w[]) }}'}}]"
    assert events(rules, {"v": [{"w": [1, 2, 3]}]}) == [content("3")]
    many = [{"w": [1] * 300}] * 300
    assert events(rules, {"v": many})[0]["message_code"] == "UPSTREAM_MALFORMED_EVENT"


# Remember


def test_remember_keeps_short_values_for_later_frames() -> None:
    rules = """
      rules:
        - {has: id, emit: [], remember: {last: "${{ id }}", long: "${{ long }}"}}
        - {has: forget, emit: {type: content, content: "${{ _state.last }}"}, remember: {last: null}}
        - {emit: {type: content, content: "<${{ _state.last }}${{ _state.long }}>"}}
    """
    messages = [
        {"n": 1},
        {"id": "a"},
        {"n": 1},
        {"id": ["x"], "long": "y" * 1001},
        {"n": 1},
        {"forget": 1},
        {"n": 1},
    ]
    assert [event["content"] for event in events(rules, *messages)] == ["<>", "<a>", "<a>", "a", "<>"]


def test_remembered_values_are_not_shared_by_streams() -> None:
    speaks = dialect(
        """
        terminal: [eof]
        rules: [{emit: {type: content, content: "${{ _state.n }}-"}, remember: {n: "${{ n }}"}}]
        """
    )
    for _ in range(2):
        assert spoken(speaks, sse({"n": 1}, {"n": 2}))[:2] == [content("-"), content("1-")]


# Options, unwrap


def test_expressions_read_chosen_options() -> None:
    text = """
      options: {lang: [en, de], loud: [false, true], n: [1, 2]}
      rules: [{emit: {type: content, content: "${{ _options.lang }} ${{ _options.loud }} ${{ _options.n }}"}}]
      terminal: [eof]
    """
    speaks = dialect(text)
    assert spoken(speaks, sse({}))[0] == content("en false 1")
    chosen = {"acme": {"lang": "de", "loud": True, "n": 2}}
    known = speaks_in(speaks)
    assert spoken(speaks, sse({}), protocol_options=chosen, dialects=known)[0] == content("de true 2")


def speaks_in(speaks: Dialect) -> Any:
    from streamweir.codec.registry import process_dialects

    return process_dialects().with_(speaks)


@pytest.mark.parametrize("message", [{"p": {"t": "x"}}, {"t": "x"}, {"p": None, "t": "x"}])
def test_unwrap_without_result_keeps_the_whole_message(message: Any) -> None:
    assert events("unwrap: p\nrules: [{has: t, emit: {type: content, content: '${{ t }}'}}]", message) == [
        content("x")
    ]


def test_unwrap_can_parse_json_in_text() -> None:
    text = "unwrap: from_json(data)\nrules: [{match: {kind: a}, emit: {type: content, content: '${{ t }}'}}]"
    assert events(text, {"data": '{"kind": "a", "t": "x"}'}) == [content("x")]


# A whole answer


def test_single_json_document_is_one_frame() -> None:
    text = """
      rules:
        - has: answer
          emit: [{type: content, content: "${{ answer.text }}"}, {type: session_end}]
    """
    body = b'{\n  "answer": {\n    "text": "All of it"\n  }\n}\n'
    assert spoken(dialect(text), body)[0] == content("All of it")
