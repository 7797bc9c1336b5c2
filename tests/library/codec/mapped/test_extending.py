"""Dialects that extend others: what goes to the base, and what it has of it."""

from textwrap import dedent
from typing import Any

import pytest

import yaml_mapping
from home_made import dialect, ending, spoken, sse
from places import RECORDED
from streams import one_byte_each, recorded_streams, translate
from streamweir import ConfigurationError, Translator, load_dialect
from streamweir.codec.dialect import Dialect
from streamweir.codec.mapped.dialect import DialectSource, compile_dialects
from streamweir.codec.mapped.problems import ProblemList
from streamweir.codec.registry import process_dialects

WRAPPED = """
  extends: legacy
  unwrap: payload                                              # its events are wrapped
  rules:
    - {match: {type: tok}, as: {type: token, content: "${{ txt }}"}}       # another word for a thing of its
    - match: {type: card}
      emit: {type: data, data_type: custom, data: {name: card, value: "${{ body }}"}}
    - {match: {type: raw}, as: "${{ text }}"}
    - {match: {type: named}, as: {content: "${{ text }}"}, as_event: token}
  ignore: [{type: hb}]
"""


def wrapped(*messages: Any) -> bytes:
    return sse(*({"payload": message} for message in messages))


def test_extends_with_unwrap_reads_legacy_backends() -> None:
    body = wrapped(
        {"type": "tok", "txt": "A"},
        {"type": "hb"},
        {"type": "card", "body": 3},
        {"type": "token", "content": "B"},
        {"type": "raw", "text": '{"type": "token", "content": "C"}'},
        {"type": "named", "text": "D"},
        {"type": "done"},
    )
    said = spoken(dialect(WRAPPED), body)
    assert [event.get("content", event.get("data")) for event in said[:-1]] == [
        "A",
        {"name": "card", "value": 3},
        "B",
        "C",
        "D",
        "",
    ]
    assert ending(dialect(WRAPPED), body) == ("completed", "done")
    assert ending(dialect(WRAPPED), wrapped({"type": "token", "content": "B"})) == ("error", "truncated")


def test_unwrapped_message_goes_to_the_base_unchanged() -> None:
    said = spoken(dialect(WRAPPED), sse({"type": "token", "content": "A"}, {"type": "done"}))
    assert said[0] == {"type": "content", "content": "A"}


@pytest.mark.parametrize("path", sorted((RECORDED / "legacy").glob("*.sse")), ids=lambda path: path.name)
def test_extends_without_rules_equals_the_base(path: Any) -> None:
    body = path.read_bytes()
    same = dialect("extends: legacy")
    assert translate([body], speaks=same) == translate([body], speaks="legacy")
    assert translate(one_byte_each(body), speaks=same) == translate([body], speaks="legacy")
    for target in ("standard", "easyflow"):
        assert translate([body], speaks=same, answers=target) == translate(
            [body], speaks="legacy", answers=target
        )


def test_texts_of_the_base_are_read_by_template() -> None:
    speaks = dialect(WRAPPED)
    assert speaks.decoder is not None
    assert speaks.decoder.text_fields is not None
    assert ("payload", "content") in speaks.decoder.text_fields.texts
    assert ("payload", "txt") in speaks.decoder.text_fields.texts
    body = wrapped(
        *(
            {"type": kind, key: f"w{n}"}
            for kind, key in (("tok", "txt"), ("token", "content"))
            for n in range(20)
        )
    )
    assert translate([body], speaks=speaks) == translate(one_byte_each(body), speaks=speaks)
    assert translate([body], speaks=speaks).count(b'"type":"content"') == 40 + 1


def test_ignore_and_terminal_of_the_base_are_inherited() -> None:
    text = "extends: legacy\nterminal: [finish]\nignore: [beat]"
    said = spoken(dialect(text), sse({"type": "token", "content": "A"}, {"type": "beat"}, {"type": "finish"}))
    assert [event["type"] for event in said] == ["content", "content", "session_end"]
    assert said[-1]["status"] == "completed"


def compiled(**texts: str) -> dict[str, Dialect]:
    report = ProblemList()
    sources = [DialectSource(name, yaml_mapping.read(dedent(text)), report) for name, text in texts.items()]
    found = compile_dialects(sources, process_dialects())
    assert report.problems == []
    return {each.dialect.name: each.dialect for each in found}


def test_extends_of_a_home_made_dialect_works() -> None:
    rules = "rules: [{match: {k: %s}, emit: {type: content, content: %s}}]"
    found = compiled(
        top="extends: middle\n" + rules % ("top", "top"),
        middle="extends: bottom\n" + rules % ("[top, middle]", "middle"),
        bottom="unwrap: p\nterminal: [bye]\n" + rules % ("bottom", "bottom"),
    )
    body = wrapped({"k": "top"}, {"k": "middle"}, {"k": "bottom"}, {"k": "odd"}).replace(b"payload", b"p")
    said = spoken(found["top"], body + sse("bye"))
    texts = [event.get("content", event.get("data")) for event in said[:-1]]
    assert texts == ["top", "middle", "bottom", {"name": "message", "value": {"k": "odd"}}, ""]
    assert said[-1]["status"] == "completed"
    own = compiled(
        a="extends: b\nunwrap: q\nrules: [{match: {k: a}, emit: {type: content, content: a}}]",
        b="unwrap: p\nrules: [{match: {k: b}, emit: {type: content, content: '${{ t }}'}}]\nterminal: [bye]",
    )
    said = spoken(own["a"], sse({"q": {"k": "b", "t": "x"}, "p": {"k": "a"}}, "bye"))
    assert said[0]["content"] == "x"


def test_state_of_base_and_dialect_is_separate() -> None:
    found = compiled(
        top="extends: bottom\nrules: [{match: {k: top}, emit: [], remember: {n: mine}}]",
        bottom="""
          rules: [{emit: {type: content, content: "<${{ _state.n }}>"}, remember: {n: its}}]
          terminal: [eof]
        """,
    )
    said = spoken(found["top"], sse({"k": "top"}, {"k": 1}, {"k": "top"}, {"k": 1}))
    assert [event["content"] for event in said if event["type"] == "content"][:2] == ["<>", "<its>"]


# Writing


def test_extends_without_write_writes_as_the_base() -> None:
    found = dialect("extends: legacy\nignore: [x]")
    body = sse({"type": "token", "content": "A"}, {"type": "done"})
    assert translate([body], speaks="legacy", answers=found, framing="sse") == (
        b'data: {"type":"token","content":"A"}\n\ndata: {"type":"done"}\n\n'
    )


def test_write_leaves_other_events_to_the_base() -> None:
    text = """
      extends: legacy
      write: {rules: [{on: content, when: content, send: {data: {tok: "${{ content }}"}}}]}
    """
    found = dialect(text)
    messages = [{"type": "thinking", "content": f"t{n}"} for n in range(9)]
    body = sse(*messages, {"type": "token", "content": "A"}, {"type": "done"})
    out = translate([body], speaks="legacy", answers=found, framing="sse")
    assert out.endswith(b'data: {"tok":"A"}\n\ndata: {"type":"done"}\n\n')
    assert out.count(b'"type":"thinking"') == 9
    assert Translator(answers=found, framing="ndjson").framing == "ndjson"


def test_replaces_is_inherited_unless_given() -> None:
    for base, own, expected in (
        ("standard", "", True),
        ("legacy", "", False),
        ("legacy", "replaces: true, ", True),
    ):
        found = dialect(f"extends: {base}\nwrite: {{{own}rules: [{{on: status, send: []}}]}}")
        assert found.make_encoder({}).can_replace is expected
    versions = dialect("extends: standard\nwrite: {rules: [{on: status, send: []}]}")
    assert versions.make_encoder({"version": "1.0"}).can_replace is False


def test_options_are_inherited_unless_given() -> None:
    text = """
      extends: ragflow
      options: {mine: [a, b]}
      rules: [{match: {k: 1}, emit: {type: content, content: "${{ _options.form }} ${{ _options.mine }}"}}]
    """
    found, base = dialect(text), process_dialects()["ragflow"]
    assert found.options == {**base.options, "mine": ("a", "b")}
    chosen = {"acme": {"form": base.options["form"][-1], "mine": "b"}}
    known = process_dialects().with_(found)
    said = spoken(found, sse({"k": 1}), protocol_options=chosen, dialects=known)
    assert said[0]["content"] == f"{base.options['form'][-1]} b"


@pytest.mark.parametrize("base", [name for name in process_dialects() if process_dialects()[name].writes])
def test_each_built_in_dialect_can_be_extended(base: str) -> None:
    found = dialect(f"extends: {base}")
    recorded = [stream for stream in recorded_streams() if stream.dialect == base][:3]
    assert recorded
    for stream in recorded:
        assert spoken(found, stream.body) == spoken(process_dialects()[base], stream.body)


def test_wrong_extends_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="unknown dialect 'legasy'; did you mean 'legacy'"):
        load_dialect({"extends": "legasy"})
    with pytest.raises(ConfigurationError, match="extends itself: dialect -> dialect"):
        load_dialect({"extends": "dialect"})
