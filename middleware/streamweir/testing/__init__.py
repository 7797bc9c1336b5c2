"""The conformance kit: is this stream valid, and does this decoder keep its promises?

Needs no test framework; `DecoderConformance` is a mix-in that pytest collects.
"""

from streamweir.testing.conformance import DecoderConformance, cuts
from streamweir.testing.stream import assert_valid_stream, check_stream

__all__ = ["DecoderConformance", "assert_valid_stream", "check_stream", "cuts"]
