"""What an application says about its resumable streams."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any, Final, TypeAlias

from streamweir.errors import ConfigurationError
from streamweir.options.durations import Duration, parse_duration
from streamweir.options.kept_runs import CONTINUE_FOR, RUN_BYTES, RUNS_PATH, TTL
from streamweir.options.sizes import parse_size

__all__ = ["Owner", "Resume"]

Owner: TypeAlias = Callable[[MutableMapping[str, Any]], str | None]


class Resume:
    """That streams are resumable, and how.

    Args:
        ttl: how long a run is kept after its end.
        max_bytes: of the JSON of one run's events; beyond, it cannot be resumed any more.
        continue_for: how long a run goes on that nobody reads.
        path: where runs are read, cancelled and removed.
        find: runs are found by their thread, session or request ids; needs `owner`.
        owner: whose request it is, from its scope; None is nobody's. Others get 404.

    Raises:
        ConfigurationError: a value that cannot be.
    """

    __slots__ = ("continue_for", "find", "max_bytes", "owner", "path", "ttl")

    def __init__(
        self,
        *,
        ttl: Duration = TTL,
        max_bytes: int | str = RUN_BYTES,
        continue_for: Duration = CONTINUE_FOR,
        path: str = RUNS_PATH,
        find: bool = False,
        owner: Owner | None = None,
    ) -> None:
        if not isinstance(path, str) or not path.startswith("/") or path.rstrip("/") == "":
            raise ConfigurationError(f"path must be a path such as /-/runs, not {path!r}")
        if owner is not None and not callable(owner):
            raise ConfigurationError(f"owner must be a function of the scope, not {owner!r}")
        if find and owner is None:
            raise ConfigurationError("find needs owner: whose runs are found")
        self.ttl: Final = parse_duration(ttl, name="ttl")
        self.max_bytes: Final = parse_size(max_bytes, name="max_bytes")
        self.continue_for: Final = parse_duration(continue_for, name="continue_for")
        self.path: Final = path.rstrip("/")
        self.find: Final = find
        self.owner: Final = owner
