"""Lets workers that share a processor work in turns, in place of interrupting each other."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

__all__ = ["work_in_turns"]


def work_in_turns(workers: int) -> None:
    """Let the calling thread interrupt no other one, if there are more workers than processors.

    By default the system interrupts a worker as soon as another one gets something to read, so that each of
    them finds its caches cold and wakes up for few events. With SCHED_BATCH a worker begins when the
    processor is free or the turn of the other one is over, after some milliseconds. It then takes all events
    that have arrived.

    Systems that do not have it or do not allow it go on as before.

    Source: Linux, sched(7).
    """
    if sys.platform == "linux" and workers > len(os.sched_getaffinity(0)):
        with suppress(OSError):
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
