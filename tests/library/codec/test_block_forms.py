"""A block that is read by its form means what its message means when it is decoded."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from places import RECORDED
from streamweir import Translator
from streamweir.codec.base import Decoder
from streamweir.codec.registry import process_dialects
from streamweir.dialects.anthropic.decode import AnthropicDecoder
from streamweir.jsontext import write_json
from streamweir.testing import cuts

FORMED = {
    name: decoder
    for name, dialect in process_dialects().items()
    if (decoder := dialect.decoder) is not None and decoder.block_forms is not None
}

WORDS = st.sampled_from(
    [
        *("", "a", "msg_1", "chatcmpl-1", "gpt 4", "}", "{}", "x" * 120, "y" * 300, "%s", "default"),
        *('a"b', "a\\b", "\u54c8", "\x7f", "Error: File app.py, line 3", "AKIAIOSFODNN7EXAMPLE"),
    ]
)
REASONS = st.sampled_from(
    [
        *("stop", "length", "end_turn", "max_tokens", "tool_use", "tool_calls", "content_filter", "refusal"),
        *("error", "abort", "pause_turn", "compaction", "tool_call_results", "", "odd"),
    ]
)
COUNTS = st.dictionaries(
    st.sampled_from(["input_tokens", "output_tokens", "cache_read_input_tokens", "service_tier", "more"])
    | st.text("abc", max_size=3),
    st.none()
    | st.sampled_from([0, 1, 12, -3, 1.5, True, 1 << 53, 1 << 70, "standard", "{", "}", "\u54c8", []])
    | st.dictionaries(st.sampled_from(["a", "b"]), st.integers(0, 9), max_size=2),
    max_size=6,
)
BROKEN = (b"{}", b'{"a":}', b'{"a":1,}', b'{"a":1 "b":2}', b'{"a":NaN}', b'{"a":01}', b'{"a":{"b":{"c":1}}}')
NUMBERS = st.sampled_from(
    [b"0", b"1", b"7", b"1790000000", b"-1", b"007", b"1.5", b"1e3", b"9" * 30, b"null"]
)
PLACE = re.compile(r"<(?:([a-z_]+)=)?([a-z_]+)>")
OTHERS = {
    "legacy": [
        b'{"type":"final_answer","content":"all"}',
        b'{"type":"final_answer","content":"\\"a\\"\\n\\/"}',
        b'{"type":"final_answer","content":"\\u0041\\ud800"}',
        b'{"type":"final_answer","content":"\xff"}',
        b'{"type":"final_answer","content":"\xed\xa0\x80"}',
        b'{"type":"final_answer","content":"\t\x7f"}',
        b'{"type":"tool_call","tool":"t","id":"1"}',
        b'{"type":"session_start"}',
        b'{"type":"session_end"}',
        b'{"type":"done","status":"failed"}',
        b'{"type":"ping"}',
        b'{"type":"mood"}',
        b'{"content":"a","data":{"content":"b"}}',
        b"[DONE]",
    ],
    "anthropic": [
        b'{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"n"}}',
        b'{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}',
        b'{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"s"}}',
        b'{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{}"}}',
        b'{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}',
        b"[DONE]",
    ],
    "openai-chat": [
        b'{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"t","function":{"name":"n"}}]}}]}',
        b'{"id":"c","choices":[{"index":0,"delta":{"reasoning_content":"because"}}]}',
        b'{"id":"c","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}',
        b'{"id":"c","system_fingerprint":"","choices":[{"index":0,"delta":{"content":"a","role":"assistant",'
        b'"function_call":null,"tool_calls":null}}]}',
        b'{"error":{"message":"no","code":429}}',
        b'{"id":"other","choices":[{"index":0,"delta":{"content":"b"},"finish_reason":null}]}',
    ],
}
"""Messages without a form, which change the state of the decoder."""


@st.composite
def messages(draw: st.DrawFn, parts: Iterable[str]) -> bytes:
    """A message of a form, with values of which some do not fit."""

    def value(found: re.Match[str]) -> str:
        name, kind = found.groups()
        if kind == "object":
            return draw(st.sampled_from(BROKEN) | COUNTS.map(write_json)).decode()
        if kind == "number":
            return draw(NUMBERS).decode()
        if kind == "mark":
            return ""
        if kind == "next":
            return "\n\ndata: "
        if kind == "blanks":
            return draw(st.sampled_from(["", " ", "   "]))
        if kind.endswith("_or_null") and draw(st.booleans()):
            return "null"
        return write_json(draw(REASONS if name == "reason" else WORDS)).decode()

    kept = [part.removesuffix("?") for part in parts if not part.endswith("?") or draw(st.booleans())]
    return PLACE.sub(value, "".join(kept)).encode()


def bodies(name: str) -> st.SearchStrategy[list[bytes]]:
    """Blocks of a dialect: of its forms, in their order or in any other, texts, and any others."""
    decoder = FORMED[name]
    assert decoder.block_forms is not None
    assert decoder.text_fields is not None
    form = decoder.text_fields.form
    text = form._parts if form else ('{"type":"token","content":<text>}',)
    forms = [messages(parts) for parts in decoder.block_forms.forms.values()]
    texts = messages([part.replace("<text>", "<string>") for part in text])
    any_other = st.sampled_from(OTHERS[name])
    whole = st.tuples(*(st.lists(form, max_size=2) for form in (forms[0], texts, *forms[1:], texts, *forms)))
    messages_of_body = whole.map(lambda groups: [one for group in groups for one in group]) | st.lists(
        st.one_of(*forms, texts, any_other), max_size=8
    )
    named = [b"event: content\ndata: ", b"event: content_block_delta\ndata: "]
    begin = st.sampled_from([b"data: ", b"data: ", b"data:", *named, b"id: 7\ndata: "])
    end = st.sampled_from([b"\n\n", b"\n\n", b"\n\n", b"\r\n\r\n", b"\n"])
    return messages_of_body.flatmap(
        lambda found: st.tuples(*(st.tuples(begin, st.just(one), end).map(b"".join) for one in found)).map(
            lambda blocks: [*blocks]
        )
    )


def outcome(name: str, pieces: Sequence[bytes], **options: Any) -> tuple[Any, ...]:
    """All that a stream shows: its bytes, what was noted of them, and the state of its decoder."""
    translator = Translator(
        speaks=name, request_id="req_1", session_id="s", clock=lambda: 1_790_000_000_123, **options
    )
    written = [*map(translator.feed, pieces)]
    reader = translator.stream.reader
    decoder = reader.frames.decoder
    getattr(decoder, "_blocks", None)  # made when first needed, so that the states can be compared
    noted = (
        *(reader.started, reader.first_output, reader.malformed, reader.unknown, reader.has_understood),
        *(reader.complete, reader.tokens, reader.frames.stats.messages, reader.frames.empty_left),
        *(reader.body.parser.framing, reader.body.parser.recognised, translator.stream.head),
        decoder is not None and decoder.judges_texts,
        *(() if translator.ended else (reader.body.parser.is_at_boundary, state_of(decoder))),
    )
    return written, noted, translator.close(), translator.counts


SET_BY_EACH_MESSAGE = {"request_id", "limit", "room", "judges_texts"}


def state_of(value: Any) -> Any:
    """The attributes of an object, those of its objects included."""
    match value:
        case dict():
            return {key: state_of(item) for key, item in value.items()}
        case list() | tuple() | set():
            return [*map(state_of, value)]
        case None | str() | int() | float():
            return value
    fields = getattr(value, "__dict__", {})
    return type(value), {
        name: state_of(item) for name, item in fields.items() if name.strip("_") not in SET_BY_EACH_MESSAGE
    }


@contextmanager
def decoded(name: str) -> Iterator[None]:
    """Every block of the dialect is decoded."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FORMED[name], "block_forms", None)
        yield


@pytest.mark.parametrize("name", FORMED)
@given(data=st.data())
def test_block_read_by_its_form_gives_the_events_of_its_message(name: str, data: st.DataObject) -> None:
    blocks = data.draw(bodies(name))
    body = b"".join(blocks)
    pieces = data.draw(st.sampled_from([blocks, [body], cuts(body, seed=len(body))]))
    choices: list[dict[str, Any]] = [{}, {"raw": True}, {"answers": name}, {"eof": "complete"}]
    options = data.draw(st.sampled_from(choices))
    by_forms = outcome(name, pieces, **options)
    with decoded(name):
        assert outcome(name, pieces, **options) == by_forms


@pytest.mark.parametrize("name", FORMED)
def test_recorded_stream_has_the_same_state_block_by_block(name: str) -> None:
    for path in sorted((RECORDED / name).glob("*.sse")):
        blocks = re.split(rb"(?<=\n\n)", path.read_bytes())
        for pieces in ([*blocks], [b"".join(blocks)], [b"".join(blocks[:2]), b"".join(blocks[2:])]):
            by_forms = outcome(name, pieces)
            with decoded(name):
                assert outcome(name, pieces) == by_forms, path.name


def test_answer_whose_id_comes_late_has_the_same_state_by_its_forms() -> None:
    chunk = b'data: {"id":"%s","object":"chat.completion.chunk","created":0,"model":"",%s}\n\n'
    blocks = [
        chunk % (b"", b'"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]'),
        b'data: {"id":"c","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":2}}\n\n',
        chunk % (b"", b'"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]'),
    ]
    by_forms = outcome("openai-chat", blocks)
    with decoded("openai-chat"):
        assert outcome("openai-chat", blocks) == by_forms


def answer_in(name: str) -> list[bytes]:
    """A short answer as the dialect's own encoder writes it."""
    translator = Translator(speaks="legacy", answers=name, framing="sse")
    texts = (b'data: {"type":"token","content":"word%d "}\n\n' % number for number in range(4))
    return [translator.feed(event) for event in (*texts, b'data: {"type":"done"}\n\n')]


@pytest.mark.parametrize("name", FORMED)
@pytest.mark.parametrize("spaced", [False, True])
def test_usual_short_answer_needs_no_decoding(
    name: str, spaced: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pieces = answer_in(name)
    if spaced:
        pieces = [re.sub(rb'(?<=["}\]0-9l])([:,])(?=["0-9{\[nt])', rb"\1 ", piece) for piece in pieces]
    expected = outcome(name, pieces)

    def decode(self: Decoder, frame: Any) -> Any:
        raise AssertionError(frame)

    monkeypatch.setattr(FORMED[name], "decode", decode)
    for cut in (pieces, re.split(rb"(?<=\n\n)", b"".join(pieces)), [b"".join(pieces)]):
        assert b"".join(outcome(name, cut)[0]) == b"".join(expected[0])


@pytest.mark.parametrize("role", [b"", b'"role":"assistant",'])
@pytest.mark.parametrize("padding", [b"", b',"obfuscation":"ab%d"'])
def test_answer_that_begins_with_a_text_needs_no_decoding(
    role: bytes, padding: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    chunk = b'data: {"id":"c","object":"chat.completion.chunk","created":7,"model":"m",' + (
        b'"choices":[{"index":0,"delta":{%b"content":"word%d \\"\xc3\xa4"},"finish_reason":null}]%b}\n\n'
    )
    pieces = [chunk % (role, at, padding.replace(b"%d", b"%d" % at)) for at in range(40)]
    body = b"".join(pieces)
    with decoded("openai-chat"):
        expected = outcome("openai-chat", [body])
    monkeypatch.setattr(FORMED["openai-chat"], "decode", None)
    assert outcome("openai-chat", [body]) == expected
    assert b"".join(outcome("openai-chat", pieces)[0]) == expected[0][0]


@pytest.mark.parametrize("text", ["all", 'a "quoted" \u54c8\n', "long " * 200])
def test_usual_whole_answer_and_its_mark_need_no_decoding(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = b'data: {"type":"final_answer","content":%b}\n\n' % json.dumps(text, ensure_ascii=False).encode()
    body = b'data: {"type":"token","content":"a"}\n\n' + whole + b"data: [DONE]\n\n"
    with decoded("legacy"):
        expected = outcome("legacy", [body])
    monkeypatch.setattr(FORMED["legacy"], "decode", None)
    assert outcome("legacy", [body]) == expected


def test_subclass_that_decodes_in_its_own_way_has_no_block_forms() -> None:
    class Own(AnthropicDecoder):
        def decode(self, frame: Any) -> Any:
            return super().decode(frame)

    assert Own.block_forms is None
