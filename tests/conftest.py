"""What all tests share."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update",
        action="store_true",
        help="write the expected output of recorded streams anew; read the diff",
    )


@pytest.fixture
def update(request: pytest.FixtureRequest) -> bool:
    """Write expected files instead of comparing with them."""
    return bool(request.config.getoption("--update"))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
