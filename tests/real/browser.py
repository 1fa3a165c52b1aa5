"""Headless Chromium through Debian's chromedriver; it collects all errors of a page."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from support.server import claimed_port

if TYPE_CHECKING:
    from collections.abc import Iterable

    from selenium.webdriver.remote.webelement import WebElement

CHROMIUM, DRIVER = "/usr/bin/chromium", "/usr/bin/chromedriver"
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1200,1000",
]
PAGE_TIMEOUT_S = 120


class Browser:
    """One Chromium; `open` and `problems` are all that most tests need."""

    def __init__(self, profile: Path, hosts: Iterable[str] = ()) -> None:
        """Start Chromium with an empty profile; `hosts` are further names for this machine."""
        options = webdriver.ChromeOptions()
        options.binary_location = CHROMIUM
        # Chromium can resolve no host but this machine, whatever a page or Chromium itself requests.
        rules = [*(f"MAP {host} 127.0.0.1" for host in hosts), "MAP * ~NOTFOUND", "EXCLUDE 127.0.0.1"]
        resolver = f"--host-resolver-rules={', '.join(rules)}"
        for flag in (*FLAGS, resolver, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        # Debian's Chromium would otherwise open a page from the network at its start.
        prefs = {"session.restore_on_startup": 4, "session.startup_urls": ["about:blank"]}
        options.add_experimental_option("prefs", prefs)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self._claims = ExitStack()
        port = self._claims.enter_context(claimed_port())
        self.driver = webdriver.Chrome(options=options, service=Service(DRIVER, port=port))
        self.driver.set_page_load_timeout(PAGE_TIMEOUT_S)

    def close(self) -> None:
        """End Chromium."""
        self.driver.quit()
        self._claims.close()

    def open(self, address: str) -> None:
        """Open a page and wait until all of it is loaded."""
        self.driver.get(address)

    def find(self, selector: str) -> WebElement:
        """Return the one element that a CSS selector names."""
        (element,) = self.all(selector)
        return element

    def all(self, selector: str) -> list[WebElement]:
        """Return every element that a CSS selector names."""
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def fill(self, **fields: str) -> None:
        """Write into the fields of a form, by their names."""
        for name, text in fields.items():
            field = self.find(f"[name={name}]:not([type=hidden])")
            if field.get_attribute("type") != "file":
                field.clear()
            field.send_keys(text)

    def press(self, selector: str) -> None:
        """Click an element that leads to another page, and wait until that page is loaded."""
        before = self.find("html")
        self.find(selector).click()
        wait = WebDriverWait(self.driver, PAGE_TIMEOUT_S)
        wait.until(lambda driver: driver.find_element(By.TAG_NAME, "html") != before)
        wait.until(lambda driver: driver.execute_script("return document.readyState") == "complete")

    def text(self) -> str:
        """Return the visible text of the page."""
        return self.find("body").text

    def look(self, name: str) -> None:
        """Keep a picture of the page in the folder that `SCREENSHOTS` names, if it names one."""
        if folder := os.environ.get("SCREENSHOTS"):
            self.driver.save_screenshot(str(Path(folder) / f"{name}.png"))

    def problems(self) -> list[str]:
        """Return messages of the console, and failed loads, since the last call."""
        events = [json.loads(message)["message"] for message in self._log("performance")]
        return self._log("browser") + [text for event in events if (text := failed_load(event))]

    def _log(self, kind: str) -> list[str]:
        """Return the messages of one of Chromium's logs since the last call."""
        entries: list[dict[str, Any]] = self.driver.get_log(kind)  # type: ignore[no-untyped-call]
        return [entry["message"] for entry in entries]


def failed_load(event: dict[str, Any]) -> str:
    """Describe an event about a resource that could not be loaded; empty for other events."""
    parameters = event["params"]
    if event["method"] == "Network.loadingFailed":
        return f"failed: {parameters}"
    if event["method"] == "Network.responseReceived":
        response = parameters["response"]
        if response["status"] >= 400:
            return f"{response['status']} {response['url']}"
    return ""
