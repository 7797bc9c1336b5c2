"""Dialects of one's own: registered in code or by an installed package, they work everywhere."""

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from cases import for_each
from streamweir import (
    Decoder,
    Encoder,
    Frame,
    StreamingEngine,
    UnknownDialectError,
    convert,
    detect_dialect,
    list_dialects,
    normalize_stream_event,
    register_dialect,
)
from streamweir.codec import registry
from streamweir.codec.dialect import Dialect
from streamweir.codec.head_messages import best_score
from streamweir.events import (
    Content,
    Data,
    Error,
    Event,
    Reference,
    SessionEnd,
    SessionStart,
    Stamp,
    Status,
    ToolCallProgress,
    ToolCallStart,
)
from streamweir.testing import DecoderConformance, check_stream
from streamweir.translation.description import Sent, describe

BODY = b'{"acme": "chunk", "t": "Hi"}\n{"acme": "bye"}\n'


class AcmeEncoder(Encoder):
    framings = ("ndjson",)

    def encode(self, event: Event, stamp: Stamp) -> Iterable[Frame]:
        if isinstance(event, Content):
            if not event.content:
                return ()
            return (Frame(b'{"acme": "chunk", "t": "%s"}' % event.content.encode()),)
        return (Frame(b'{"acme": "bye"}'),) if isinstance(event, SessionEnd) else ()


class AcmeDecoder(Decoder):
    framing = "ndjson"
    encoder = AcmeEncoder

    @classmethod
    def detect(cls, head: bytes) -> float:
        return best_score(head, lambda message, _: 0.97 if "acme" in message else 0.0)

    def decode(self, frame: Frame) -> Iterable[Event]:
        match frame.json():
            case {"acme": "chunk", "t": str(text)}:
                return (Content(text),)
            case {"acme": "bye"}:
                return (SessionEnd(),)
            case {"acme": "oops", "why": str(why)}:
                return (Error("execution", "ACME_OOPS", why, recoverable=False),)
        return ()


@pytest.fixture(autouse=True)
def own(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a test registers is forgotten after it."""
    monkeypatch.setattr(registry, "_registered", {})


def test_register_dialect_is_a_function_and_a_decorator() -> None:
    assert register_dialect("acme", AcmeDecoder) is AcmeDecoder
    assert register_dialect("acme-2")(AcmeDecoder) is AcmeDecoder
    assert {"acme", "acme-2"} <= set(list_dialects())


def test_registered_name_works_everywhere() -> None:
    register_dialect("acme", AcmeDecoder)
    assert check_stream(convert(BODY, speaks="acme")) == []
    assert convert(BODY, speaks="acme", answers="acme").split() == BODY.split()
    assert detect_dialect(BODY) == "acme"
    assert normalize_stream_event(BODY.split(b"\n")[0])[0]["data"] == {"content": "Hi"}
    assert StreamingEngine(protocol="acme").media_type == "application/x-ndjson"


def test_name_that_is_taken_is_refused_unless_it_is_replaced() -> None:
    register_dialect("acme", AcmeDecoder)
    for name in ("acme", "legacy"):
        with pytest.raises(ValueError, match="replace=True"):
            register_dialect(name, AcmeDecoder)
        register_dialect(name, AcmeDecoder, replace=True)
    assert registry.process_dialects()["legacy"].decoder is AcmeDecoder


@pytest.mark.parametrize("name", ["", "auto", "two words", "-x", "a/b", None, "x" * 65])
def test_name_that_cannot_be_one_is_refused(name: Any) -> None:
    with pytest.raises(ValueError, match="name"):
        register_dialect(name, AcmeDecoder)


def test_arguments_win_over_attributes() -> None:
    class Other(AcmeEncoder):
        pass

    register_dialect("acme", AcmeDecoder, framing="sse", encoder=Other, errors_for_users=True)
    decoder = registry.process_dialects()["acme"].make_decoder({})
    assert (decoder.framing, decoder.errors_for_users) == ("sse", True)
    assert registry.process_dialects()["acme"].encoder is Other
    assert (AcmeDecoder.framing, AcmeDecoder.errors_for_users) == ("ndjson", False)
    output = convert(b'{"acme": "oops", "why": "The printer is out of paper."}', speaks="acme")
    assert b"out of paper" in output


def test_dialect_may_be_only_read_or_only_written() -> None:
    class Reader(AcmeDecoder):
        encoder = None  # type: ignore[assignment]

    register_dialect("reader", Reader)
    register_dialect("writer", AcmeEncoder)
    assert check_stream(convert(BODY, speaks="reader")) == []
    with pytest.raises(UnknownDialectError):
        convert(BODY, speaks="reader", answers="reader")
    assert convert(BODY, speaks="reader", answers="writer").split() == BODY.split()
    with pytest.raises(UnknownDialectError):
        convert(BODY, speaks="writer")


@pytest.mark.parametrize("cls", [int, "AcmeDecoder", AcmeDecoder()])
def test_class_that_is_no_dialect_is_refused(cls: Any) -> None:
    with pytest.raises(TypeError, match="neither"):
        register_dialect("acme", cls)
    with pytest.raises(TypeError, match="encoder"):
        register_dialect("acme", AcmeDecoder, encoder=cls)
    with pytest.raises(ValueError, match="framing"):
        register_dialect("acme", AcmeDecoder, framing="xml")  # type: ignore[call-overload]
    assert "acme" not in list_dialects()


def test_installed_package_brings_its_dialect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "acme_dialect.py").write_text(
        "from streamweir import Decoder, Encoder, Frame\n"
        "from streamweir.events import Content, SessionEnd\n"
        "class AcmeDecoder(Decoder):\n"
        "    def decode(self, frame):\n"
        "        return (Content(frame.text),)\n"
        "    def close(self):\n"
        "        return (SessionEnd(),)\n"
    )
    info = tmp_path / "acme_dialect-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-dialect\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[streamweir.dialects]\nacme-text = acme_dialect:AcmeDecoder\n")
    assert "acme-text" not in list_dialects()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "acme_dialect" not in sys.modules
    output = convert(b"data: Hi\n\n", speaks="acme-text")
    assert "acme-text" in list_dialects()
    assert check_stream(output) == []
    assert b'"status":"completed"' in output
    with pytest.raises(ValueError, match="replace=True"):
        register_dialect("acme-text", AcmeDecoder)


class TestAcme(DecoderConformance):
    dialect = "acme"
    samples = (BODY,)

    @pytest.fixture(autouse=True)
    def registered(self, own: None) -> None:
        register_dialect("acme", AcmeDecoder)


GIVEN: dict[str, Callable[[], Any]] = {
    "no list": lambda: 5,
    "nothing": lambda: None,
    "text": lambda: ["Hi"],
    "an object": lambda: [{"type": "content", "data": {"content": "Hi"}}],
    "a text that is none": lambda: [Content(5)],  # type: ignore[arg-type]
    "no text": lambda: [Content(None)],  # type: ignore[arg-type]
    "an unknown end": lambda: [SessionEnd(status="finished")],  # type: ignore[arg-type]
    "an unknown step": lambda: [Status("loop", "begun")],  # type: ignore[arg-type]
    "a name that is none": lambda: [Status("node", "started", name=5)],  # type: ignore[arg-type]
    "ids that are none": lambda: [ToolCallStart(5, "search", arguments="x")],  # type: ignore[arg-type]
    "more than all": lambda: [ToolCallProgress("c", progress=7.0)],
    "data without a name": lambda: [Data("custom", {"x": 1})],
    "data of no type": lambda: [Data("picture", {"x": 1})],  # type: ignore[arg-type]
    "no citations": lambda: [Reference(["a.csv"])],  # type: ignore[list-item]
    "metadata that is none": lambda: [Content("Hi", meta="m1")],  # type: ignore[arg-type]
}


class Careless(Decoder):
    """Gives what it is told to."""

    framing = "ndjson"

    def decode(self, frame: Frame) -> Any:
        match frame.json():
            case {"gives": str(name)}:
                return GIVEN[name]()
            case {"end": True}:
                return [SessionEnd()]
        return [Content(str(frame.json()["text"]))]


@for_each("name", list(GIVEN))
def test_decoder_result_that_is_no_event_is_malformed(name: str, caplog: pytest.LogCaptureFixture) -> None:
    register_dialect("careless", Careless, replace=True)
    given = json.dumps({"gives": name}).encode()
    for body in (
        b'{"text": "a"}\n%b\n{"text": "b"}\n{"end": true}\n',
        b'%b\n{"text": "ab"}\n{"end": true}\n',
    ):
        caplog.clear()
        output = convert(body % given, speaks="careless", framing="ndjson")
        assert check_stream(output, framing="ndjson") == []
        events = [json.loads(line) for line in output.splitlines()]
        assert "".join(event["data"]["content"] for event in events if event["type"] == "content") == "ab"
        assert [event["data"]["message_code"] for event in events if event["type"] == "warning"] == [
            "UPSTREAM_MALFORMED_EVENT"
        ]
        assert events[-1]["data"]["status"] == "completed"
        assert [record.levelname for record in caplog.records] == ["ERROR"]


def test_metadata_of_other_types_is_converted() -> None:
    class Loose(Careless):
        def decode(self, frame: Frame) -> Any:
            meta: Any = {"message_id": 7, "run_id": None, "node_id": "", "agent": "a", "sequence": 9}
            return [Content("Hi", meta=meta), SessionEnd()]

    register_dialect("loose", Loose)
    content = json.loads(convert(b"{}\n", speaks="loose", framing="ndjson").splitlines()[1])
    assert content["metadata"].items() >= {"message_id": "7", "sequence": 1, "extra": {"agent": "a"}}.items()
    assert not {"run_id", "node_id", "agent"} & content["metadata"].keys()


def test_result_at_the_end_that_is_no_event_is_internal() -> None:
    class Last(Careless):
        def close(self) -> Any:
            return [Content(5), SessionEnd()]  # type: ignore[arg-type]

    register_dialect("last", Last)
    output = convert(b'{"text": "a"}\n', speaks="last")
    assert check_stream(output) == []
    assert b'"reason":"internal"' in output
    (event,) = normalize_stream_event({"text": "a"}, speaks="last")
    assert event["data"] == {"content": "a"}


@pytest.mark.parametrize("claim", [None, "much", [1], float("nan")])
def test_dialect_that_claims_no_number_claims_nothing(claim: Any) -> None:
    class Vague(AcmeDecoder):
        @classmethod
        def detect(cls, head: bytes) -> float:
            del head
            return claim  # type: ignore[no-any-return]

    register_dialect("vague", Vague)
    assert detect_dialect(BODY) is None
    output = convert(b'data: {"type": "token", "content": "Hi"}\n\ndata: {"type": "done"}\n\n')
    assert b'"status":"completed"' in output


@pytest.mark.parametrize("kind", [Content, SessionStart, Error])
def test_event_at_which_an_encoder_fails_is_left_out_of_the_end(kind: type[Event]) -> None:
    class Failing(AcmeEncoder):
        def encode(self, event: Event, stamp: Stamp) -> Iterable[Frame]:
            assert not isinstance(event, kind), "a fault of this encoder"
            return (Frame(b'{"acme": "%s"}' % event.type.encode()),)

    register_dialect("acme", AcmeDecoder, encoder=Failing)
    body = BODY if kind is not Error else b'{"acme": "oops", "why": "x"}'
    written = convert(body, speaks="acme", answers="acme", verbatim=False).split(b"\n")
    assert b'{"acme": "session_end"}' in written
    if kind is not Error:
        assert b'{"acme": "error"}' in written


def test_encoder_that_writes_text_is_described() -> None:
    class TextEncoder(Encoder):
        def encode(self, event: Event, stamp: Stamp) -> Iterable[Frame]:
            return [Frame(json.dumps({"is": event.type}))]  # type: ignore[arg-type]

    written = describe(Dialect.of_class("texts", TextEncoder)).writing
    assert Sent(None, '{"is": "thinking"}') in [each for one in written for each in one.becomes]


@for_each("given", [["Hi"], [b"Hi"], [{"say": "Hi"}], [Frame({"say": "Hi"})], None, Frame(b"Hi")])  # type: ignore[arg-type]
def test_result_that_is_no_frame_is_refused_with_a_sentence(
    given: Any, caplog: pytest.LogCaptureFixture
) -> None:
    class Careless(Encoder):
        def encode(self, event: Event, stamp: Stamp) -> Any:
            return given

    register_dialect("careless", Careless, replace=True)
    caplog.clear()
    convert(b'{"type": "token", "content": "Hi"}\n', speaks="legacy", answers="careless")
    (logged, *_) = (record.exc_info[1] for record in caplog.records if record.exc_info)
    assert logged is not None
    assert "an encoder gives a list of frames" in logged.__notes__[0]
