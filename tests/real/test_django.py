"""A Django site in a browser: what an editor does in the admin, and what a reader then sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from real.conftest import PASSWORD, ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from real.browser import Browser
    from support.server import Server

PICTURE = ROOT / "examples/site/static/gallery/vapour.png"


@pytest.fixture
def editor(browser: Browser, django_site: Server) -> str:
    """Log in to the admin; return the address of the site."""
    address = f"http://127.0.0.1:{django_site.port}"
    browser.driver.delete_all_cookies()
    browser.open(f"{address}/admin/")
    browser.look("django-login")
    browser.fill(username="pythia", password=PASSWORD)
    browser.press("input[type=submit]")

    assert "WELCOME, PYTHIA" in browser.text()

    return address


def test_pages_load_whole(browser: Browser, django_site: Server) -> None:
    """The list and a book come with their styles, and the console stays empty."""
    browser.open(f"http://127.0.0.1:{django_site.port}/")

    assert "rgba(160, 63, 34, 1)" == browser.find("h1").value_of_css_property("color")
    assert 4 == len(browser.all("li"))

    browser.press("li:last-child a")

    assert "Δελφοί & <ύμνοι>" == browser.find("h1").text
    assert [] == browser.problems()


def test_wrong_password(browser: Browser, django_site: Server) -> None:
    """A wrong password leads back to the form, and to no session."""
    address = f"http://127.0.0.1:{django_site.port}"
    browser.driver.delete_all_cookies()
    browser.open(f"{address}/private/")

    assert browser.driver.current_url.startswith(f"{address}/accounts/login/?next=")

    browser.fill(username="pythia", password="guess")  # noqa: S106 - a wrong password
    browser.press("button")

    assert "Please enter a correct username and password" in browser.text()

    browser.fill(username="pythia", password=PASSWORD)
    browser.press("button")

    assert f"{address}/private/" == browser.driver.current_url
    assert "Logged in as pythia." == browser.find("#who").text
    assert [] == browser.problems()


def test_add_edit_delete(browser: Browser, editor: str) -> None:
    """A book is added, found, changed and deleted, and readers see each step."""
    browser.open(f"{editor}/admin/books/book/add/")
    browser.fill(title="Periegesis & more", author="Pausanias", published="1918-05-01")
    browser.look("django-add")
    browser.press("input[name=_save]")

    assert "was added successfully" in browser.text()

    browser.look("django-list")
    browser.open(f"{editor}/")

    assert "Periegesis & more" in browser.text()

    browser.open(f"{editor}/admin/books/book/?q=Periegesis")
    browser.press(".field-title a")
    browser.fill(title="Periegesis")
    browser.press("input[name=_save]")

    assert "was changed successfully" in browser.text()

    browser.open(f"{editor}/")

    assert "Periegesis," in browser.text()
    assert "Periegesis & more" not in browser.text()

    browser.open(f"{editor}/admin/books/book/?q=Periegesis")
    browser.press(".field-title a")
    browser.press("a.deletelink")
    browser.look("django-delete")
    browser.press("input[type=submit][value^=Yes]")

    assert "was deleted successfully" in browser.text()

    browser.open(f"{editor}/")

    assert "Periegesis" not in browser.text()
    assert [] == browser.problems()


def test_upload(browser: Browser, editor: str, tmp_path: Path) -> None:
    """A picture uploaded in the admin is on the book's page, byte for byte, and so is a large file."""
    browser.open(f"{editor}/admin/books/book/1/change/")
    browser.fill(cover=str(PICTURE))
    browser.press("input[name=_continue]")

    assert "was changed successfully" in browser.text()

    browser.look("django-upload")
    browser.open(f"{editor}/books/1/")
    browser.look("django-cover")
    cover = browser.find("#cover")

    assert 480 == cover.get_property("naturalWidth")

    sent = fetch_in_page(browser, str(cover.get_attribute("src")))

    assert PICTURE.stat().st_size == sent

    # Far larger than bodies that are kept in memory, so that the upload goes through a temporary file.
    large = tmp_path / "large.bin"
    large.write_bytes(bytes(range(256)) * 4096 * 8)
    browser.open(f"{editor}/admin/books/book/2/change/")
    browser.fill(cover=str(large))
    browser.press("input[name=_continue]")
    link = browser.find(".file-upload a").get_attribute("href")

    assert large.stat().st_size == fetch_in_page(browser, str(link))
    assert [] == browser.problems()


def fetch_in_page(browser: Browser, address: str) -> int:
    """Fetch an address from within the page; return the length of the body."""
    size: int = browser.driver.execute_async_script(
        """
        const [address, done] = arguments;
        fetch(address).then(response => response.blob()).then(blob => done(blob.size));
        """,
        address,
    )
    return size
