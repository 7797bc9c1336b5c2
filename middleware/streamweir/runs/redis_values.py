"""Named values in Redis or Valkey, one command each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from streamweir.runs.redis_pipeline import CommandPipeline

__all__ = ["RedisValues"]


class RedisValues:
    """The values of one store.

    A value of another type under one of the names counts as no value: `get` returns None, `put` replaces it.

    Args:
        pipeline: sends the commands.
        prefix: the prefix of all names.
    """

    def __init__(self, pipeline: CommandPipeline, prefix: str) -> None:
        self._pipeline: Final = pipeline
        self._prefix: Final = f"{prefix}value:"

    async def put(self, name: str, value: bytes, milliseconds: int) -> None:
        """Store a value for this many milliseconds."""
        await self._pipeline.call_commands([("SET", self._name(name), value, "PX", milliseconds)])

    async def get_many(self, names: Sequence[str], milliseconds: int) -> list[bytes | None]:
        """Return the values of names in one round trip, and keep each for so many milliseconds from now."""
        if not names:
            return []
        commands = [("GETEX", self._name(name), "PX", milliseconds) for name in names]
        answers = await self._pipeline.call_commands(commands)
        return [answer if isinstance(answer, bytes) else None for answer in answers]

    async def drop(self, name: str) -> None:
        """Delete a value."""
        await self._pipeline.call_commands([("UNLINK", self._name(name))])

    def _name(self, name: str) -> str:
        return f"{self._prefix}{{{name}}}"
