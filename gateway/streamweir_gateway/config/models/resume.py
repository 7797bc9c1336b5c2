"""Runs that are kept for clients that come back, and the store of these runs."""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias

from pydantic import BeforeValidator, Field

from streamweir.options.run_defaults import (
    RUN_BYTES,
    STORE_BYTES,
    STORE_LEASE,
    STORE_PREFIX,
    STORE_RUNS,
    STORE_TIMEOUT,
    TTL,
)
from streamweir.yaml_files.unresolved import Unresolved
from streamweir_gateway.config.models.field_types import AtLeastOne, Duration, Flag, Size, Text
from streamweir_gateway.config.models.section import Section, written
from streamweir_gateway.config.values.scalars import text_schema
from streamweir_gateway.config.values.written_as import ShortFor

__all__ = ["IN_MEMORY", "Resume", "Store", "StoreConfig"]

IN_MEMORY: Final = "memory"


class Resume(Section):
    """How the runs of an endpoint are kept."""

    ttl: Duration = written(TTL)
    """The time for which a run is kept after its end. It is kept while it runs."""
    max_bytes: Size = written(RUN_BYTES)
    """The most bytes of one run's events as JSON. A larger run cannot be resumed any more."""
    find: Flag = False
    """Whether a key finds its own runs by thread, session or request id."""


class StoreConfig(Section):
    """The store of runs. Short form: a bare URL."""

    url: Text = Field(IN_MEMORY, repr=False)
    """`memory` for a single process, or the URL of a Redis or Valkey server for all workers and replicas."""
    prefix: Text = STORE_PREFIX
    """The prefix of all names in the server."""
    timeout: Duration = written(STORE_TIMEOUT)
    """The time within which the server has to answer."""
    lease: Duration = written(STORE_LEASE)
    """How long a run belongs to its replica after the replica last renewed it; at least 1s."""
    max_bytes: Size = written(STORE_BYTES)
    """The most bytes of all runs in memory. Runs that have ended are dropped first."""
    max_runs: AtLeastOne = STORE_RUNS
    """The most runs in memory, running and ended."""

    @property
    def is_memory(self) -> bool:
        """Whether the store is in memory, and so ends with the process."""
        return self.url == IN_MEMORY


def _written_out(value: Any) -> Any:
    if isinstance(value, Unresolved):
        return {}
    return {"url": value} if isinstance(value, str) else value


Store: TypeAlias = Annotated[StoreConfig, BeforeValidator(_written_out), ShortFor(text_schema())]
"""The store, with its short form written out."""
