"""A stream of one's own: an engine that cannot emit an invalid one."""

from streamweir.engine.streaming_engine import StreamingEngine

__all__ = ["StreamingEngine"]
