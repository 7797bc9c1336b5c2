"""Dialects by name, as an immutable set: a name means the same dialect to all code that holds the set."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, cached_property
from typing import Any, Protocol

import streamweir.dialects
from streamweir.codec.dialect import Dialect
from streamweir.codec.hint_index import HintIndex
from streamweir.errors import ConfigurationError, UnknownDialectError

__all__ = ["Dialects", "InstalledDialect"]


class InstalledDialect(Protocol):
    """A dialect of another package, which may fail to load."""

    @property
    def is_usable(self) -> bool:
        """Whether the dialect can be loaded."""

    def load(self) -> Dialect:
        """Return the dialect. Each call returns the same object.

        Raises:
            ConfigurationError: the dialect cannot be loaded.
        """


class Dialects(Mapping[str, Dialect]):
    """An immutable mapping of dialects by name, in the order of their names.

    A dialect of another package is loaded when it is looked up. A dialect that cannot be loaded is left out
    of listings; a look-up of its name raises an error that gives the reason.

    Args:
        dialects: the members of the set; if two have one name, the later one counts.
        installed: finds the dialects of other packages. It is called only if `dialects` does not suffice.
    """

    def __init__(
        self,
        dialects: Iterable[Dialect] = (),
        *,
        installed: Callable[[], Mapping[str, InstalledDialect]] = dict,
    ) -> None:
        self._dialects = {dialect.name: dialect for dialect in dialects}
        self._installed = installed

    @classmethod
    def built_in(cls) -> Dialects:
        """Return the dialects that come with the library: the folders of `streamweir.dialects`."""
        return _built_in()

    def with_(self, *dialects: Dialect, replace: bool = False) -> Dialects:
        """Return a set with the members of this set and with `dialects`.

        Raises:
            ConfigurationError: a name is taken already, and `replace` is not set.
        """
        for dialect in dialects:
            if not replace and self.has_name(dialect.name):
                raise ConfigurationError(
                    f"there is a dialect {dialect.name!r} already; replace=True takes its place"
                )
        return Dialects((*self._dialects.values(), *dialects), installed=self._installed)

    def called_at(self, path: str) -> Dialect | None:
        """Return the dialect whose clients call this path; None if the path shows no dialect."""
        for dialect in self._dialects.values():
            if dialect.client_paths and path.endswith(dialect.client_paths):
                return dialect
        return None

    def has_name(self, name: str) -> bool:
        """Return whether a dialect has this name, even if that dialect cannot be loaded."""
        return name in self._dialects or name in self._installed()

    @property
    def readable(self) -> tuple[str, ...]:
        """The names of the dialects that can be read."""
        return tuple(name for name, dialect in self.items() if dialect.reads)

    @property
    def writable(self) -> tuple[str, ...]:
        """The names of the dialects that can be written."""
        return tuple(name for name, dialect in self.items() if dialect.writes)

    @cached_property
    def detectable(self) -> tuple[Dialect, ...]:
        """The dialects that the detector can find in a body."""
        return tuple(dialect for dialect in self.values() if dialect.reads and dialect.detectable)

    @cached_property
    def hint_index(self) -> HintIndex:
        """The index that finds the dialects that a message may belong to."""
        return HintIndex(self.detectable)

    def find(self, dialect: str | Dialect) -> Dialect:
        """Return the dialect with this name; a `Dialect` is returned unchanged.

        Raises:
            UnknownDialectError: no dialect has that name.
            ConfigurationError: another package's dialect cannot be loaded.
        """
        if type(dialect) is str and (found := self._dialects.get(dialect)) is not None:
            return found
        if isinstance(dialect, Dialect):
            return dialect
        try:
            return self[dialect]
        except KeyError:
            raise UnknownDialectError(dialect, self) from None

    def to_read(self, dialect: str | Dialect) -> Dialect:
        """Return the dialect with this name, or the given `Dialect`, if it has a decoder.

        Raises:
            UnknownDialectError: no dialect has that name, or the dialect is only written.
            ConfigurationError: another package's dialect cannot be loaded.
        """
        found = (self._dialects.get(dialect) if type(dialect) is str else None) or self.find(dialect)
        if not found.reads:
            raise UnknownDialectError(found.name, self.readable, role="dialect to read")
        return found

    def to_write(self, dialect: str | Dialect) -> Dialect:
        """Return the dialect with this name, or the given `Dialect`, if it has an encoder.

        Raises:
            UnknownDialectError: no dialect has that name, or the dialect is only read.
            ConfigurationError: another package's dialect cannot be loaded.
        """
        found = (self._dialects.get(dialect) if type(dialect) is str else None) or self.find(dialect)
        if not found.writes:
            raise UnknownDialectError(found.name, self.writable, role="dialect to write")
        return found

    def checked_options(self, protocol_options: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
        """Return `protocol_options` if every dialect, option and value in it is known.

        Raises:
            UnknownDialectError: an unknown dialect.
            ConfigurationError: an option or a value that the dialect does not have.
        """
        for name, options in protocol_options.items():
            self.find(name).check_options(options)
        return {name: dict(options) for name, options in protocol_options.items()}

    def __getitem__(self, name: str) -> Dialect:
        found = self._dialects.get(name)
        return found if found is not None else self._installed()[name].load()

    def __iter__(self) -> Iterator[str]:
        installed = self._installed()
        usable = (name for name in installed if name not in self._dialects and installed[name].is_usable)
        return iter(sorted((*self._dialects, *usable)))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        if name in self._dialects:
            return True
        installed = self._installed()
        return isinstance(name, str) and name in installed and installed[name].is_usable

    def __repr__(self) -> str:
        return f"Dialects({', '.join(self._dialects)})"


@cache
def _built_in() -> Dialects:
    from pkgutil import iter_modules  # noqa: PLC0415 - only for the first stream

    home = streamweir.dialects
    folders = sorted(module.name for module in iter_modules(home.__path__) if module.ispkg)
    return Dialects(importlib.import_module(f"{home.__name__}.{folder}").DIALECT for folder in folders)
