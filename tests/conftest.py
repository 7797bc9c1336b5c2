"""What all tests share."""

import gc
import logging
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("untimed", deadline=None)  # no test holds a time limit
settings.register_profile("fast", deadline=None, max_examples=20)
settings.load_profile("untimed")

TESTS = Path(__file__).parent
SLOW = (
    "examples",
    "gateway/cli",
    "gateway/config/test_config_size.py",
    "gateway/connection/test_client_behaviour.py",
    "gateway/connection/test_client_faults.py",
    "gateway/console",
    "gateway/demo",
    "gateway/processes",
    "gateway/recording/test_recording.py",
    "gateway/relay/test_relay_all.py",
    "gateway/runs/test_any_bytes.py",
    "gateway/runs/test_commit_point.py",
    "gateway/runs/test_fault_combinations.py",
    "gateway/runs/test_faults.py",
    "gateway/runs/test_upstream_faults.py",
    "gateway/test_other_servers.py",
    "gateway/upstream/test_kept_connections.py",
    "gateway/upstream/test_transports.py",
    "library/asgi/test_middleware_over_http.py",
    "library/asgi/test_no_cycles.py",
    "library/client/test_body_readers.py",
    "library/codec/mapped/test_cost.py",
    "library/codec/test_templates.py",
    "library/dialects/test_failures_of_steps.py",
    "library/emit/test_streaming_engine_properties.py",
    "library/expressions",
    "library/learning/test_recorded_bodies.py",
    "library/requests/test_hostile_bodies.py",
    "library/runs/test_redis_store.py",
    "library/runs/test_store_properties.py",
    "library/testing/test_testing_kit.py",
    "library/translation/test_no_cycles.py",
    "library/translation/test_translator_properties.py",
    "library/translation/test_verbatim.py",
    "mutate",
    "test_documentation.py",
    "test_patterns.py",
)
"""What starts processes, waits for clocks or goes through all that is recorded, cut anywhere.

A single test of that kind is marked where it stands.
"""
SLOW_PLACES = tuple(TESTS / place for place in SLOW)
FIRST = {TESTS / "gateway/test_drop_in.py", TESTS / "gateway/runs/test_failures_as_they_came.py"}
"""Single tests of these take so long that everybody would wait for one that began last."""

# A shell that runs the tests in the background has them ignore Ctrl-C, and so would the commands they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update",
        action="store_true",
        help="write the expected output of recorded streams anew; read the diff",
    )
    parser.addoption(
        "--pairs",
        type=int,
        default=40,
        metavar="N",
        help="so many recorded streams go into each dialect and back (all: 100000)",
    )
    parser.addoption(
        "--hostile",
        type=int,
        default=5,
        metavar="N",
        help="so many hostile messages of each dialect are measured (all: 100000)",
    )
    parser.addoption(
        "--event-bytes",
        type=int,
        default=1 << 19,
        metavar="BYTES",
        help="the largest hostile message (what is allowed: 8388608)",
    )


@pytest.hookimpl(optionalhook=True)  # `make compat` runs without the plugin
def pytest_xdist_auto_num_workers() -> int:
    """A third of the time a test waits for clocks, sockets and processes: a few workers share a processor."""
    asked = os.environ.get("PYTEST_XDIST_AUTO_NUM_WORKERS")
    return int(asked) if asked else 3 * (os.cpu_count() or 2)


@pytest.fixture(autouse=True)
def usual_logging() -> None:
    """Each test begins with the levels that a program begins with, whatever the one before has configured."""
    logging.disable(logging.NOTSET)
    for name in ("streamweir", "streamweir.server", "streamweir.gateway", "uvicorn", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.disabled, logger.propagate = False, True
        logger.setLevel(logging.NOTSET)


def is_slow(path: Path) -> bool:
    return any(path.is_relative_to(place) for place in SLOW_PLACES)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where no slow test is wanted, their files are not imported."""
    return ("not slow" in config.getoption("markexpr") and is_slow(collection_path)) or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    slow = {path for path in {item.path for item in items} if is_slow(path)}
    for item in items:
        if item.path in slow:
            item.add_marker("slow")
    items.sort(key=lambda item: item.path not in FIRST)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """All that is collected stays: no collection of garbage has to look through it while it grows."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """What stands by now stays to the end: no collection of garbage has to look through it again."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Write expected files instead of comparing with them."""
    return bool(request.config.getoption("--update"))


@pytest.fixture
def pairs(request: pytest.FixtureRequest) -> int:
    """How many recorded streams go into each dialect and back."""
    return int(request.config.getoption("--pairs"))


@pytest.fixture
def hostile(request: pytest.FixtureRequest) -> int:
    """How many hostile messages of each dialect are measured."""
    return int(request.config.getoption("--hostile"))


@pytest.fixture
def event_bytes(request: pytest.FixtureRequest) -> int:
    """The size of the largest hostile message."""
    return int(request.config.getoption("--event-bytes"))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
