"""`adyton check` of groups: their users, Pythons and folders, and the files that this user can read."""

from __future__ import annotations

import os
import pwd
import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from sites.conftest import write
from support.server import AS_ROOT, adyton, environment, run
from support.users import closed_folders, open_folder, where

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE = """
[groups.shop]
processes = 2
threads = 8
chdir = "own"
{shop}

[groups.blog]
processes = 1
threads = 1
min-processes = 0

[[sites]]
root = "pages"

[[sites.routes]]
path = "/file/"
app = "wsgi.py"
group = "shop"

[[sites.routes]]
path = "/module/"
app = "site.wsgi:application"
group = "shop"

[[sites.routes]]
path = "/pages/"
scripts = "."
group = "shop"

[[sites.routes]]
path = "/installed/"
app = "json.tool:main"
group = "shop"

[[sites.routes]]
app = "blog:application"
group = "blog"
"""

NOBODY = pwd.getpwnam("nobody")

IS_ROOT = os.geteuid() == 0
NOT_TRIED = "not tried: only root can look as nobody"

ENVIRONMENT = {"ADYTON_PROCESSES": "", "ADYTON_THREADS": ""}
"""Empty variables, so that the file of sites sets the numbers of processes and threads."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Give a folder with applications that every user may read."""
    with open_folder("check-groups") as folder:
        for name in ("own/site", "own/lib", "pages"):
            (folder / name).mkdir(parents=True)
        for name in ("own/wsgi.py", "own/site/__init__.py", "own/site/wsgi.py", "blog.py"):
            (folder / name).touch()
        for path in folder.rglob("*"):
            path.chmod(0o755 if path.is_dir() else 0o644)
        yield folder


def check(folder: Path, shop: str) -> tuple[int, str, list[str]]:
    """Check the file, with the server readable for all; return the status, the output, and the mistakes."""
    command = adyton("check", write(folder, FILE.format(shop=shop)).name)
    if IS_ROOT:
        command = where("755", closed_folders(), command)
    done = subprocess.run(
        command,
        cwd=folder,
        env=environment(ENVIRONMENT),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    lines = AS_ROOT.sub("", done.stderr).replace(f"{folder}/", "").splitlines()
    return done.returncode, done.stdout, lines


def test_told(folder: Path) -> None:
    """The user, the Python, the folder and the workers of each group are printed."""
    status, said, mistakes = check(folder, "")

    assert (0, []) == (status, mistakes)
    assert said.endswith(
        "\n\n"
        "group shop (line 2)\n"
        "  user      whoever starts the server\n"
        "  python    the server's own\n"
        f"  folder    {folder}/own\n"
        "  workers   2 processes, 8 threads each\n"
        "\n"
        "group blog (line 8)\n"
        "  user      whoever starts the server\n"
        "  python    the server's own\n"
        f"  folder    {folder}\n"
        "  workers   1 process, 1 thread each, and none while nothing is asked\n"
        "\n"
        "adyton: site.toml: fine\n"
    ), said


def test_who_is_in_which(folder: Path) -> None:
    """A route's own group counts, then its site's, then the default; other groups run no application."""
    file = write(
        folder,
        """
[groups.shop]
default = true
[groups.blog]

[[sites]]
hosts = ["a.example"]
group = "blog"
[[sites.routes]]
path = "/"
app = "blog:application"
[[sites.routes]]
path = "/shop/"
app = "blog:application"
group = "shop"
[[sites.routes]]
path = "/files/"
files = "pages"

[[sites]]
hosts = ["b.example"]
[[sites.routes]]
path = "/"
scripts = "pages"
[[sites.routes]]
path = "/blog/"
handler = "blog:handle"
group = "blog"
""",
    )
    expected = {
        "http://a.example/": "blog",
        "http://a.example/shop/": "shop",
        "http://a.example/files/x": None,
        "http://b.example/x": "shop",
        "http://b.example/blog/": "blog",
    }

    found = {}
    for url in expected:
        done = run("route", file.name, url, cwd=folder, env=ENVIRONMENT)
        groups = re.findall(r"^answer .* in (\w+) /", done.stdout, re.MULTILINE)
        found[url] = groups[0] if groups else None
    assert expected == found


def test_what_is_read(folder: Path) -> None:
    """`check` says which applications the user can read; without root, it says that none was tried."""
    status, said, mistakes = check(folder, 'user = "nobody"')

    assert (0, []) == (status, mistakes)
    assert f"  user      nobody ({NOBODY.pw_uid}), group {NOBODY.pw_gid}\n" in said
    files = "wsgi.py, site.wsgi:application, pages/." if IS_ROOT else NOT_TRIED
    assert f"  can read  {files}\n" in said


@pytest.mark.parametrize(
    ("closed", "mode", "place", "says"),
    [
        ("own", 0o700, "5:9", "chdir: the user nobody may not enter own: "),
        ("own/wsgi.py", 0o600, "18:7", "the user nobody may not read own/wsgi.py: "),
        (
            "own/site",
            0o600,
            "23:7",
            "the user nobody may not enter own/site, which is on the way to own/site/__init__.py: ",
        ),
        ("own/site", 0o711, "23:7", "the user nobody may not list own/site: "),
        ("own/site/wsgi.py", 0o600, "23:7", "the user nobody may not read own/site/wsgi.py: "),
        ("pages", 0o700, "28:11", "the user nobody may not enter pages"),
    ],
)
def test_what_is_closed(folder: Path, closed: str, mode: int, place: str, says: str) -> None:
    """A path closed to the user is reported once, with its place, the closed folder, and a remedy."""
    (folder / closed).chmod(mode)
    status, said, mistakes = check(folder, 'user = "nobody"')

    if not IS_ROOT:
        assert (0, [], True) == (status, mistakes, NOT_TRIED in said)
        return
    assert (2, "", 1) == (status, said, len(mistakes)), mistakes
    assert mistakes[0].startswith(f"adyton: site.toml:{place}: {says}")
    assert "chmod o+" in mistakes[0]


def test_links_are_followed(folder: Path) -> None:
    """A closed folder at the end of a link, or on the way there, is reported by its real name."""
    (folder / "deep").mkdir(mode=0o755)
    (folder / "own").rename(folder / "deep/kept")
    (folder / "own").symlink_to("deep/kept")
    for closed, says in [("deep/kept", "to which own leads"), ("deep", "which is on the way to own")]:
        (folder / closed).chmod(0o700)
        _, said, mistakes = check(folder, 'user = "nobody"')
        (folder / closed).chmod(0o755)
        if not IS_ROOT:
            assert ([], True) == (mistakes, NOT_TRIED in said)
            continue

        assert 1 == len(mistakes), mistakes
        assert f"5:9: chdir: the user nobody may not enter {closed}, {says}: " in mistakes[0]


def test_python_without_the_server(folder: Path) -> None:
    """A virtual environment with another Python than the server's, and without `adyton`, is reported."""
    venv = folder / "venv"
    packages = venv / "lib/python3.99/site-packages"
    packages.mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text("include-system-site-packages = false\n", encoding="utf-8")
    (venv / "bin").mkdir()
    (venv / "bin/python").touch()
    file = write(folder, FILE.format(shop='python = "venv/bin/python"'))
    checked = run("check", file.name, cwd=folder, env=ENVIRONMENT)
    says = "python: venv/bin/python is Python 3.99, for which this server was not built: install adyton there"

    assert 2 == checked.returncode
    assert f"site.toml:6:10: {says}, too" in checked.stderr.replace(f"{folder}/", "")
    (packages / "adyton-1.0.dist-info").mkdir()
    checked = run("check", file.name, cwd=folder, env=ENVIRONMENT)

    assert 0 == checked.returncode, checked.stderr
    assert f"  python    {folder}/venv/bin/python\n" in checked.stdout
