"""Dialects: the event vocabularies that backends and clients speak."""

from streamweir.dialects.base import Decoder, Encoder
from streamweir.dialects.registry import list_dialects, register_dialect

__all__ = ["Decoder", "Encoder", "list_dialects", "register_dialect"]
