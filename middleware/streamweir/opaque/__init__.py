"""Opaque values: parts of a turn that only the upstream can read, carried by clients of other protocols."""

from streamweir.opaque.seal import Seal, is_seal, make_seal, read_seal

__all__ = ["Seal", "is_seal", "make_seal", "read_seal"]
