"""Reads texts and thoughts of runs. The end of a run, a step or a workflow repeats its texts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from streamweir.codec.coerce import and_extra, text_in, text_of
from streamweir.dialects.agno.decode_pauses import is_notice
from streamweir.dialects.agno.decode_place import Place, and_message
from streamweir.events import Content, Event, Meta, Thinking, Whole
from streamweir.ids import RecentIds, short_id

__all__ = ["Texts"]

_INTERMEDIATE: Final = "intermediate"
"""The channel of a model's text that another model rephrases."""

_STEP: Final = {"title": "## {}\n", "reasoning": "{}\n", "action": "Action: {}\n", "result": "Result: {}\n"}
"""The words in which the server itself writes each field of a reasoning step."""


class Texts:
    """The texts of one stream.

    Args:
        room: the number of bytes, roughly, that may be remembered.
    """

    def __init__(self, room: int) -> None:
        self._thought: RecentIds[None] = RecentIds(room // 3)
        """The runs that have sent thoughts."""
        self._whole: RecentIds[None] = RecentIds(room // 3)
        """The digests of texts that arrived whole."""
        self._given: RecentIds[None] = RecentIds(room // 3)
        """The steps that have sent output and have not ended."""
        self._steps = 0
        """The number of reasoning steps that arrived in events of their own."""

    def piece(
        self,
        fields: Mapping[str, Any],
        place: Place,
        rest: Mapping[str, Any] | None,
        *,
        is_intermediate: bool,
    ) -> Iterator[Event]:
        """Yield the next piece of a run's thoughts and texts."""
        meta = and_message(place)
        if thought := text_in(fields, "reasoning_content", "thinking"):
            self._thought.add(place.run_id, None)
            yield Thinking(thought, "reasoning", meta=meta)
        content = fields.get("content")
        if (text := text_of(content)) or rest:
            channel = _INTERMEDIATE if is_intermediate else place.channel
            whole: Whole | None = None if isinstance(content, str) or not text else "snapshot"
            yield Content(text, channel=channel, whole=whole, meta=and_extra(meta, rest))

    def thought(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        """Yield the next piece of a reasoning model's thoughts."""
        if text := text_of(fields.get("reasoning_content")):
            self._thought.add(place.run_id, None)
            yield Thinking(text, "reasoning", meta=and_message(place))
        else:
            yield _without_words(fields, place)

    def step(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        """Yield a step of reasoning: all thoughts until now if the server sends them, else its text."""
        meta = and_message(place)
        if text := text_of(fields.get("reasoning_content")):
            self._thought.add(place.run_id, None)
            yield Thinking(text, "reasoning", whole="snapshot", meta=meta)
        elif text := _words_of(fields.get("content")):
            self._thought.add(place.run_id, None)
            self._steps += 1
            meta = {**(meta or {}), "message_id": f"thought_{self._steps}"}
            yield Thinking(text.removesuffix("\n"), "reasoning", meta=meta)
        else:
            yield _without_words(fields, place)

    def steps(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        """Yield all steps of reasoning, if no step has arrived before."""
        steps = _steps_in(fields.get("content"))
        if place.run_id not in self._thought and (text := "".join(map(_words_of, steps))):
            self._thought.add(place.run_id, None)
            yield Thinking(text, "reasoning", meta=and_message(place))

    def end_of_run(self, fields: Mapping[str, Any], place: Place) -> Iterator[Event]:
        """Yield the part of a run's text and thoughts that was not streamed; the leader of a team repeats its
        members' texts.
        """
        text = text_of(fields.get("content"))
        if place.channel is not None or is_notice(text):
            return
        thought = text_in(fields, "reasoning_content", "thinking")
        if thought and place.run_id not in self._thought:
            yield Thinking(thought, "reasoning", meta=and_message(place))
        if text:
            self.note(text)
            yield Content(text, is_complete=True, whole="repeat", meta=and_message(place))

    def output(self, output: Mapping[str, Any], place: Place, *, is_end: bool) -> Iterator[Event]:
        """Yield the output of a step unless its run has sent it. The end of a step repeats the output."""
        text, step = text_of(output.get("content")), short_id(text_of(output.get("step_id")))
        is_repeated = is_end and self._is_given(output, step, text)
        if not is_end:
            self._given.add(step, None)
        if not text or is_repeated:
            return
        self.note(text)
        run = text_of(output.get("step_run_id"))
        message = run or step or place.run_id
        meta: Meta = {**(place.meta or {}), "message_id": message}
        yield Content(text, is_complete=True, whole="repeat" if run else None, meta=meta)

    def _is_given(self, output: Mapping[str, Any], step: str, text: str) -> bool:
        """Return whether a step's output was sent before; a function may return the same output twice."""
        is_given = step in self._given
        self._given.discard(step)
        return is_given or (output.get("executor_type") != "function" and self.is_noted(text))

    def note(self, text: str) -> None:
        """Note a text that arrived whole."""
        self._whole.add(_digest(text), None)

    def is_noted(self, text: str) -> bool:
        """Return whether this text arrived whole before."""
        return _digest(text) in self._whole


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _steps_in(content: Any) -> list[Any]:
    steps = content.get("reasoning_steps") if isinstance(content, dict) else None
    return steps if isinstance(steps, list) else []


def _without_words(fields: Mapping[str, Any], place: Place) -> Thinking:
    """Return an event for the metadata of a thought without a text."""
    content = fields.get("content")
    rest = None if content in (None, "", {}) else {"content": content}
    return Thinking("", "reasoning", meta=and_extra(and_message(place), rest))


def _words_of(step: Any) -> str:
    if not isinstance(step, dict):
        return ""
    return "".join(form.format(text) for name, form in _STEP.items() if (text := text_of(step.get(name))))
