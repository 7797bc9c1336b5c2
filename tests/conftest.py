"""What all tests share."""

import gc
import signal
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
    "gateway/processes",
    "gateway/runs/test_any_bytes.py",
    "gateway/runs/test_fault_combinations.py",
    "gateway/runs/test_faults.py",
    "gateway/test_other_servers.py",
    "gateway/upstream/test_kept_connections.py",
    "library/asgi/test_middleware_over_http.py",
    "library/asgi/test_no_cycles.py",
    "library/codec/expressions",
    "library/emit/test_streaming_engine_properties.py",
    "library/testing/test_testing_kit.py",
    "library/translation/test_no_cycles.py",
    "mutate",
    "soak",
    "test_adding_a_dialect.py",
    "test_documentation.py",
    "test_patterns.py",
)
"""What starts processes or waits for clocks. A single test of that kind is marked where it stands."""

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
        default=8,
        metavar="N",
        help="so many hostile messages of each dialect are measured (all: 100000)",
    )
    parser.addoption(
        "--event-bytes",
        type=int,
        default=1 << 20,
        metavar="BYTES",
        help="the largest hostile message (what is allowed: 8388608)",
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = tuple(TESTS / place for place in SLOW)
    slow = {
        path for path in {item.path for item in items} if any(path.is_relative_to(place) for place in places)
    }
    for item in items:
        if item.path in slow:
            item.add_marker("slow")


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
