"""The example site in a browser: every page loads whole, and the console stays empty."""

from __future__ import annotations

import importlib.util
import struct
import zlib
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

import pytest
from selenium.webdriver.common.keys import Keys

from real.conftest import ROOT
from support.server import until

if TYPE_CHECKING:
    from types import ModuleType

    from real.browser import Browser
    from support.server import Server

SITE = ROOT / "examples" / "site"


def test_every_page_loads_whole(browser: Browser, example_site: Server) -> None:
    """All pages that are linked load, with their styles, scripts and pictures."""
    start = f"http://127.0.0.1:{example_site.port}/"
    found, seen = [start], set[str]()
    while found:
        address = found.pop()
        seen.add(address)
        browser.open(address)
        links = browser.driver.execute_script(
            "return [...document.querySelectorAll('a[href]')].map(link => link.href)"
        )
        pages = {link.partition("#")[0] for link in links}

        assert [] == browser.problems(), address
        assert all(page.startswith(start) for page in pages), f"{address} leads elsewhere"

        found += sorted(pages - seen - set(found))

    assert {"/", "/handler", "/guestbook", "/gallery", "/static/site.css"} <= {
        urlsplit(page).path for page in seen
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["/", "/handler", "/guestbook", "/gallery", "/missing"])
def test_look(browser: Browser, example_site: Server, path: str, scheme: str) -> None:
    """Each page has one heading, a language, a title, and pictures with a description."""
    feature = {"name": "prefers-color-scheme", "value": scheme}
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
    browser.open(f"http://127.0.0.1:{example_site.port}{path}")
    browser.look(f"site-{path.strip('/') or 'front'}-{scheme}")

    assert 1 == len(browser.all("h1"))
    assert "en" == browser.find("html").get_attribute("lang")
    assert browser.driver.title
    assert all(image.get_attribute("alt") for image in browser.all("main > * img[src]"))
    width = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert 0 == browser.driver.execute_script(f"return {width}")

    browser.problems()


def test_handler(browser: Browser, example_site: Server) -> None:
    """The form calls the handler, which greets and escapes."""
    browser.open(f"http://127.0.0.1:{example_site.port}/handler")
    browser.fill(name="<i>Ada</i>")
    browser.press("main button")

    assert "Hello <i>Ada</i>!" == browser.find("h1").text
    assert [] == browser.problems()


def test_guestbook(browser: Browser, example_site: Server) -> None:
    """An entry written into the guestbook is in it, as text and not as markup."""
    browser.open(f"http://127.0.0.1:{example_site.port}/guestbook")
    browser.fill(name="Πυθία", message="<script>console.error('run')</script>\nsecond line & more")
    browser.press("main button")
    browser.look("site-guestbook-signed")

    assert "<script>console.error('run')</script>" in browser.find(".entries .message").text
    assert "Πυθία" in browser.find(".entries .by").text
    assert [] == browser.problems()


@pytest.mark.parametrize(
    ("fields", "form", "status"),
    [
        ([("Sec-Fetch-Site", "cross-site")], {"name": "a", "message": "b"}, 403),
        ([], {"name": " ", "message": "b"}, 422),
        ([], {"name": "a", "message": "b" * 20_000}, 413),
    ],
)
def test_guestbook_refuses(
    example_site: Server, fields: list[tuple[str, str]], form: dict[str, str], status: int
) -> None:
    """Forms from elsewhere, empty ones and enormous ones are refused."""
    body = urlencode(form).encode()
    answer = example_site.fetch("/guestbook", method="POST", fields=fields, body=body)

    assert status == answer.status


def test_methods(example_site: Server) -> None:
    """A POST to a page that does not allow it gets a 405; HEAD answers like GET, without the body."""
    assert "GET, HEAD" == example_site.fetch("/gallery", method="POST")["allow"]

    whole, head = example_site.fetch("/gallery"), example_site.fetch("/gallery", method="HEAD")

    assert (200, b"") == (head.status, head.body)
    assert whole["content-length"] == head["content-length"]


def test_lightbox(browser: Browser, example_site: Server) -> None:
    """A click opens a picture, arrow keys lead to its neighbours, and Escape closes it."""
    browser.open(f"http://127.0.0.1:{example_site.port}/gallery")
    browser.all("[data-picture]")[0].click()
    browser.look("site-lightbox")

    assert until(lambda: browser.find("#light-caption").text == "The temple")

    for key, title in (
        (Keys.ARROW_RIGHT, "Parnassus"),
        (Keys.ARROW_LEFT, "The temple"),
        (Keys.ARROW_LEFT, "Vapour"),
    ):
        browser.driver.switch_to.active_element.send_keys(key)

        assert until(lambda: browser.find("#light-caption").text == title), title  # noqa: B023 - called at once

    browser.driver.switch_to.active_element.send_keys(Keys.ESCAPE)

    assert until(lambda: not browser.find("#light").is_displayed())
    assert [] == browser.problems()


def test_pictures_are_what_the_script_draws() -> None:
    """The script draws exactly the pictures that are in the repository."""
    drawn = load(SITE / "make_images.py").draw()
    kept = {path.name: path.read_bytes() for path in (SITE / "static" / "gallery").iterdir()}

    assert drawn.keys() == kept.keys()
    assert {name: pixels(data) for name, data in drawn.items()} == {
        name: pixels(data) for name, data in kept.items()
    }
    assert sum(map(len, kept.values())) < 200_000


def pixels(data: bytes) -> bytes:
    """Return the pixels of a PNG, because versions of zlib compress a PNG differently."""
    if not data.startswith(b"\x89PNG"):
        return data
    at, image = 8, b""
    while at < len(data):
        (size,) = struct.unpack_from(">I", data, at)
        if data[at + 4 : at + 8] == b"IDAT":
            image += data[at + 8 : at + 8 + size]
        at += size + 12
    return zlib.decompress(image)


def load(path: object) -> ModuleType:
    """Import a file by its path."""
    spec = importlib.util.spec_from_file_location("make_images", str(path))
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
