"""The browsers of the tests of pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from browser import Browser, open_browser


@pytest.fixture(scope="module")
def opened() -> Iterator[Browser]:
    """Return a browser of the module."""
    with open_browser(width=1100, height=760) as browser:
        yield browser


@pytest.fixture
def browser(opened: Browser) -> Iterator[Browser]:
    """Return the browser of the module; a test that leaves errors in its console fails."""
    opened.errors()
    yield opened
    assert opened.errors() == []
    opened.open("about:blank")
