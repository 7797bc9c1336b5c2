"""The common part of commands that serve until a signal ends them."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from streamweir_gateway.cli.addresses import address_text
from streamweir_gateway.cli.command import CommandFailed

__all__ = ["cannot_listen", "until_stopped"]


async def until_stopped() -> None:
    """Wait for SIGINT or SIGTERM."""
    stopping = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError):
            asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    await stopping.wait()


@contextmanager
def cannot_listen(address: tuple[str, int], error_type: type[OSError] = OSError) -> Iterator[None]:
    """Turn the error for an address that cannot be listened on into a message for the user.

    Args:
        address: the address that the message names.
        error_type: the errors that are about this address.

    Raises:
        CommandFailed: the address cannot be listened on.
    """
    try:
        yield
    except error_type as error:
        # The errno's own text, where there is one: Python adds the address to the exception's.
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
        raise CommandFailed(f"cannot listen on {address_text(address)}: {reason}") from error
