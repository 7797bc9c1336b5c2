"""The warnings that streamweir itself adds to a stream.

Source: the standard protocol 1.1, section 5.
"""

from __future__ import annotations

from typing import Any

from streamweir.errors import WARNINGS
from streamweir.events import Warning
from streamweir.metadata import Meta

__all__ = ["own_warning"]


def own_warning(
    code: str, message: str | None = None, *, detail: Any = None, meta: Meta | None = None, **parts: object
) -> Warning:
    """Return the warning with `code`; its text may be shown to users.

    Args:
        code: a key of `WARNINGS`.
        message: a sentence for this case; None: the sentence of the row.
        detail: a text that is sent to clients only with `debug`.
        meta: the ids of the event that the warning is about.
        **parts: the values for the names in braces in the sentence of the row.

    Raises:
        KeyError: `code` is not in `WARNINGS`, or a name in the sentence has no value.
    """
    text = WARNINGS[code].message.format(**parts) if message is None else message
    return Warning(message=text, message_code=code, detail=detail, for_users=True, meta=meta)
