"""Reads the stream of a run: what each stream mode says, of the graph and of its subgraphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Final

from streamweir.codec.base import Decoder
from streamweir.codec.coerce import custom, leftover, meta_of, named_data, text_of, upstream_error
from streamweir.codec.langchain_messages import ChainMessages, is_message, plain_message
from streamweir.codec.langgraph_interrupts import interrupt_of
from streamweir.codec.message_template import TextFields
from streamweir.events import Data, Event, Interaction, Meta, SessionEnd, SessionStart, Status
from streamweir.framing import Frame
from streamweir.ids import RecentIds

__all__ = ["LanggraphServerDecoder"]

_INTERRUPT: Final = "__interrupt__"
_SILENT: Final = frozenset({"checkpoints", "heartbeat", "ping", "feedback"})
_TASK: Final = ("id", "name", "input", "triggers", "metadata", "error", "result", "interrupts", "path")
_FIRST: Final = ("run_id", "attempt", "thread_id")

_STATUSES: Final = {
    "RateLimitError": 429,
    "AuthenticationError": 401,
    "PermissionDeniedError": 403,
    "NotFoundError": 404,
    "TimeoutError": 504,
}
"""By the endings of names such as `OpenAIRateLimitError`."""


class LanggraphServerDecoder(Decoder):
    """Reads one run. The end of the body ends it if no message and no call is open; `end` does at once."""

    text_fields: ClassVar = TextFields(texts=((0, "content"),))

    def __init__(self) -> None:
        self._messages = ChainMessages()
        self._ids: dict[str, str] = {}
        self._asked: RecentIds[None] = RecentIds(1 << 16)
        self._waits = False
        self._begun = False
        self._has_state = False

    @classmethod
    def score(cls, fields: Mapping[str, Any], event: str | None) -> float:
        """Sure of the first event of a run; states and updates are typical of home-made servers too."""
        match event, fields:
            case "metadata", {"run_id": str(), "attempt": int()}:
                return 0.97
            case "metadata", {"run_id": str()} if len(fields) == 1:
                return 0.55
            case None, {"messages": [*_, {"type": str(), "content": _} as last]} if is_message(last):
                return 0.6
            case None, {"__error__": _}:
                return 0.9
        return 0.0

    def decode(self, frame: Frame) -> Iterable[Event]:
        """Return the events that `frame` means; what nobody knows is kept as it is."""
        if frame.event == "end":
            return self._end()
        if not frame.data.strip():
            return ()
        if not self._begun:
            self._messages = ChainMessages(self.room)
        return self._read(frame.event or "", frame.json())

    def close(self) -> Iterable[Event]:
        """The end of the body: proper unless something is open, or nothing but the run's id has come."""
        if self.complete and (self._waits or not self._messages.is_open):
            return self._end()
        return ()

    def _read(self, event: str, value: Any) -> Iterator[Event]:
        mode, _, namespace = event.partition("|")
        if mode == "metadata" and isinstance(value, dict):
            yield from self._start(value)
            return
        if mode == "error":
            yield _failure(value)
            return
        self._begun = True
        if mode in _SILENT:
            return
        meta = meta_of(node_id=namespace, **self._ids)
        if not mode and isinstance(value, dict):
            yield from self._answer(value, meta)
            return
        self.complete = True
        read = _READERS.get(mode)
        if read is None:
            yield custom(mode or "message", value, meta)
        else:
            yield from read(self, value, meta)

    def _start(self, fields: Mapping[str, Any]) -> Iterator[Event]:
        for name in ("run_id", "thread_id"):
            if isinstance(fields.get(name), str):
                self._ids[name] = fields[name]
        yield SessionStart(meta=meta_of(**self._ids, extra=leftover(fields, _FIRST)))

    def _end(self) -> Iterator[Event]:
        yield from self._messages.start_calls()
        yield SessionEnd("suspended" if self._waits else "completed", summary=self._messages.summary or None)

    # Messages

    def _tuple(self, value: Any, meta: Meta | None) -> Iterator[Event]:
        """A message with what the graph says of it; older servers send the message alone."""
        match value:
            case [message, dict(beside)] if not is_message(beside):
                thread_id = beside.get("thread_id")
                if "thread_id" not in self._ids and isinstance(thread_id, str):
                    self._ids["thread_id"] = thread_id
                found = {"node_name": beside.get("langgraph_node"), "thread_id": self._ids.get("thread_id")}
                yield from self._messages.read(message, meta_of(**{**(meta or {}), **found}))
            case _:
                yield from self._whole(value, meta)

    def _growing(self, value: Any, meta: Meta | None) -> Iterator[Event]:
        for message in value if isinstance(value, list) else [value]:
            yield from self._messages.read(message, meta, form="growing")

    def _whole(self, value: Any, meta: Meta | None) -> Iterator[Event]:
        for message in value if isinstance(value, list) else [value]:
            yield from self._messages.read(message, meta)

    def _beside_messages(self, value: Any, meta: Meta | None) -> Iterator[Event]:
        """What the graph says of messages, by their ids: where they come from, and nothing of the answer."""
        found = value if isinstance(value, dict) else {"value": value}
        rest = {name: item for name, item in found.items() if not _is_origin(item)}
        if rest:
            yield custom("messages/metadata", rest, meta)

    # States

    def _values(self, value: Any, meta: Meta | None) -> Iterator[Event]:
        if not isinstance(value, dict):
            yield custom("values", value, meta)
            return
        messages = value.get("messages")
        if isinstance(messages, list):
            self._note_history(messages, is_first=not self._has_state)
            self._has_state = self._has_state or bool(meta is None or "node_id" not in meta)
            for message in messages:
                yield from self._messages.read(message, meta)
            value = {name: item for name, item in value.items() if name != "messages"}
        yield from self._interrupts(value.get(_INTERRUPT), meta)
        if rest := leftover(value, (_INTERRUPT,)):
            yield Data("state", rest, meta=meta)

    def _note_history(self, messages: list[Any], *, is_first: bool) -> None:
        """Messages up to the person's last one are history; in the first state all are, if nothing came."""
        plain = [*map(plain_message, messages)]
        people = [at for at, found in enumerate(plain) if found and _is_person(found)]
        if is_first and not self._messages.found:
            self._messages.note_history(messages)
        elif people:
            self._messages.note_history(messages[: people[-1] + 1])

    def _answer(self, value: dict[str, Any], meta: Meta | None) -> Iterator[Event]:
        """A whole state, as `/runs/wait` answers; or a failure."""
        if "__error__" in value:
            yield _failure(value["__error__"])
            return
        messages = value.get("messages")
        if not isinstance(messages, list) and _INTERRUPT not in value:
            yield custom("message", value, meta)
            return
        self.complete = self._has_state = True
        self._messages.found = True
        yield from self._values(value, meta)

    def _updates(self, value: Any, meta: Meta | None) -> Iterator[Event]:
        if not isinstance(value, dict):
            yield custom("updates", value, meta)
            return
        for name, update in value.items():
            if name == _INTERRUPT:
                yield from self._interrupts(update, meta)
            else:
                yield from self._update(name, update, meta_of(**{**(meta or {}), "node_name": name}))

    def _update(self, name: str, update: Any, meta: Meta | None) -> Iterator[Event]:
        """What a node has written: messages, and what else there is of the state."""
        rest = []
        for part in update if isinstance(update, list) else [update]:
            yield from self._written(part, meta)
            left = leftover(part, ("messages",)) if isinstance(part, dict) and not is_message(part) else None
            rest += [left] if left else []
            if part is not None and not isinstance(part, dict):
                rest.append(part)
        yield Status("node", "finished", name=name, meta=meta)
        if rest:
            yield named_data("updates", {name: rest[0] if len(rest) == 1 else rest}, meta)

    def _written(self, part: Any, meta: Meta | None) -> Iterator[Event]:
        """The messages in the update of a node."""
        if is_message(part):
            yield from self._messages.read(part, meta)
        elif isinstance(part, dict) and "messages" in part:
            messages = part["messages"]
            for message in messages if isinstance(messages, list) else [messages]:
                if message is not None:
                    yield from self._messages.read(message, meta)

    def _custom(self, value: Any, meta: Meta | None) -> Iterator[Event]:
        yield named_data("custom", value, meta)

    # Tasks

    def _task(self, value: Any, meta: Meta | None) -> Iterator[Event]:
        """A node begins, or has ended with what it has written."""
        if not isinstance(value, dict) or not isinstance(value.get("name"), str):
            yield custom("tasks", value, meta)
            return
        name = value["name"]
        beside = leftover(value, _TASK)
        meta = meta_of(**{**(meta or {}), "node_name": name, "extra": beside})
        if "result" not in value and "error" not in value:
            yield Status("node", "started", name=name, meta=meta)
            return
        if value.get("error"):
            yield Status("node", "failed", name=name, detail=value["error"], meta=meta)
            return
        yield from self._update(name, _channels(value.get("result")), meta)
        if interrupts := value.get("interrupts"):
            yield from self._interrupts(interrupts, meta)

    def _debug(self, value: Any, meta: Meta | None) -> Iterator[Event]:
        match value:
            case {"type": "task" | "task_result", "payload": dict(payload)}:
                yield from self._task(payload, meta)
            case {"type": "checkpoint"}:
                return
            case _:
                yield custom("debug", value, meta)

    # Interrupts

    def _interrupts(self, value: Any, meta: Meta | None) -> Iterator[Event]:
        if value is None:
            return
        self._waits = True
        yield from self._messages.start_calls()
        held = {name: self._ids[name] for name in ("thread_id",) if name in self._ids}
        for interrupt in value if isinstance(value, list | tuple) else [value]:
            asked = interrupt_of(interrupt, held, meta)
            if asked.interaction_id and asked.interaction_id in self._asked:
                continue
            self._asked.add(asked.interaction_id, None)
            yield asked
        if isinstance(value, list) and not value:
            yield Interaction("", "continue", resume=held, meta=meta)


def _is_origin(item: Any) -> bool:
    return isinstance(item, dict) and item.keys() == {"metadata"}


def _channels(result: Any) -> Any:
    """What a node has written, as one object; older servers list pairs of a channel and its value."""
    if isinstance(result, list) and all(isinstance(item, list) and len(item) == 2 for item in result):
        return {text_of(name): item for name, item in result}
    return result


def _is_person(message: Mapping[str, Any]) -> bool:
    return message.get("type", message.get("role")) in ("human", "user", "HumanMessage")


def _failure(value: Any) -> Event:
    if not isinstance(value, dict):
        return upstream_error(value)
    name, details = value.get("error"), leftover(value, ("error", "message"))
    return upstream_error(value.get("message"), code=name, status=_status(name), details=details)


def _status(name: Any) -> int | None:
    """The status of a model's answer, by the exception that a client of its raises for it."""
    text = text_of(name)
    return next((status for ending, status in _STATUSES.items() if text.endswith(ending)), None)


_READERS: Final[Mapping[str, Callable[[LanggraphServerDecoder, Any, Meta | None], Iterator[Event]]]] = {
    "messages": LanggraphServerDecoder._tuple,
    "messages/partial": LanggraphServerDecoder._growing,
    "messages/complete": LanggraphServerDecoder._whole,
    "messages/metadata": LanggraphServerDecoder._beside_messages,
    "updates": LanggraphServerDecoder._updates,
    "values": LanggraphServerDecoder._values,
    "custom": LanggraphServerDecoder._custom,
    "tasks": LanggraphServerDecoder._task,
    "debug": LanggraphServerDecoder._debug,
}
