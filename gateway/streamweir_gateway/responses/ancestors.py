"""Lists the responses that a response continues, in a form that stays short in the store.

Each response lists the ids of the last responses before it. Earlier responses are listed in pages: separate
values that are written once and shared by all later responses. So a response that continues a thousand others
takes a few kilobytes, and all of these are read in two round trips.

    of a response:  pages [[page, bytes], ...]   recent [[id, bytes], ...]
    of a page:      [[id, bytes], ...]

`bytes` is the size of the stored value, so that the history can be cut at a number of bytes before it is
read.

Source: the conversation contract, section 5 (`previous_response_id`).
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

__all__ = ["NO_ANCESTORS", "PAGE", "Ancestors", "Page", "Sized", "listed", "sized_names"]

PAGE: Final = 64
"""The number of ids in one page."""

_MAX_PAGES: Final = 78
"""The most pages of responses that one response continues. Older responses are forgotten."""

_MAX_NAME: Final = 256


class Sized(NamedTuple):
    """The name of a value and its size in bytes."""

    name: str
    size: int


class Ancestors(NamedTuple):
    """The responses that a response continues, oldest first.

    Attributes:
        pages: the names of the pages, each with the bytes of all its responses.
        recent: the ids of the responses after the last page.
    """

    pages: tuple[Sized, ...] = ()
    recent: tuple[Sized, ...] = ()

    def followed_by(self, response_id: str, size: int) -> tuple[Ancestors, Page | None]:
        """Return the ancestors of a response that continues `response_id`, and a new page, if any."""
        recent = (*self.recent, Sized(response_id, size))
        if len(recent) < PAGE:
            return self._replace(recent=recent), None
        page = Page(secrets.token_hex(16), recent)
        total = sum(entry.size for entry in recent)
        return Ancestors((*self.pages, Sized(page.name, total))[-_MAX_PAGES:]), page

    def written(self) -> Any:
        """Return the ancestors as JSON."""
        return {"pages": listed(self.pages), "recent": listed(self.recent)}

    @classmethod
    def read(cls, value: Any) -> Ancestors:
        """Return the ancestors in a value of the store. Entries of another form are left out."""
        if not isinstance(value, dict):
            return NO_ANCESTORS
        return cls(sized_names(value.get("pages"), _MAX_PAGES), sized_names(value.get("recent"), PAGE))


class Page(NamedTuple):
    """A page of ancestors.

    Attributes:
        name: the name of the page.
        entries: the responses of the page, oldest first.
    """

    name: str
    entries: Sequence[Sized]


NO_ANCESTORS: Final = Ancestors()


def listed(entries: Sequence[Sized]) -> list[list[Any]]:
    """Return names and sizes as JSON."""
    return [[*entry] for entry in entries]


def sized_names(value: Any, most: int) -> tuple[Sized, ...]:
    """Return the last `most` names of a list from the store. Entries of another form are left out."""
    entries = value if isinstance(value, list) else []
    found: list[Sized] = []
    for entry in entries[-most:]:
        match entry:
            case [str(name), int(size)] if 0 < len(name) <= _MAX_NAME and not isinstance(size, bool):
                found.append(Sized(name, max(size, 0)))
    return tuple(found)
