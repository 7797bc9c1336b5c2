"""Every public name is there, with the parameters that the library's contract gives it."""

import importlib
import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

import streamweir
from streamweir import events

NORMALIZE = """*, speaks, answers=("standard",), paths=None,
    media_types=("text/event-stream", "application/x-ndjson", "application/jsonl"), framing=None,
    heartbeat="auto", timeouts=None, full_text="dedupe",
    stream_tool_arguments=False, protocol_options=None, raw=False, eof="truncated",
    verbatim=True, failures="as_they_came", limits=None, warnings=(), debug=False, upstream="", reraise=False,
    request="passthrough", otel=False, resume=None, store=None, taps=()"""
REQUEST_ID = 'header="X-Request-Id", generator=new_request_id, validator=valid_request_id'
EVENT_STREAM = """request_id=None, session_id=None, heartbeat="auto", warnings=(), full_text="dedupe",
    debug=False"""
TRANSLATOR = """answers="standard", framing="sse", request_id=None, session_id=None, clock=None,
    full_text="dedupe", stream_tool_arguments=False, protocol_options=None, raw=False, eof="truncated",
    verbatim=True, limits=None, warnings=(), debug=False, upstream="", dialects=None"""

CALLABLES = {
    "streamweir.asgi.RequestIDMiddleware": f"app, *, {REQUEST_ID}",
    "streamweir.asgi.SafeErrorMiddleware": """app, *, paths=None, speaks="standard", debug=False,
        reraise=False""",
    "streamweir.asgi.NormalizeMiddleware": f"app, {NORMALIZE}",
    "streamweir.asgi.StreamweirMiddleware": f"app, {NORMALIZE}, {REQUEST_ID}",
    "streamweir.asgi.EventStreamResponse": f"""content, *, answers=("standard",), framing="sse",
        status_code=200, headers=None, background=None, resume=None, store=None, speaks="standard",
        {EVENT_STREAM}""",
    "streamweir.asgi.preflight_error": "error, *, status_code=None, request_id=None, debug=False",
    "streamweir.asgi.receive_request": 'request, *, answers=("standard",)',
    "streamweir.RequestIDLogFilter": 'default="-"',
    "streamweir.new_request_id": "",
    "streamweir.valid_request_id": "value",
    "streamweir.current_request_id": "",
    "streamweir.collect_stream_warning": "message, *, message_code=None, detail=None",
    "streamweir.bind_context": "fn",
    "streamweir.stream_warning_event": 'message, *, message_code=None, detail=None, framing="sse"',
    "streamweir.stream_error_event": 'error, *, framing="sse", debug=False',
    "streamweir.classify_exception": "exc, *, debug=False",
    "streamweir.preflight_envelope": "error, *, request_id=None, debug=False",
    "streamweir.StreamError": """code, message=None, *, error_type=None, recoverable=None,
        retry_after_ms=None, status=None, details=None""",
    "streamweir.StreamingEngine": """request_id=None, *, protocol="standard", framing="sse", session_id=None,
        thread_id=None, sink=None, log=None, debug=False""",
    "streamweir.EventStream": f"""content, *, speaks="standard", protocol="standard", framing="sse",
        accept=None, {EVENT_STREAM}""",
    "streamweir.EventStream.aclose": "self",
    "streamweir.Translator": f'*, speaks="auto", {TRANSLATOR}',
    "streamweir.Translator.feed": "self, data",
    "streamweir.Translator.heartbeat": "self",
    "streamweir.Translator.warn": "self, message, message_code=None, detail=None",
    "streamweir.Translator.cancel": 'self, reason="cancelled"',
    "streamweir.Translator.close": "self",
    "streamweir.convert": 'data, *, speaks="auto", answers="standard", framing="sse", **options',
    "streamweir.normalize_stream_event": 'event, *, speaks="auto"',
    "streamweir.parse_stream_line": "line",
    "streamweir.read_request": "body, *, protocol",
    "streamweir.write_request": 'request, *, dialect, path="", options=None, mapped=None, upstream=""',
    "streamweir.client.stream_request": """url, *, method="POST", json=None, content=None, headers=None,
        params=None, speaks="standard", timeouts=None, request_id=None, client=None, raise_errors=True,
        resume=None""",
    "streamweir.client.sync.stream_request": """url, *, method="POST", json=None, content=None, headers=None,
        params=None, speaks="standard", timeouts=None, request_id=None, client=None, raise_errors=True,
        resume=None""",
    "streamweir.MessageStreamHandler": "message=None, *, on_update=None",
    "streamweir.MessageStreamHandler.handle_event": "self, event",
    "streamweir.MessageState.folded": "self",
    "streamweir.register_dialect": """name, cls=None, *, framing=None, encoder=None, errors_for_users=None,
        replace=False""",
    "streamweir.list_dialects": "",
    "streamweir.Decoder.decode": "self, frame",
    "streamweir.Decoder.close": "self",
    "streamweir.Encoder.encode": "self, event, stamp",
    "streamweir.Encoder.close": "self",
    "streamweir.Frame.json": "self",
    "streamweir.testing.check_stream": 'body, *, framing="sse", headers=None',
    "streamweir.testing.assert_valid_stream": 'body, *, framing="sse", headers=None',
    "streamweir.testing.cuts": "data, *, seed=0",
}

EMITTERS = {
    "emit_session_start": "session_id=None",
    "emit_thinking": "content, stage=None",
    "emit_tool_call_start": "tool_id, tool_name, description=None, arguments=None",
    "emit_tool_call_delta": "tool_id, arguments_delta, tool_name=None",
    "emit_tool_call_progress": "tool_id, progress=None, message=None",
    "emit_tool_call_end": 'tool_id, status="success", result=None, error=None, duration_ms=None',
    "emit_content": "content, format=None, is_complete=False, *, op=None, channel=None",
    "emit_data": "data_type, data, metadata=None",
    "emit_reference": "citations",
    "emit_status": "scope, state, *, name=None, detail=None",
    "emit_warning": "message, *, message_code=None, detail=None",
    "emit_interaction": """interaction_id, kind, state="requested", *, title=None, description=None,
        schema=None, ui=None, questions=None, resume=None""",
    "emit_error": """error_type, message, details=None, recoverable=False, *, code=None,
        terminal=None""",
    "emit_session_end": 'status="completed", summary=None, *, reason=None',
    "emit_exception": "exc",
}

COROUTINES = ("streamweir.StreamingEngine.close", "streamweir.MessageStreamHandler.consume")

ATTRIBUTES = {
    streamweir.Translator: ("started", "error", "counts", "ended", "reason", "media_type"),
    streamweir.StreamingEngine: (
        "request_id",
        "sequence",
        "start_time",
        "closed",
        "media_type",
        "headers",
        "close",
        "__aenter__",
        "__aexit__",
    ),
    streamweir.EventStream: ("media_type", "headers", "request_id", "aclose", "__aiter__", "__anext__"),
    streamweir.MessageStreamHandler: ("message",),
}

STATE = [
    "message_id",
    "role",
    "thinking_content",
    "main_content",
    "channels",
    "tool_calls",
    "data_blocks",
    "references",
    "interactions",
    "warnings",
    "statuses",
    "is_streaming",
    "has_error",
    "error_code",
    "error_message",
    "recoverable",
    "status",
    "reason",
    "summary",
    "metadata",
]

EVENTS = [
    "SessionStart",
    "Thinking",
    "ToolCallStart",
    "ToolCallDelta",
    "ToolCallProgress",
    "ToolCallEnd",
    "Content",
    "Data",
    "Reference",
    "Status",
    "Warning",
    "Interaction",
    "Error",
    "SessionEnd",
    "Unknown",
]

FAILURES = ["ConnectionFailed", "RequestTimeout", "RequestRejected", "StreamFailed", "StreamTruncated"]

RAISED = {
    "ConfigurationError": ValueError,
    "UnknownDialectError": Exception,
    "EventValidationError": ValueError,
    "LifecycleError": RuntimeError,
    "StreamError": Exception,
    "RequestError": ValueError,
}


def found(path: str) -> Any:
    """The thing at a dotted path that begins with a module."""
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        try:
            thing: Any = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for name in parts[length:]:
            thing = getattr(thing, name)
        return thing
    raise AssertionError(path)


def expected(signature: str) -> list[tuple[str, str, str]]:
    """Name, kind and default of each parameter."""
    parameters = []
    kind = "positional"
    for part in re.split(r",\s*(?![^()]*\))", signature.strip()):
        name, _, default = part.partition("=")
        if name == "*":
            kind = "keyword"
        elif name.startswith("**"):
            parameters.append((name.lstrip("*"), "rest", ""))
        elif name:
            parameters.append((name, kind, normal(default)))
    return parameters


def actual(thing: Any) -> list[tuple[str, str, str]]:
    kinds = {"KEYWORD_ONLY": "keyword", "VAR_KEYWORD": "rest", "VAR_POSITIONAL": "list"}
    return [
        (parameter.name, kinds.get(parameter.kind.name, "positional"), shown(parameter.default))
        for parameter in inspect.signature(thing).parameters.values()
    ]


def shown(default: Any) -> str:
    if default is inspect.Parameter.empty:
        return ""
    return default.__name__ if inspect.isfunction(default) else normal(repr(default))


def normal(default: str) -> str:
    return re.sub(r"\s+", "", default).replace("'", '"')


@pytest.mark.parametrize("path", CALLABLES)
def test_callable_takes_the_parameters_of_the_contract(path: str) -> None:
    assert actual(found(path)) == expected(CALLABLES[path])


@pytest.mark.parametrize("name", EMITTERS)
def test_every_emitter_is_a_coroutine_that_takes_metadata_too(name: str) -> None:
    emitter = getattr(streamweir.StreamingEngine, name)
    assert inspect.iscoroutinefunction(emitter)
    parameters = actual(emitter)
    assert ("meta", "keyword", "None") in parameters
    parameters.remove(("meta", "keyword", "None"))
    assert parameters == [("self", "positional", ""), *expected(EMITTERS[name])]


@pytest.mark.parametrize("path", COROUTINES)
def test_contract_coroutine_is_a_coroutine_function(path: str) -> None:
    assert inspect.iscoroutinefunction(found(path))


def test_translator_fail_takes_code_or_exception() -> None:
    assert len(actual(streamweir.Translator.fail)) == 2


@pytest.mark.parametrize("kind", ATTRIBUTES, ids=lambda kind: kind.__name__)
def test_objects_have_the_attributes_of_the_contract(kind: type) -> None:
    make: dict[type, Callable[[], object]] = {
        streamweir.Translator: streamweir.Translator,
        streamweir.StreamingEngine: streamweir.StreamingEngine,
        streamweir.EventStream: lambda: streamweir.EventStream([]),
        streamweir.MessageStreamHandler: streamweir.MessageStreamHandler,
    }
    made = make[kind]()
    assert [name for name in ATTRIBUTES[kind] if not hasattr(made, name)] == []


def test_message_state_has_the_attributes_of_the_contract() -> None:
    state = streamweir.MessageStreamHandler().message
    assert isinstance(state, streamweir.MessageState)
    assert [name for name in STATE if not hasattr(state, name)] == []


@pytest.mark.parametrize("name", EVENTS)
def test_every_event_type_has_a_class(name: str) -> None:
    assert inspect.isclass(getattr(events, name))


def test_received_event_has_the_attributes_of_the_contract() -> None:
    names = {"type", "data", "metadata", "to_dict"}
    received = streamweir.ReceivedEvent
    fields = {*dir(received), *getattr(received, "__struct_fields__", ())}
    assert names <= fields


def test_classified_failure_is_frozen() -> None:
    info = streamweir.classify_exception(ValueError("secret"))
    fields = ("code", "error_type", "message", "recoverable", "retry_after_ms", "status", "reason", "details")
    assert [name for name in fields if not hasattr(info, name)] == []
    assert info.details is None
    with pytest.raises(AttributeError):
        info.code = "OTHER"  # type: ignore[misc]


@pytest.mark.parametrize("name", RAISED)
def test_raised_exceptions_have_the_bases_of_the_contract(name: str) -> None:
    assert issubclass(getattr(streamweir, name), RAISED[name])


def test_client_exceptions_are_stream_request_errors() -> None:
    client = importlib.import_module("streamweir.client")
    for name in FAILURES:
        assert issubclass(getattr(client, name), client.StreamRequestError)


def test_requested_stream_is_an_iterator_and_a_context_manager() -> None:
    stream = importlib.import_module("streamweir.client").stream_request("http://127.0.0.1:1/")
    for name in ("__aiter__", "__anext__", "__aenter__", "__aexit__", "aclose"):
        assert hasattr(stream, name), name


def test_conformance_kit_is_a_mixin() -> None:
    kit = importlib.import_module("streamweir.testing").DecoderConformance
    assert inspect.isclass(kit)
    assert [name for name in dir(kit) if name.startswith("test_")]


def test_versions_are_those_of_the_contract() -> None:
    assert streamweir.PROTOCOL_VERSION == "1.1"
    assert streamweir.__version__


def test_stamp_has_the_fields_that_an_encoder_needs() -> None:
    for name in ("request_id", "sequence", "timestamp"):
        assert name in {*dir(streamweir.Stamp), *getattr(streamweir.Stamp, "__struct_fields__", ())}
