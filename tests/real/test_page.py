"""The status page of a server that has groups, in a browser."""

from __future__ import annotations

from typing import TYPE_CHECKING

from processes.conftest import admin_of
from sites.conftest import write
from support.client import request
from support.control import states
from support.server import until

if TYPE_CHECKING:
    from pathlib import Path

    from real.browser import Browser
    from support.server import Servers

FILE = """
[server]
processes = 2
control = "control.sock"
admin = "127.0.0.1:0"

[groups.shop]
processes = 2

[groups.blog]
processes = 1
min-processes = 0

[[sites]]
hosts = ["shop.example"]

[[sites.routes]]
app = "shop:application"
group = "shop"

[[sites]]
hosts = ["blog.example"]

[[sites.routes]]
path = "/own/"
app = "shop:application"

[[sites.routes]]
app = "shop:application"
group = "blog"
"""

APPLICATION = """
def application(environ, start_response):
    '''Answer with nothing, or fail.'''
    status = "500 No" if environ["PATH_INFO"].endswith("/bad") else "200 OK"
    start_response(status, [("Content-Length", "0")])
    return []
"""

NOTHING = "\u2013"
"""The sign on the page for an unknown number."""

ASKED = [("shop", "/p/x"), ("shop", "/p/bad"), ("shop", "/q/x"), ("blog", "/own/x")]


def test_groups_on_the_page(serve: Servers, browser: Browser, tmp_path: Path) -> None:
    """The page shows groups, their workers, and the answers of all together."""
    (tmp_path / "shop.py").write_text(APPLICATION)
    file = write(tmp_path, FILE)
    server = serve(file.name, cwd=tmp_path, env={"ADYTON_PROCESSES": "", "ADYTON_THREADS": ""})
    assert until(lambda: states(tmp_path / "control.sock") == {"shop": "serving", "blog": "asleep"})
    with server.connect() as connection:
        for site, path in ASKED:
            connection.ask(request(path, fields=[("Host", f"{site}.example")]))
    host, port = admin_of(server)
    browser.open(f"http://{host}:{port}/")

    def table(body: str) -> list[list[str]]:
        rows: list[list[str]] = browser.driver.execute_script(
            "return [...document.querySelectorAll(arguments[0] + ' tr')]"
            ".map(row => [...row.cells].map(cell => cell.textContent))",
            body,
        )
        return rows

    def column(name: str, at: int) -> dict[str, str]:
        return {row[0]: row[at] for row in table(f"{name} tbody")}

    # The page is refreshed once a second, and so is the supervisor's knowledge of its groups.
    assert until(lambda: column("#groups", 3) == {"shop": "3", "blog": NOTHING}), table("#groups tbody")
    assert {"shop": "serving", "blog": "asleep"} == column("#groups", 1)
    assert {"shop": "1", "blog": NOTHING} == column("#groups", 4)
    assert ["1", "2", "shop 1", "shop 2"] == [row[0] for row in table("#workers")]
    assert {"shop.example": "3", "blog.example": "1"} == column("#sites", 1)
    assert {"/p": "2", "/q": "1", "/own": "1"} == column("#paths", 1)
    browser.look("page-with-groups")
    assert [] == browser.problems()
