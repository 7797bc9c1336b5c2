"""Streams that are dear to read: messages of a dialect with one part blown up, and long rows of messages.

The messages are those of the recorded streams of a dialect, so that a new dialect has them the day it comes.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import cycle, islice
from typing import Any, NamedTuple, TypeVar

from streams import recorded_streams
from streamweir.framing import SniffingParser
from streamweir.jsontext import parse_json

__all__ = [
    "Blown",
    "Crossed",
    "Shape",
    "cases_of",
    "crossed",
    "distinct",
    "mixed",
    "row",
    "sample",
    "shapes_of",
]

T = TypeVar("T")

_LIMIT = 8 << 20
_LONGEST_ID = 80
_CODE = re.compile(rb"[a-z0-9-]{1,40}:(?=\{)")
_WORDS = frozenset(
    {"type", "event", "domain", "status", "state", "role", "object", "code", "mode", "stage", "name"}
)
"""The keys of words that say what a message is."""


class Shape(NamedTuple):
    """A message as a recorded stream of the dialect has it: the name of its SSE event and its value.

    `code` is what stands in front of the JSON, where a line is not JSON alone.
    """

    event: str | None
    value: dict[str, Any]
    code: bytes = b""

    def frame(self, value: Any) -> bytes:
        """One SSE block with `value` in the place of the recorded one."""
        name = f"event: {self.event}\n".encode() if self.event else b""
        return b"%bdata: %b%b\n\n" % (name, self.code, json.dumps(value, ensure_ascii=False).encode())

    def __str__(self) -> str:
        return f"{self.event or ''} {json.dumps(self.value, ensure_ascii=False)[:100]}"


class Blown(NamedTuple):
    """A message of which one part is blown up, to any size."""

    shape: Shape
    path: tuple[Any, ...]
    kind: str

    def of_size(self, size: int, mark: object = None) -> bytes:
        """The message, the part of about `size` bytes; with a mark, its ids are others."""
        part = _large(_at(self.shape.value, self.path), size)[self.kind]
        value = self.shape.value if mark is None else distinct(self.shape.value, mark)
        return self.shape.frame(_with(value, self.path, part))

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.path))} {self.kind} of {self.shape}"


class Crossed(NamedTuple):
    """A message with one list or object that has many items, and one long text outside of it.

    What copies the text into each item makes thousands of times the message.
    """

    shape: Shape
    many: tuple[Any, ...]
    long: tuple[Any, ...]

    def of_size(self, size: int) -> bytes:
        """The message, each of the two parts of about half of `size` bytes."""
        long = _with(self.shape.value, self.long, "S" * (size // 2))
        return self.shape.frame(_with(long, self.many, _many(_at(self.shape.value, self.many), size // 2)))

    def __str__(self) -> str:
        many, long = (".".join(map(str, path)) for path in (self.many, self.long))
        return f"many {many}, long {long} of {self.shape}"


@cache
def shapes_of(dialect: str) -> tuple[Shape, ...]:
    """The messages of the recorded streams of `dialect` that differ in more than their texts and numbers."""
    found: dict[str, Shape] = {}
    for stream in recorded_streams():
        if stream.dialect != dialect:
            continue
        for shape in _messages(stream.body):
            found.setdefault(f"{shape.event} {_form(shape.value)}", shape)
    return tuple(found.values())


@cache
def cases_of(dialect: str) -> tuple[Blown, ...]:
    """Every part of every message of `dialect`, in each way in which it can be blown up; likes once."""
    found: dict[str, Blown] = {}
    for shape in shapes_of(dialect):
        kind_of_message = "/".join(str(shape.value.get(name)) for name in sorted(_WORDS))
        for path in ((), *_paths(shape.value)):
            for kind in _large(_at(shape.value, path), 16):
                found.setdefault(f"{shape.event} {kind_of_message} {path} {kind}", Blown(shape, path, kind))
    return tuple(found.values())


@cache
def crossed(dialect: str) -> tuple[Crossed, ...]:
    """Every pair of a container and a text outside of it, in every message of `dialect`; likes once."""
    found: dict[str, Crossed] = {}
    for shape in shapes_of(dialect):
        kind = "/".join(str(shape.value.get(name)) for name in sorted(_WORDS))
        paths = [*_paths(shape.value)]
        containers = [path for path in paths if isinstance(_at(shape.value, path), list | dict)]
        texts = [path for path in paths if isinstance(_at(shape.value, path), str)]
        for many in containers:
            for long in texts:
                if long[: len(many)] != many and many[: len(long)] != long:
                    found.setdefault(f"{shape.event} {kind} {many} {long}", Crossed(shape, many, long))
    return tuple(found.values())


def sample(found: Sequence[T], number: int) -> Sequence[T]:
    """Return up to `number` of them, from the first to the last."""
    return found[:: max(1, -(-len(found) // number))]


def row(shape: Shape, number: int, *, alike: bool = False) -> list[bytes]:
    """Return so many messages of one shape: the same one, or each with ids of its own."""
    values = (shape.value if alike else distinct(shape.value, place) for place in range(number))
    return [shape.frame(value) for value in values]


def mixed(shapes: Sequence[Shape], number: int) -> list[bytes]:
    """Return so many messages of all shapes, each with ids of its own."""
    chosen = enumerate(islice(cycle(shapes), number))
    return [shape.frame(distinct(shape.value, place)) for place, shape in chosen]


def _messages(body: bytes) -> Iterator[Shape]:
    parser = SniffingParser(_LIMIT, expected="ndjson")
    frames = [*parser.feed(body), *parser.finish()]
    for frame in frames:
        code = found[0] if (found := _CODE.match(frame.data)) else b""
        try:
            value, _ = parse_json(frame.data[len(code) :])
        except Exception:
            continue
        if isinstance(value, dict):
            yield Shape(frame.event, value, code)


def _form(value: Any) -> str:
    """What `value` is made of, and the words that say what it means."""
    match value:
        case dict():
            return json.dumps({key: _form(item) for key, item in value.items()})
        case list():
            return json.dumps(sorted({_form(item) for item in value}))
        case str() if len(value) <= 24 and value.replace("_", "").replace("-", "").replace(".", "").isalpha():
            return value
    return type(value).__name__


def _large(part: Any, size: int) -> dict[str, Any]:
    """What can stand in the place of `part`, of about `size` bytes."""
    match part:
        case str():
            words = f"{part or 'word'} "
            return {
                "letters": "a" * size,
                "marks": "<*'\"\n" * (size // 7),
                "words": words * (size // len(words.encode())),
                "tags": "<think>x</think>" * (size // 16),
                "an object": {"deep": [{"a": [1]}] * (size // 12)},
            }
        case bool() | None:
            return {"letters": "a" * size}
        case int() | float():
            return {"digits": int("9" * min(size, 4000))}
        case list():
            again = part * max(1, size // len(json.dumps(part))) if part else [{"a": ["b"]}] * (size // 14)
            return {"itself again": again, "texts": ["ab"] * (size // 6), "half full": [{}] * (size // 4)}
        case dict():
            return {
                "fields": {**part, **{f"field{number}": number for number in range(size // 22)}},
                "beside an integer": {**part, "large": 1 << 70, "many": [[{"a": [1]}]] * (size // 16)},
            }
    return {}


def _many(part: Any, size: int) -> Any:
    """The items of `part`, or its fields, again and again under other ids and names."""
    if isinstance(part, list):
        part = part or [{"a": "b"}]
        times = max(1, size // len(json.dumps(part)))
        return [distinct(item, place) for place in range(times) for item in part]
    first = next(iter(part.items()), ("a", 1))
    times = max(1, size // (len(json.dumps(first)) + 8))
    return {**part, **{f"{first[0]}{place}": first[1] for place in range(times)}}


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _paths(item, (*path, key))
    elif isinstance(value, list) and value:
        yield from _paths(value[0], (*path, 0))


def _at(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def _with(value: Any, path: tuple[Any, ...], part: Any) -> Any:
    if not path:
        return part
    changed = copy.deepcopy(value)
    _at(changed, path[:-1])[path[-1]] = part
    return changed


def distinct(value: Any, mark: object) -> Any:
    """`value` with every short text that looks like an id made another one, and every index."""
    match value:
        case dict():
            return {
                key: mark if key == "index" else item if key in _WORDS else distinct(item, mark)
                for key, item in value.items()
            }
        case list():
            return [distinct(item, mark) for item in value]
        case str() if len(value) <= _LONGEST_ID:
            return f"{value}-{mark}"
    return value
