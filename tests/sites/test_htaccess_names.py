"""Files of folders with other names than `.htaccess`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sites.conftest import write
from support.server import run, until

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Server, Servers

FILE = """
[[sites]]
root = "public"
htaccess = ["allow", "errors"]
htaccess-names = [".acl", ".settings"]

[[sites.routes]]
path = "/usual/"
files = "."
htaccess-names = ".htaccess"

[[sites.routes]]
files = "."
"""

DENIED, GRANTED = "Require all denied\n", "Require all granted\n"


@pytest.fixture
def public(project: Path) -> Path:
    """Return a served folder with a folder in it."""
    public = project / "public"
    (public / "a").mkdir()
    (public / "a/x.txt").write_text("file of a", encoding="utf-8")
    return public


def status(server: Server, target: str) -> int:
    """Return the status of an answer."""
    return server.fetch(target, lint_answers=False).status


def test_the_first_counts(serve: Servers, project: Path, public: Path) -> None:
    """Of several files of settings in a folder, the first name counts, also after changes; none is served."""
    server = serve(write(project, FILE), cwd=project)
    folder = public / "a"
    for name, text, expected in [
        (".htaccess", DENIED, [200, 403]),
        (".settings", DENIED, [403, 403]),
        (".acl", GRANTED, [200, 403]),
        (".settings", "Nonsense on\n", [200, 403]),
        (".acl", None, [500, 403]),
        (".settings", None, [200, 403]),
        (".settings", "<", [500, 403]),
        (".settings", "Include /etc/passwd\n", [500, 403]),
        (".settings", "\x07", [500, 403]),
    ]:
        if text is None:
            (folder / name).unlink()
        else:
            (folder / name).write_text(text, encoding="utf-8")
        targets = ("/a/x.txt", "/usual/a/x.txt")
        assert until(lambda: expected == [status(server, target) for target in targets]), (name, text)  # noqa: B023
        hidden = [status(server, f"/a/{hidden}") for hidden in (".acl", ".settings", ".htaccess")]
        assert all(code in {403, 404, 500} for code in hidden)
    assert "/a/.settings:1: Nonsense on: this is not known here" in server.log()


def test_a_page_beneath_such_a_file(serve: Servers, project: Path, public: Path) -> None:
    """An error page in a folder that has a file of settings itself is not used."""
    (public / "a/no.html").write_text("not here", encoding="utf-8")
    (public / ".acl").write_text("ErrorDocument 404 /a/no.html\n", encoding="utf-8")
    server = serve(write(project, FILE), cwd=project)
    assert b"not here" == server.fetch("/none", lint_answers=False).body
    (public / "a/.settings").write_text(DENIED, encoding="utf-8")
    assert until(lambda: status(server, "/none") == 500)


@pytest.mark.parametrize(
    "name", ["settings", "x.htaccess", ".a/b", "", ".", "..", ".well-known", ".adyton.toml"]
)
def test_wrong_names(project: Path, name: str) -> None:
    """A name that would be served, or that is no valid name, is a mistake."""
    file = write(project, FILE.replace('".settings"]', f'"{name}"]'))
    result = run("check", str(file), cwd=project)

    assert result.returncode == 2
    assert "htaccess-names" in result.stderr


def test_adyton_route_tells(project: Path, public: Path) -> None:
    """`adyton route` names the file of settings that counts."""
    for name in (".settings", ".acl", ".htaccess"):
        (public / "a" / name).write_text(GRANTED, encoding="utf-8")
    result = run("route", str(write(project, FILE)), "GET", "http://localhost/a/x.txt", cwd=project)

    assert "a/.acl says" in result.stdout
    assert ".settings" not in result.stdout
