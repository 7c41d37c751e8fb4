"""A service and a browser for the tests of the page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from service.settings import Settings
from tests.service.http_server import Serving, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page, Playwright

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def service() -> Iterator[Serving]:
    with serving(Settings(workers=2)) as running:
        yield running


def find_chromium(playwright: Playwright) -> str | None:
    """The system's Chromium, else the one that Playwright downloaded."""
    for name in NAMES:
        path = shutil.which(name)
        if path is not None:
            return path
    own = playwright.chromium.executable_path
    return own if Path(own).is_file() else None


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="the page is tested with the Python package playwright"
    )
    with sync_api.sync_playwright() as playwright:
        chromium = find_chromium(playwright)
        if chromium is None:
            pytest.skip(
                "the page is tested in Chromium; there is none here "
                "(apt install chromium, or playwright install chromium)"
            )
        running = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        yield running
        running.close()


@pytest.fixture
def context(browser: Browser, service: Serving) -> Iterator[BrowserContext]:
    """A fresh profile that may use the clipboard."""
    fresh = browser.new_context(base_url=service.url, viewport={"width": 1100, "height": 900})
    fresh.grant_permissions(["clipboard-read", "clipboard-write"], origin=service.url)
    fresh.set_default_timeout(45_000)
    yield fresh
    fresh.close()


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """The page, open; the test fails if it raised an error or broke its own policy."""
    opened = context.new_page()
    faults: list[str] = []
    opened.on("pageerror", lambda error: faults.append(str(error)))
    opened.on("console", lambda message: _note(message, faults))
    opened.goto("/")
    yield opened
    assert faults == []


def _note(message: Any, faults: list[str]) -> None:
    # Chromium itself reports every 4xx, which here is a person's mistake being answered
    if message.type == "error" and "Failed to load resource" not in message.text:
        faults.append(message.text)


@pytest.fixture(scope="session")
def web_sources() -> Path:
    return Path(__file__).resolve().parents[2] / "service" / "web"
