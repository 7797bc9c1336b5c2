"""The channel between the parent and one worker: neither end waits, and nothing piles up."""

import socket
import sys
import tracemalloc
from collections.abc import Iterator

import pytest

from loopback import settled
from streamweir_gateway.config import GatewayConfig
from streamweir_gateway.processes.command_channel import (
    MAX_WAITING,
    REFUSED,
    STOP,
    CommandReceiver,
    CommandSender,
    command_channel,
)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no workers")

LARGE = "large" * (1 << 19)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


PLAIN = settled(endpoints={"/chat": {"upstream": "http://127.0.0.1:1", "speaks": "legacy"}})


def config_named(name: str) -> GatewayConfig:
    return PLAIN.model_copy(update={"fingerprint": name})


def name_of(command: object) -> str:
    return command.fingerprint if isinstance(command, GatewayConfig) else str(command)


@pytest.fixture
def ends() -> Iterator[tuple[CommandSender, CommandReceiver, socket.socket]]:
    sender, theirs = command_channel()
    with theirs:
        yield sender, CommandReceiver(theirs), theirs
    sender.close()


def test_receiver_gets_the_configuration_and_then_its_commands(
    ends: tuple[CommandSender, CommandReceiver, socket.socket],
) -> None:
    sender, receiver, _ = ends
    sender.send(config_named("first"))
    sender.send(STOP)
    assert not sender.is_waiting
    assert name_of(receiver.first()) == "first"
    assert receiver.commands() == [STOP]
    assert receiver.commands() == []
    sender.close()
    with pytest.raises(EOFError):
        receiver.commands()


def test_sender_whose_worker_takes_nothing_keeps_the_last_configuration_alone() -> None:
    clock = Clock()
    ours, theirs = socket.socketpair()
    sender, receiver = CommandSender(ours, clock), CommandReceiver(theirs)
    sender.send(config_named(LARGE))
    assert sender.is_waiting
    clock.now = 3.0
    tracemalloc.start()
    try:
        for number in range(1000):
            sender.send(config_named(f"later-{number}"))
            sender.send(REFUSED)
        assert tracemalloc.get_traced_memory()[0] < 1 << 20
    finally:
        tracemalloc.stop()
    for _ in range(3):
        sender.send(STOP)
    assert sender.stalled_seconds == 3.0
    found: list[object] = []
    for _ in range(1000):
        found += receiver.commands()
        sender.flush()
    names = [*map(name_of, found)]
    assert names[0] == LARGE
    assert [name for name in names if name.startswith("later")] == ["later-999"]
    assert STOP in names
    assert len(names) <= MAX_WAITING + 1
    assert sender.stalled_seconds == 0.0
    theirs.close()
    sender.close()


def test_sender_whose_worker_is_gone_drops_its_queue(
    ends: tuple[CommandSender, CommandReceiver, socket.socket],
) -> None:
    sender, _, theirs = ends
    sender.send(config_named(LARGE))
    theirs.close()
    sender.flush()
    assert sender.stalled_seconds == 0.0
    sender.send(STOP)
    assert sender.stalled_seconds == 0.0


def test_sender_learns_once_that_the_worker_is_ready(
    ends: tuple[CommandSender, CommandReceiver, socket.socket],
) -> None:
    sender, receiver, _ = ends
    assert not sender.is_worker_ready()
    receiver.report_ready()
    assert sender.is_worker_ready()
    assert not sender.is_worker_ready()
