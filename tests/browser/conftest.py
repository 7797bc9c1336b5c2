"""The console's page, built once, and the browser that shows it."""

from collections.abc import Iterator

import pytest

from console_browser import ConsoleBrowser, build_page, console_browser


@pytest.fixture(scope="session")
def console_page() -> None:
    build_page()


@pytest.fixture(scope="module")
def browser_of_console(console_page: None) -> Iterator[ConsoleBrowser]:
    with console_browser() as browser:
        yield browser
