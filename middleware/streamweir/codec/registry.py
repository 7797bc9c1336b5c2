"""The dialects by name: built-in ones by import string, other people's by entry point or in code."""

from __future__ import annotations

import importlib
import logging
import re
import sys
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final, NamedTuple, TypeVar, overload

from streamweir.codec.base import Decoder, Encoder, FramingName, Options
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
    "register_dialect",
]

D = TypeVar("D", bound=type[Decoder] | type[Encoder])

logger = logging.getLogger("streamweir")

_BUILT_IN: Final[dict[str, str]] = {
    "standard": "streamweir.dialects.standard",
    "legacy": "streamweir.dialects.legacy",
    "data-formulator": "streamweir.dialects.data_formulator",
    "stream-envelope": "streamweir.dialects.stream_envelope",
    "easyflow": "streamweir.dialects.easyflow",
    "ragflow": "streamweir.dialects.ragflow",
}
"""Name -> module; the module names its classes `DECODER` and `ENCODER`. Nothing is loaded before its use."""

_ENTRY_POINTS: Final = "streamweir.dialects"

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_RESERVED: Final = frozenset({"auto"})


class Dialect(NamedTuple):
    """A dialect: what reads it and what writes it; either may be missing."""

    name: str
    decoder: type[Decoder] | None
    encoder: type[Encoder] | None


_loaded: dict[str, Dialect] = {}


def _foreign() -> dict[str, EntryPoint]:
    """The dialects of other installed packages."""
    return _entry_points(tuple(sys.path))


@lru_cache(maxsize=1)
def _entry_points(_path: tuple[str, ...]) -> dict[str, EntryPoint]:
    """Looking for them reads many files, so once for each search path."""
    return {point.name: point for point in entry_points(group=_ENTRY_POINTS)}


def list_dialects() -> list[str]:
    """The names of all dialects that can be read or written; one that cannot be loaded is left out."""
    return sorted({*_BUILT_IN, *_loaded, *filter(_is_usable, _foreign())})


@overload
def register_dialect(
    name: str,
    cls: None = None,
    *,
    framing: FramingName | None = None,
    encoder: type[Encoder] | None = None,
    errors_for_users: bool | None = None,
    replace: bool = False,
) -> Callable[[D], D]: ...


@overload
def register_dialect(
    name: str,
    cls: D,
    *,
    framing: FramingName | None = None,
    encoder: type[Encoder] | None = None,
    errors_for_users: bool | None = None,
    replace: bool = False,
) -> D: ...


def register_dialect(
    name: str,
    cls: D | None = None,
    *,
    framing: FramingName | None = None,
    encoder: type[Encoder] | None = None,
    errors_for_users: bool | None = None,
    replace: bool = False,
) -> D | Callable[[D], D]:
    """Register a dialect of your own: with the class as a function, without it as a decorator.

    Args:
        name: letters, digits, `.`, `_`, `-`; not `auto`.
        cls: a `Decoder`, or an `Encoder` for a dialect that is only written.
        framing: `sse`, `ndjson` or `auto`; in the place of the class attribute.
        encoder: writes the dialect; in the place of the class attribute.
        errors_for_users: in the place of the class attribute.
        replace: a dialect of that name may exist.

    Returns:
        The class, unchanged, or a decorator that returns it.

    Raises:
        ConfigurationError: the name is taken or cannot be one, or `framing` is none.
        TypeError: the class is neither a `Decoder` nor an `Encoder`.
    """
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in _RESERVED:
        raise ConfigurationError(f"{name!r} cannot be the name of a dialect")
    if not replace and (name in _BUILT_IN or name in _loaded or name in _foreign()):
        raise ConfigurationError(f"there is a dialect {name!r} already; replace=True takes its place")
    if framing not in (None, "sse", "ndjson", "auto"):
        raise ConfigurationError(f"framing cannot be {framing!r} (one of: sse, ndjson, auto)")
    attributes = {"framing": framing, "encoder": encoder, "errors_for_users": errors_for_users}
    given = {key: value for key, value in attributes.items() if value is not None}

    def register(cls: D) -> D:
        _loaded[name] = _dialect_of(name, cls, given)
        return cls

    return register if cls is None else register(cls)


def get_dialect(name: str) -> Dialect:
    """Return the dialect called `name`, loading it on first use.

    Raises:
        UnknownDialectError: no dialect has that name.
        ConfigurationError: another package's dialect cannot be loaded.
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
                    f"{name} has no option {option!r}{did_you_mean(option, known)}"
                    f" (known: {', '.join(known) or 'none'})"
                )
            if str(value) not in known[option]:
                raise ConfigurationError(
                    f"{name}.{option} cannot be {value!r} (one of: {', '.join(known[option])})"
                )
    return {name: dict(options) for name, options in protocol_options.items()}


def option_values(dialect: Dialect) -> dict[str, tuple[str, ...]]:
    """The options of a dialect with their allowed values: those for reading, then those for writing only.

    A side that does not know a value which the other one takes keeps its default.
    """
    allowed: dict[str, tuple[str, ...]] = {}
    for side in (dialect.decoder, dialect.encoder):
        for name, values in side.option_values.items() if side else ():
            allowed[name] = tuple(dict.fromkeys((*allowed.get(name, ()), *values)))
    return allowed


@cache
def _is_usable(name: str) -> bool:
    """Can this dialect of another package be loaded? One that cannot must not spoil the others."""
    try:
        get_dialect(name)
    except ConfigurationError as error:
        logger.warning("%s", error)
        return False
    return True


def _load(name: str) -> Dialect:
    if name in _BUILT_IN:
        module = importlib.import_module(_BUILT_IN[name])
        return Dialect(name, getattr(module, "DECODER", None), getattr(module, "ENCODER", None))
    if name in _foreign():
        return _load_foreign(_foreign()[name])
    raise UnknownDialectError(name, list_dialects())


def _load_foreign(point: EntryPoint) -> Dialect:
    try:
        cls = point.load()
    except Exception as error:
        raise ConfigurationError(
            f"the dialect {point.name!r} ({point.value}) cannot be loaded: {type(error).__name__}: {error}"
        ) from error
    try:
        return _dialect_of(point.name, cls, {})
    except TypeError as error:
        raise ConfigurationError(f"the dialect {point.name!r} ({point.value}) {error}") from None


def _dialect_of(name: str, cls: Any, given: Mapping[str, Any]) -> Dialect:
    """The dialect that a class stands for; what is `given` wins over the attributes of the class."""
    if isinstance(cls, type) and issubclass(cls, Encoder):
        return Dialect(name, None, cls)
    if not isinstance(cls, type) or not issubclass(cls, Decoder):
        raise TypeError("is neither a Decoder nor an Encoder")
    encoder = given.get("encoder") or getattr(cls, "encoder", None)
    if encoder is not None and not (isinstance(encoder, type) and issubclass(encoder, Encoder)):
        raise TypeError("has an encoder that is no Encoder")
    own = {key: value for key, value in given.items() if key != "encoder"}
    return Dialect(name, type(cls.__name__, (cls,), own) if own else cls, encoder)
