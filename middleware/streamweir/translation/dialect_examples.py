"""Runs the examples of a home-made dialect and reports the differences from the wanted results.

Source: the dialect-file contract, section 8.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from streamweir.codec.base import NO_OPTIONS, Decoder
from streamweir.codec.dialect import Dialect
from streamweir.codec.mapped.dialect import MappedDialect
from streamweir.codec.mapped.examples import Example
from streamweir.codec.mapped.flat_events import MAY_BE_LEFT_OUT, event_from, shown
from streamweir.codec.mapped.reader import MappedDecoder
from streamweir.errors import MalformedEvent, StreamweirError
from streamweir.events import Event, Stamp
from streamweir.framing import Frame
from streamweir.jsontext import parse_json, same_json, write_json, write_json_text
from streamweir.requests.errors import RequestError
from streamweir.requests.templates import is_long_form
from streamweir.translation.requests import read_request, write_request
from streamweir.translation.translator import Translator

__all__ = ["run_examples"]

MAX_SHOWN: Final = 300
"""Characters of a value in a message."""

MAX_FILE: Final = 64 << 20

_REQUEST_ID: Final = "req_example"


def run_examples(compiled: MappedDialect) -> None:
    """Run all examples of a dialect; report those that fail, at their keys."""
    for example in compiled.examples:
        failure = _failure(compiled.dialect, example, compiled.source.folder)
        if failure is not None:
            compiled.source.report.at_key(example.path, f"the example fails: {failure}")


def _failure(dialect: Dialect, example: Example, folder: Path) -> str | None:
    """Return the reason why an example fails; None if it passes."""
    match example.kind:
        case "in":
            return _list_difference([*_decoded(dialect, example)], example.wanted, "out", _is_event)
        case "events":
            return _list_difference(_encoded(dialect, example.given), example.wanted, "sends", _is_frame)
        case "request":
            return _written_difference(dialect, example)
        case "request_body":
            return _read_difference(dialect, example)
    body = _body(example.given, folder)
    if isinstance(body, str):
        return body
    translator = Translator(speaks=dialect, framing="json", request_id=_REQUEST_ID)
    folded = parse_json(translator.feed(body) + translator.close())[0]
    return next(_partial_differences(folded, example.wanted, "gives"), None)


def _written_difference(dialect: Dialect, example: Example) -> str | None:
    try:
        written = write_request(example.given, dialect=dialect)[-1]
    except RequestError as error:
        return str(error)
    wants_all = is_long_form(example.wanted)
    came = written if wants_all else written.get("body", written.get("form"))
    return next(_partial_differences(came, example.wanted, "writes"), None)


def _read_difference(dialect: Dialect, example: Example) -> str | None:
    try:
        came = read_request(example.given, protocol=dialect)
    except RequestError as error:
        return str(error)
    return next(_partial_differences(came, example.wanted, "reads"), None)


# What comes out


def _decoded(dialect: Dialect, example: Example) -> Iterator[dict[str, Any]]:
    decoder = dialect.make_decoder(NO_OPTIONS)
    messages = example.given if isinstance(example.given, list) else [example.given]
    for message in messages:
        data = message.encode() if isinstance(message, str) else write_json(message)
        try:
            yield from map(shown, _events_of(decoder, Frame(data, example.event)))
        except MalformedEvent as error:
            yield {"malformed": str(error)}


def _events_of(decoder: Decoder, frame: Frame) -> Iterable[Event]:
    """Return the decoded events of a frame, before tool calls are paired."""
    return decoder.decode_alone(frame) if isinstance(decoder, MappedDecoder) else decoder.decode(frame)


def _encoded(dialect: Dialect, events: list[dict[str, Any]]) -> list[Any]:
    encoder = dialect.make_encoder(NO_OPTIONS)
    encoder.writes_extra = True
    frames = [
        frame
        for place, fields in enumerate(events)
        for frame in encoder.encode(event_from(fields), Stamp(_REQUEST_ID, place, 0))
    ]
    return [_shown_frame(frame) for frame in frames]


def _shown_frame(frame: Frame) -> Any:
    data = _shown_data(frame)
    if frame.event is None:
        return data
    return {"event": frame.event, "data": data} if frame.data else {"event": frame.event}


def _shown_data(frame: Frame) -> Any:
    try:
        return frame.json()
    except MalformedEvent:
        return frame.text


def _body(given: str, folder: Path) -> bytes | str:
    """Return the body of an example as bytes; a `str` is the reason why it cannot be read."""
    if "\n" in given:
        return given.encode()
    path = folder / given
    try:
        if path.stat().st_size > MAX_FILE:
            return f"{given} is larger than a recorded body may be"
        return path.read_bytes()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        return f"{given} cannot be read: {reason}"


# What is wanted


def _is_event(came: Any, wanted: Any) -> bool:
    """Return whether an event has the wanted fields and values; some fields may be omitted."""
    if not isinstance(came, Mapping) or not isinstance(wanted, Mapping):
        return False
    optional = MAY_BE_LEFT_OUT.get(str(came.get("type")), frozenset())
    kept = {name: value for name, value in came.items() if name in wanted or name not in optional}
    return same_json(kept, dict(wanted))


def _is_frame(came: Any, wanted: Any) -> bool:
    """Return whether a frame equals the wanted one, whose data may be given as text or as JSON."""
    if same_json(came, wanted):
        return True
    if isinstance(came, Mapping) and isinstance(wanted, Mapping) and _is_named(came) and _is_named(wanted):
        return bool(came["event"] == wanted["event"]) and _is_frame(came["data"], wanted["data"])
    return isinstance(wanted, str) and not isinstance(came, str) and write_json_text(came) == wanted


def _is_named(frame: Mapping[str, Any]) -> bool:
    return frame.keys() == {"event", "data"}


def _list_difference(came: list[Any], wanted: list[Any], key: str, is_it: Any) -> str | None:
    for place in range(max(len(came), len(wanted))):
        if place >= len(came):
            return f"{key}[{place}]: came nothing more, wanted {_text(wanted[place])}"
        if place >= len(wanted):
            return f"{key}[{place}]: came {_text(came[place])}, wanted nothing more"
        if not is_it(came[place], wanted[place]):
            return f"{key}[{place}]: came {_text(came[place])}, wanted {_text(wanted[place])}"
    return None


def _partial_differences(came: Any, wanted: Any, path: str) -> Iterator[str]:
    """Yield the differences between `came` and `wanted`: mappings in the wanted keys, lists item by item."""
    if isinstance(wanted, Mapping) and isinstance(came, Mapping):
        for key, value in wanted.items():
            yield from _partial_differences(came.get(key), value, f"{path}.{key}")
    elif isinstance(wanted, list) and isinstance(came, list) and len(came) == len(wanted):
        for place, value in enumerate(wanted):
            yield from _partial_differences(came[place], value, f"{path}[{place}]")
    elif not same_json(came, wanted):
        yield f"{path}: came {_text(came)}, wanted {_text(wanted)}"


def _text(value: Any) -> str:
    try:
        text = write_json_text(value)
    except (TypeError, StreamweirError):
        text = repr(value)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 3] + "..."
