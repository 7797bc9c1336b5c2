"""What all tests share."""

import signal

import pytest
from hypothesis import settings

settings.register_profile("untimed", deadline=None)  # no test holds a time limit
settings.load_profile("untimed")

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


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Write expected files instead of comparing with them."""
    return bool(request.config.getoption("--update"))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
