"""The dialects of this process: built in, of installed packages, and registered in code."""

from __future__ import annotations

import importlib
import logging
import re
import sys
from collections.abc import Callable
from functools import cached_property, lru_cache, partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar, get_args, overload

from streamweir.codec.base import Decoder, Encoder, FramingName
from streamweir.codec.dialect import Dialect
from streamweir.codec.dialects import Dialects
from streamweir.errors import ConfigurationError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["add_dialect_at", "dialect_at", "list_dialects", "places", "process_dialects", "register_dialect"]

D = TypeVar("D", bound=type[Decoder] | type[Encoder])

logger = logging.getLogger("streamweir")

_ENTRY_POINTS: Final = "streamweir.dialects"

_registered: dict[str, Dialect] = {}

_places: dict[str, str] = {}
"""The places of the classes of dialects that were added by place, by dialect name."""


def process_dialects() -> Dialects:
    """Return the dialects that can be named in this process.

    The set is immutable: a dialect that is registered later is only in sets that are returned after that.
    """
    path, registered, known = _last.made
    if path != sys.path or registered != _registered:
        path, registered = [*sys.path], {**_registered}
        known = Dialects(Dialects.built_in().values(), installed=partial(_installed, tuple(path)))
        known = known.with_(*registered.values(), replace=True)
        _last.made = path, registered, known
    return known


class _LastSet:
    """The last returned set, and its inputs. Every stream asks for the set, and it rarely changes."""

    def __init__(self) -> None:
        self.made: tuple[list[str] | None, dict[str, Dialect], Dialects] = (None, {}, Dialects())


_last: Final = _LastSet()


@lru_cache(maxsize=1)
def _installed(_path: tuple[str, ...]) -> dict[str, _EntryPointDialect]:
    """Return the dialects of other packages. The packages are searched once for each search path."""
    from importlib.metadata import entry_points  # noqa: PLC0415 (slow to load, and most never ask)

    return {point.name: _EntryPointDialect(point) for point in entry_points(group=_ENTRY_POINTS)}


class _EntryPointDialect:
    """A dialect of another installed package, known by its entry point."""

    def __init__(self, point: EntryPoint) -> None:
        self._point = point
        self._dialect: Dialect | None = None

    @cached_property
    def is_usable(self) -> bool:
        """Return whether the dialect can be loaded. If it cannot, other dialects are still loaded."""
        try:
            self.load()
        except ConfigurationError as error:
            logger.warning("%s", error)
            return False
        return True

    def load(self) -> Dialect:
        """Return the dialect.

        Raises:
            ConfigurationError: the dialect cannot be loaded.
        """
        if self._dialect is None:
            self._dialect = self._load()
        return self._dialect

    def _load(self) -> Dialect:
        named = f"the dialect {self._point.name!r} ({self._point.value})"
        try:
            value = self._point.load()
        except Exception as error:
            raise ConfigurationError(f"{named} cannot be loaded: {type(error).__name__}: {error}") from error
        return _dialect_of(value, self._point.name, named)

    def holds(self, cls: type) -> bool:
        """Return whether `cls` is the class at this entry point, which registers itself when it is loaded."""
        return self._point.value.replace(" ", "") == f"{cls.__module__}:{cls.__qualname__}"


def dialect_at(place: str, name: str | None = None) -> Dialect:
    """Return the dialect whose class is at `place`, as `package.module:Class`.

    Args:
        place: the place of a `Decoder`, an `Encoder` or a `Dialect`. If the class registers itself, the
            registered dialect is returned.
        name: the name of the dialect. By default, the name under which it was registered, else a name made
            from the class's name.

    Raises:
        ConfigurationError: the place holds no dialect.
    """
    named = f"the dialect {place!r}"
    module, colon, path = place.partition(":")
    if not (module and colon and path):
        raise ConfigurationError(f"{named} must be named as package.module:Class")
    try:
        value = attrgetter(path)(importlib.import_module(module))
    except Exception as error:
        raise ConfigurationError(f"{named} cannot be loaded: {type(error).__name__}: {error}") from error
    return _dialect_of(value, name, named)


def add_dialect_at(place: str, name: str | None = None) -> Dialect:
    """Add the dialect at `place` to this process, so that it can be named; see `dialect_at`.

    Raises:
        ConfigurationError: the dialect cannot be loaded, or its name is taken.
    """
    dialect = dialect_at(place, name)
    if _registered.get(dialect.name) is not dialect:
        process_dialects().with_(dialect)
        _registered[dialect.name] = dialect
    _places[dialect.name] = place
    return dialect


def places() -> dict[str, str]:
    """Return the places of the classes of dialects that were added by place, by dialect name."""
    return dict(_places)


def _dialect_of(value: Any, name: str | None, named: str) -> Dialect:
    """Return the loaded dialect; `named` is the name that error messages use for the place."""
    if isinstance(value, Dialect) and name in (None, value.name):
        return value
    for dialect in _registered.values():
        if name in (None, dialect.name) and _stands_for(dialect, value):
            return dialect
    try:
        return Dialect.of_class(name or _name_of(value), value)
    except TypeError as error:
        raise ConfigurationError(f"{named} {error}") from None


def _stands_for(dialect: Dialect, value: Any) -> bool:
    """Return whether the dialect was made from this class, with or without options."""
    sides = (dialect.decoder, dialect.encoder) if isinstance(value, type) else ()
    return any(side is not None and issubclass(side, value) for side in sides[: 1 if dialect.reads else 2])


def _name_of(cls: Any) -> str:
    """Return the dialect name for the name of a class: `acme-chat` for `AcmeChatDecoder`."""
    plain = re.sub(r"(?:Decoder|Encoder|Dialect)$", "", getattr(cls, "__name__", "")) or "dialect"
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", plain).lower()


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
    """Register the class of a dialect. Without `cls`, return a decorator that registers the class.

    Args:
        name: letters, digits, `.`, `_`, `-`; not `auto`.
        cls: a `Decoder`, or an `Encoder` for a dialect that is only written.
        framing: `sse`, `ndjson`, `lines`, `text` or `auto`; the class attribute counts if None.
        encoder: the class that writes the dialect; the class attribute counts if None.
        errors_for_users: whether its error texts are written for users; the class attribute counts if None.
        replace: whether to replace an existing dialect of this name.

    Returns:
        The class, unchanged, or a decorator that returns it.

    Raises:
        ConfigurationError: the name is taken or not allowed, or `framing` is unknown.
        TypeError: the class is neither a `Decoder` nor an `Encoder`.
    """
    Dialect(name)  # a wrong name is the decorator's, not the class's
    if not replace and name not in _installed(tuple(sys.path)):
        process_dialects().with_(Dialect(name))
    if framing not in (None, *get_args(FramingName)):
        known = ", ".join(get_args(FramingName))
        raise ConfigurationError(f"framing cannot be {framing!r} (one of: {known})")

    def register(cls: D) -> D:
        installed = _installed(tuple(sys.path)).get(name)
        is_own = installed is not None and installed.holds(cls)
        if installed is not None and not (replace or is_own):
            process_dialects().with_(Dialect(name))
        _registered[name] = Dialect.of_class(
            name, cls, framing=framing, encoder=encoder, errors_for_users=errors_for_users
        )
        return cls

    return register if cls is None else register(cls)


def list_dialects() -> list[str]:
    """Return the names of all dialects that can be read or written, without those that cannot be loaded."""
    return list(process_dialects())
