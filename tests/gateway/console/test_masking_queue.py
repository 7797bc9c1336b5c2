"""Masking beside the streams: all of it while there is little to do, little of it in a busy process."""

import asyncio
import time

import pytest

from patience import PATIENCE
from streamweir.capture.masking import SecretMask
from streamweir_gateway.console.log_mask import LogMask
from streamweir_gateway.console.masking_queue import MaskingQueue
from streamweir_gateway.console.stream_log import RAW

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("anyio_backend", ["asyncio"])]

LOGS = 2000


def queue_of_logs() -> tuple[MaskingQueue, list[LogMask]]:
    """A queue that needs several slices for its logs."""
    queue, mask = MaskingQueue(), SecretMask(["secret-of-the-file"])
    logs = [LogMask(mask, queue.add) for _ in range(LOGS)]
    for number, log in enumerate(logs):
        text = b'data: {"content": "%d secret-of-the-file"}\n\n' % number
        log.raw.append(["read", 0.0, text * 20, 1, 0, 0, RAW])
        log.is_over = True
        queue.add(log)
    return queue, logs


async def test_queue_in_an_idle_process_masks_all_logs() -> None:
    queue, logs = queue_of_logs()
    entries = [log.raw[0] for log in logs[:40]]
    async with asyncio.timeout(PATIENCE):
        while any(entry[-1] is RAW for entry in entries):  # noqa: ASYNC110 - masking has no event
            await asyncio.sleep(0.05)
    assert all(b"secret-of-the-file" not in entry[2] for entry in entries)
    for log in logs:
        queue.discard(log)


async def test_queue_in_a_busy_process_masks_few_logs() -> None:
    queue, logs = queue_of_logs()
    until = time.process_time() + 1.0
    while time.process_time() < until:
        for _ in range(2000):
            pass
        await asyncio.sleep(0)
    assert 0 < sum(not log.raw for log in logs) < LOGS / 20
    for log in logs:
        queue.discard(log)
