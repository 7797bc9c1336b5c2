"""The option `resume` of the middleware and of responses."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from typing import Any, Final, TypeAlias

from streamweir.errors import ConfigurationError
from streamweir.options.durations import Duration, parse_duration
from streamweir.options.run_defaults import CONTINUE_FOR, RUN_BYTES, RUNS_PATH, TTL
from streamweir.options.sizes import parse_size
from streamweir.runs.store import RunStore

__all__ = ["Owner", "Resume", "check_resume"]

Owner: TypeAlias = Callable[[MutableMapping[str, Any]], str | None]


class Resume:
    """Makes streams resumable.

    Args:
        ttl: how long a run is kept after its end.
        max_bytes: the most bytes of JSON that the events of one run may take; a longer run cannot be resumed.
        continue_for: how long a run continues while it has no reader.
        path: the URL path at which runs are read, cancelled and removed.
        find: let clients find their runs by thread, session or request ids; needs `owner`.
        owner: a function that returns the owner of a request from its scope. The streams of a request without
            an owner (None) are not kept. For anyone but its owner, a run does not exist (404).

    Raises:
        ConfigurationError: an option has an invalid value.
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


def check_resume(resume: object, store: object) -> None:
    """Check the options `resume` and `store`.

    Raises:
        ConfigurationError: an option is missing or has the wrong type.
    """
    if not isinstance(resume, Resume):
        raise ConfigurationError(f"resume must be a streamweir.runs.Resume, not {resume!r}")
    if not isinstance(store, RunStore):
        raise ConfigurationError(f"store must be a streamweir.runs.RunStore, not {store!r}")
