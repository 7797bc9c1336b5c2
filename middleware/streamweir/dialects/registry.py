"""The dialects by name: built-in ones by import string, other people's by entry point or in code."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, NamedTuple

from streamweir.dialects.base import Decoder, Encoder, Options
from streamweir.errors import ConfigurationError, UnknownDialectError, did_you_mean

__all__ = [
    "Dialect",
    "checked_options",
    "decoder_class",
    "decoder_names",
    "encoder_class",
    "encoder_names",
    "get_dialect",
    "list_dialects",
    "make_decoder",
    "make_encoder",
]

_BUILT_IN: Final[dict[str, str]] = {
    "standard": "streamweir.dialects.standard",
    "legacy": "streamweir.dialects.legacy",
    "data-formulator": "streamweir.dialects.data_formulator",
    "stream-envelope": "streamweir.dialects.stream_envelope",
    "easyflow": "streamweir.dialects.easyflow",
    "ragflow": "streamweir.dialects.ragflow",
}
"""Name -> module; the module names its classes `DECODER` and `ENCODER`. Nothing is loaded until it is used."""

_ENTRY_POINTS: Final = "streamweir.dialects"


class Dialect(NamedTuple):
    """A dialect: what reads it and what writes it; either may be missing."""

    name: str
    decoder: type[Decoder] | None
    encoder: type[Encoder] | None


_loaded: dict[str, Dialect] = {}


@cache
def _foreign() -> dict[str, EntryPoint]:
    """The dialects of other installed packages; looking for them reads many files, so once per process."""
    return {point.name: point for point in entry_points(group=_ENTRY_POINTS)}


def list_dialects() -> list[str]:
    """The names of all dialects that can be read or written."""
    return sorted({*_BUILT_IN, *_loaded, *_foreign()})


def get_dialect(name: str) -> Dialect:
    """Return the dialect called `name`, loading it on first use.

    Raises:
        UnknownDialectError: no dialect has that name.
    """
    if name not in _loaded:
        _loaded[name] = _load(name)
    return _loaded[name]


def decoder_names() -> list[str]:
    """The names of the dialects that can be read."""
    return [name for name in list_dialects() if get_dialect(name).decoder is not None]


def encoder_names() -> list[str]:
    """The names of the dialects that can be written."""
    return [name for name in list_dialects() if get_dialect(name).encoder is not None]


def decoder_class(name: str) -> type[Decoder]:
    """Return the decoder of the dialect `name`, or raise `UnknownDialectError`."""
    decoder = get_dialect(name).decoder
    if decoder is None:
        raise UnknownDialectError(name, decoder_names(), role="dialect to read")
    return decoder


def encoder_class(name: str) -> type[Encoder]:
    """Return the encoder of the dialect `name`, or raise `UnknownDialectError`."""
    encoder = get_dialect(name).encoder
    if encoder is None:
        raise UnknownDialectError(name, encoder_names(), role="dialect to write")
    return encoder


def make_decoder(name: str, options: Options) -> Decoder:
    """Return a fresh decoder for one stream."""
    decoder = decoder_class(name)()
    decoder.options = options
    return decoder


def make_encoder(name: str, options: Options) -> Encoder:
    """Return a fresh encoder for one stream."""
    encoder = encoder_class(name)()
    encoder.options = options
    return encoder


def checked_options(protocol_options: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return `protocol_options` if every dialect, option and value in it is known.

    Raises:
        UnknownDialectError: an unknown dialect.
        ConfigurationError: an option or a value that the dialect does not have.
    """
    for name, options in protocol_options.items():
        dialect = get_dialect(name)
        known = option_values(dialect)
        for option, value in options.items():
            if option not in known:
                raise ConfigurationError(
                    f"{name} has no option {option!r}{did_you_mean(option, known)} (known: {', '.join(known) or 'none'})"
                )
            if str(value) not in known[option]:
                raise ConfigurationError(
                    f"{name}.{option} cannot be {value!r} (one of: {', '.join(known[option])})"
                )
    return {name: dict(options) for name, options in protocol_options.items()}


def option_values(dialect: Dialect) -> dict[str, tuple[str, ...]]:
    """The options of a dialect, for reading and writing together, with their allowed values."""
    sides = (dialect.decoder, dialect.encoder)
    return {name: values for side in sides if side for name, values in side.option_values.items()}


def _load(name: str) -> Dialect:
    if name in _BUILT_IN:
        module = importlib.import_module(_BUILT_IN[name])
        return Dialect(name, getattr(module, "DECODER", None), getattr(module, "ENCODER", None))
    if name in _foreign():
        decoder = _foreign()[name].load()
        return Dialect(name, decoder, getattr(decoder, "encoder", None))
    raise UnknownDialectError(name, list_dialects())
