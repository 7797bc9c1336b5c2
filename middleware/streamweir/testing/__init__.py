"""The conformance kit: is this stream valid, and does this decoder, or this store of runs, keep its promises?

Needs no test framework; `DecoderConformance` and `RunStoreConformance` are mix-ins that pytest collects.
"""

from streamweir.testing.conformance import DecoderConformance, cuts
from streamweir.testing.run_store import RunStoreConformance
from streamweir.testing.stream import assert_valid_stream, check_stream

__all__ = ["DecoderConformance", "RunStoreConformance", "assert_valid_stream", "check_stream", "cuts"]
