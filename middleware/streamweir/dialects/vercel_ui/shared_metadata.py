"""The place of standard fields in a part: its `providerMetadata`, under the key of this library.

Source: ai 5.0.0 (npm), `providerMetadataSchema`: an object of objects by provider.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from streamweir.codec.coerce import object_in

__all__ = ["own_words", "with_own_words"]

_OWN: Final = "streamweir"


def with_own_words(chunk: dict[str, Any], words: Mapping[str, Any]) -> dict[str, Any]:
    """Return `chunk` with those of `words` that are not None."""
    given = {name: word for name, word in words.items() if word is not None}
    return {**chunk, "providerMetadata": {_OWN: given}} if given else chunk


def own_words(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the standard's fields in a part's metadata; other fields of the metadata belong to a model."""
    return object_in(object_in(message, "providerMetadata"), _OWN)
