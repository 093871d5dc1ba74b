"""The browser of the tests of pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from browser import Browser, open_browser


@pytest.fixture
def browser() -> Iterator[Browser]:
    """Return a new browser; a test that leaves errors in its console fails."""
    with open_browser() as opened:
        yield opened
        assert opened.errors() == []
