"""A headless Chromium with WebGL2, which needs neither a display nor a graphics card."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import pytest

FLAGS = (
    "--headless=new",
    "--no-sandbox",  # root has none
    # rendered by the processor, hence the same pixels on each machine
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--force-device-scale-factor=1",
    "--force-color-profile=srgb",
    "--hide-scrollbars",
    "--disable-dev-shm-usage",  # containers have little shared memory
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--no-first-run",
)
HANG_S = 300.0  # ends a test that would wait for ever; no test takes nearly as long


class Browser:
    """A window of Chromium; ``driver`` is selenium's, for all that has no method here."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver
        self._log: list[dict[str, Any]] = []

    def open(self, address: str) -> None:
        """Open an address and wait until the page has loaded."""
        self.driver.get(address)

    def run(self, script: str, *arguments: object) -> Any:
        """Run the body of an asynchronous function of ``arguments``; return its result."""
        return self.driver.execute_script(
            f"return (async function () {{ {script} }}).apply(null, arguments)", *arguments
        )

    def wait(self, condition: str) -> Any:
        """Wait until a JavaScript expression is true, also over a reload; return its value."""
        end = time.monotonic() + HANG_S
        while time.monotonic() < end:
            # a page that loads has no document for a moment
            found = self.run(f"try {{ return {condition} }} catch (error) {{ return false }}")
            if found:
                return found
            time.sleep(0.01)
        raise AssertionError(f"{condition} is not true after {HANG_S:.0f} s; {self.console()}")

    def console(self) -> list[str]:
        """Return all messages of the console so far, as ``LEVEL text``."""
        self._log += self.driver.get_log("browser")
        return [f"{entry['level']} {entry['message']}" for entry in self._log]

    def errors(self) -> list[str]:
        """Return errors of the console, of scripts and of requests, and forget all messages."""
        found = [message for message in self.console() if message.startswith("SEVERE")]
        self._log.clear()
        return found


def missing_browser() -> str:
    """Return the text of what is missing; empty: nothing."""
    missing = [name for name in ("chromium", "chromedriver") if not shutil.which(name)]
    missing += ["selenium"] * (importlib.util.find_spec("selenium") is None)
    if not missing:
        return ""
    return (
        f"no {', '.join(missing)}: install Debian's chromium and chromium-driver, "
        "and Python's selenium"
    )


def require_browser() -> None:
    """Skip the test if there is no browser; fail it in continuous integration."""
    reason = missing_browser()
    if reason:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)


@contextlib.contextmanager
def open_browser(*flags: str, width: int = 800, height: int = 600) -> Iterator[Browser]:
    """Run a browser with a profile of its own; end it and remove all its files."""
    require_browser()
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    # its other files lie there, too; short, as addresses of sockets have 107 characters at most
    with tempfile.TemporaryDirectory(prefix="rf-", ignore_cleanup_errors=True) as folder:
        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium")
        for flag in (*FLAGS, *flags):
            options.add_argument(flag)
        options.add_argument(f"--user-data-dir={folder}/profile")
        options.add_argument(f"--window-size={width},{height}")
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        environment = os.environ | {"TMPDIR": folder, "HOME": folder}
        environment.pop("LD_PRELOAD", None)  # a sanitizer is for this program, not for the browser
        # with both paths given, selenium searches for nothing and downloads nothing
        driver = webdriver.Chrome(
            options=options, service=Service(shutil.which("chromedriver"), env=environment)
        )
        try:
            driver.set_script_timeout(HANG_S)
            yield Browser(driver)
        finally:
            driver.quit()
