"""The conformance kit: checks streams, decoders and stores of runs against the contracts.

Needs no test framework; `DecoderConformance` and `RunStoreConformance` are mix-ins that pytest collects.
"""

from streamweir.testing.conformance import DecoderConformance, cuts
from streamweir.testing.run_store import RunStoreConformance
from streamweir.testing.stream import assert_valid_stream, check_stream

__all__ = ["DecoderConformance", "RunStoreConformance", "assert_valid_stream", "check_stream", "cuts"]
