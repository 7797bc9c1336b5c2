"""Streams that are kept for clients that come back, and their store."""

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
    """After the end of a run; while it runs it is kept."""
    max_bytes: Size = written(RUN_BYTES)
    """Of the JSON of one run's events; beyond, it cannot be resumed any more."""
    find: Flag = False
    """Whether a key finds its runs by their thread, session or request ids."""


class StoreConfig(Section):
    """The store of runs; short form: a bare URL."""

    url: Text = Field(IN_MEMORY, repr=False)
    """`memory` for one process, or the URL of a Redis or Valkey server for all workers and replicas."""
    prefix: Text = STORE_PREFIX
    """Of all names in the server."""
    timeout: Duration = written(STORE_TIMEOUT)
    """Within which the server has to answer."""
    lease: Duration = written(STORE_LEASE)
    """How long a run belongs to its replica since that last said so; 1s at least."""
    max_bytes: Size = written(STORE_BYTES)
    """Of all runs in memory; ended ones give way."""
    max_runs: AtLeastOne = STORE_RUNS
    """In memory, running and ended."""

    @property
    def is_memory(self) -> bool:
        """It ends with the process."""
        return self.url == IN_MEMORY


def _written_out(value: Any) -> Any:
    if isinstance(value, Unresolved):
        return {}
    return {"url": value} if isinstance(value, str) else value


Store: TypeAlias = Annotated[StoreConfig, BeforeValidator(_written_out), ShortFor(text_schema())]
"""As the file holds it."""
