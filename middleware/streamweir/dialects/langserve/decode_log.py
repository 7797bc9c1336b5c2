"""Reads the log of a run, which arrives as JSON patches, and makes the events of the runs in it.

Source: langchain-core 1.7 (`tracers/log_stream.py`, `RunState`, `LogEntry`); RFC 6902 for the patches. The
addition of each patch is passed on at once; only the end of the log is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import custom, leftover, object_in, objects_in, text_of
from streamweir.codec.families.langchain_events import ChainEvents
from streamweir.events import Event
from streamweir.ids import RecentIds, short_id
from streamweir.jsontext import parse_json_text, write_json_text

__all__ = ["RunLog"]

_STATE: Final = ("id", "streamed_output", "final_output", "logs", "name", "type")
_ENTRY: Final = (
    *("id", "name", "type", "tags", "metadata", "start_time", "end_time", "inputs"),
    *("streamed_output", "streamed_output_str", "final_output"),
)
_PLACES: Final = ("thread_id", "langgraph_node", "langgraph_checkpoint_ns")
"""The keys of a run's metadata that are kept."""
_LONGEST: Final = 1024


class RunLog:
    """Follows the patches of one log.

    Args:
        runs: reads the patched values.
        room: the number of bytes, roughly, that may be kept.

    Attributes:
        final: the whole output, if it is a text within the limit; else None.
    """

    def __init__(self, runs: ChainEvents, room: int) -> None:
        self._runs = runs
        self._root: Mapping[str, Any] = {"type": "chain", "parent_ids": []}
        self.final: str | None = None
        self._most = room // 8
        self._entries: RecentIds[str] = RecentIds(room // 8)
        """For each run by its place in the log: the fields that every event of the run repeats, as JSON."""

    def read(self, ops: list[Any]) -> Iterator[Event]:
        """Yield the events of patches."""
        for op in objects_in(ops):
            path = text_of(op.get("path")).split("/", maxsplit=5)[1:]
            yield from self._patch(path, op.get("value"), op)

    def _patch(self, path: list[str], value: Any, op: Mapping[str, Any]) -> Iterator[Event]:
        match path:
            case []:
                yield from self._begin(value if isinstance(value, dict) else {})
            case ["streamed_output", _]:
                yield from self._event(self._root, "stream", {"chunk": value})
            case ["final_output", *deeper]:  # grows with what is put out
                is_text = isinstance(value, str) and not deeper
                self.final = value if is_text and len(value) * 4 <= self._most else None
            case ["logs", place]:
                yield from self._enter(place, value if isinstance(value, dict) else {})
            case ["logs", place, "streamed_output", _]:
                yield from self._event(self._entry(place), "stream", {"chunk": value})
            case ["logs", place, "final_output"]:
                yield from self._event(self._entry(place), "end", {"output": value})
            case ["logs", _, "streamed_output_str", _] | ["logs", _, "end_time"]:
                return
            case _:
                yield custom(path[-1] if path else "log", {**op})

    def _begin(self, state: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the start of the log of a run."""
        self._root = {**_of_run(state), "parent_ids": []}
        yield from self._event(self._root, "start", {})
        yield from self._put_out(self._root, state)
        for place, entry in object_in(state, "logs").items():
            yield from self._enter(place, entry if isinstance(entry, dict) else {})
        if rest := leftover(state, _STATE):
            yield custom("log", rest)

    def _enter(self, place: str, entry: Mapping[str, Any]) -> Iterator[Event]:
        """Yield the start of a run inside the logged run."""
        run = _of_run(entry)
        self._entries.add(short_id(place), write_json_text(run))
        yield from self._event(run, "start", {"input": entry.get("inputs")})
        yield from self._put_out(run, entry)
        if entry.get("final_output") is not None:
            yield from self._event(run, "end", {"output": entry["final_output"]})
        if rest := leftover(entry, _ENTRY):
            yield custom("log", rest)

    def _put_out(self, run: Mapping[str, Any], entry: Mapping[str, Any]) -> Iterator[Event]:
        chunks = entry.get("streamed_output")
        for chunk in chunks if isinstance(chunks, list) else ():
            yield from self._event(run, "stream", {"chunk": chunk})

    def _entry(self, place: str) -> Mapping[str, Any]:
        kept = self._entries.get(short_id(place))
        found: Mapping[str, Any] = (
            {"type": "chain", "run_id": place} if kept is None else parse_json_text(kept)
        )
        return found

    def _event(self, run: Mapping[str, Any], phase: str, data: dict[str, Any]) -> Iterator[Event]:
        fields = {name: value for name, value in run.items() if name != "type"}
        return self._runs.read(f"on_{run['type']}_{phase}", {**fields, "data": data})


def _of_run(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that every event of a run repeats."""
    described, tags = object_in(entry, "metadata"), entry.get("tags")
    texts = {name: described[name] for name in _PLACES if isinstance(described.get(name), str)}
    return {
        "type": (text_of(entry.get("type")) or "chain")[:_LONGEST],
        "run_id": short_id(text_of(entry.get("id"))),
        "name": short_id(text_of(entry.get("name"))),
        "tags": [text_of(tag)[:_LONGEST] for tag in tags[:1]] if isinstance(tags, list) else [],
        "metadata": {name: short_id(text) for name, text in texts.items()},
    }
