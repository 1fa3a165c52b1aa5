"""Pages are loaded while requests come: no request is lost, and none gets an older version again."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from sites.conftest import write
from sites.folder import HANDLER, page, start
from sites.loading import Asked, crowd_of, fifo, loads, noting, waiting
from support.server import until

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Servers

PROCESSES = {
    "one thread": ("--processes", "0", "--threads", "1"),
    "threads": ("--processes", "0", "--threads", "4"),
    "worker": ("--processes", "1", "--threads", "4"),
    "workers": ("--processes", "2", "--threads", "2"),
}

VERSIONS = 12

CLIENTS = 6


def count_of(flags: tuple[str, ...]) -> int:
    """Return how many processes serve."""
    return max(1, int(flags[1]))


@pytest.mark.parametrize("flags", PROCESSES.values(), ids=PROCESSES)
def test_a_page_that_changes_under_load(serve: Servers, project: Path, flags: tuple[str, ...]) -> None:
    """Each answer is whole and from an existing version; no connection gets an older version again."""
    noting(project, "a.py", "0")
    server = start(serve, project, *flags)
    with crowd_of(server, "/pages/a.py", CLIENTS) as crowd:
        for version in range(VERSIONS):
            noting(project, "a.py", str(version))
            assert crowd.all_see((200, str(version).encode()))
    for seen in crowd.seen:
        assert {200} == {status for status, _ in seen}
        numbers = [int(body) for _, body in seen]

        assert sorted(numbers) == numbers
        assert set(range(1, VERSIONS)) <= set(numbers)
    counts = loads(project)
    # The first version was written twice.
    assert all(count == 1 for (_, words), count in counts.items() if words != "0"), counts
    assert count_of(flags) >= len({process for process, _ in counts})


@pytest.mark.parametrize("flags", PROCESSES.values(), ids=PROCESSES)
def test_versions_that_fail_under_load(serve: Servers, project: Path, flags: tuple[str, ...]) -> None:
    """If a version fails, the old version serves on; each process loads the failing version once."""
    noting(project, "a.py", "0")
    server = start(serve, project, *flags)
    with crowd_of(server, "/pages/a.py", CLIENTS) as crowd:
        assert crowd.all_see((200, b"0"))
        for version in range(1, 5):
            noting(project, "a.py", f"bad {version}", more="raise ValueError('on purpose')\n")
            server.wait_for_log("ValueError: on purpose", count=version)
            noting(project, "a.py", str(version))
            assert crowd.all_see((200, str(version).encode()))
    for seen in crowd.seen:
        assert {200} == {status for status, _ in seen}
        numbers = [int(body) for _, body in seen]
        assert sorted(numbers) == numbers

    assert {1} == set(loads(project).values())
    assert server.log().count("ADY235") == sum(
        count for (_, words), count in loads(project).items() if words.startswith("bad")
    )


THREADS = ("--processes", "0", "--threads", "4")


def test_a_first_version_that_fails_while_others_wait(serve: Servers, project: Path) -> None:
    """All requests that wait for a page that fails get a 500; the page is not loaded for each of them."""
    pipe = waiting(project, "a.py", "first", "raise ValueError('on purpose')\n")
    server = start(serve, project, *THREADS)
    asked = [Asked(server, "/pages/a.py")]
    with pipe.open("wb"):
        asked += [Asked(server, "/pages/a.py") for _ in range(2)]
    assert {500} == {(one.answered() or (0, b""))[0] for one in asked}
    assert 500 == server.fetch("/pages/a.py").status
    assert [1] == list(loads(project).values())

    noting(project, "a.py", "repaired")
    assert (200, b"repaired") == Asked(server, "/pages/a.py").answered()
    assert server.log().count("ADY235") == 1


def test_pages_that_take_long(serve: Servers, project: Path) -> None:
    """While two pages are being loaded, one for the first time, requests for other pages are answered."""
    page(project, "anew.py", HANDLER.format("old"))
    page(project, "other.py", HANDLER.format("other"))
    server = start(serve, project, *THREADS)
    assert (200, b"old") == Asked(server, "/pages/anew.py").answered()
    pipes = [waiting(project, "first.py", "first"), waiting(project, "anew.py", "new")]
    asked = [Asked(server, "/pages/first.py"), Asked(server, "/pages/anew.py")]
    with pipes[0].open("wb"), pipes[1].open("wb"):
        with crowd_of(server, "/pages/other.py", 2) as crowd:
            assert [(200, b"old")] * 20 == [Asked(server, "/pages/anew.py").answered() for _ in range(20)]
            noting(project, "other.py", "changed")
            assert crowd.all_see((200, b"changed"))
        assert [None, None] == [one.answer for one in asked]

    assert [(200, b"first"), (200, b"new")] == [one.answered() for one in asked]
    assert {1} == set(loads(project).values())


def test_many_pages_at_once(serve: Servers, project: Path) -> None:
    """Pages that get their first requests all at once are loaded once each."""
    names = [f"{number}.py" for number in range(8)]
    for name in names:
        noting(project, name, name)
    server = start(serve, project, *THREADS)
    asked = [(name, Asked(server, f"/pages/{name}")) for name in names * 3]
    for name, one in asked:
        assert (200, name.encode()) == one.answered()

    assert sorted(names) == sorted(words for _, words in loads(project))
    assert {1} == set(loads(project).values())


LIBRARY = """
[server]
python-path = ["lib"]

[[sites]]
root = "public"

[[sites.routes]]
path = "/pages/"
scripts = "pages"
"""

USES = """
import {module}


def handler(request):
    return f"{{__file__.rpartition('/')[2]}} {{{module}.NAME}}"
"""


def library(project: Path, name: str, text: str) -> None:
    """Put a module beside the pages."""
    (project / "lib").mkdir(exist_ok=True)
    (project / "lib" / name).write_text(text, encoding="utf-8")


def test_modules_with_the_names_of_pages(serve: Servers, project: Path) -> None:
    """A page imports the module with a name, not the page with that name; neither replaces the other."""
    library(project, "helper.py", 'NAME = "the module"\n')
    page(project, "helper.py", USES.format(module="helper"))
    page(project, "sub/helper.py", USES.format(module="helper"))
    page(project, "user.py", USES.format(module="helper"))
    server = serve(write(project, LIBRARY).name, *THREADS, cwd=project)
    for _ in range(2):
        for path, name in [("helper", "helper"), ("user", "user"), ("sub/helper", "helper")]:
            assert f"{name}.py the module".encode() == server.fetch(f"/pages/{path}.py").body
        page(project, "helper.py", USES.format(module="helper"))


OWN = """
import importlib.util
import sys


def helper(name):
    path = __file__.rpartition("/")[0] + f"/{{name}}.py"
    spec = importlib.util.spec_from_file_location("helper", path)
    module = sys.modules["helper"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


HELPER = helper("{other}")


def handler(request):
    return HELPER.NAME
"""


def test_helpers_of_other_pages(serve: Servers, project: Path) -> None:
    """Two pages load different helpers under one module name at once; each keeps the helper it has loaded."""
    pipes = {name: fifo(project, name) for name in ("a", "b")}
    for name, pipe in pipes.items():
        waits = f'with open({str(pipe)!r}, "rb") as pipe:\n    pipe.read()\nNAME = "helper of {name}"\n'
        page(project, f"_{name}.py", waits)
    page(project, "a.py", OWN.format(other="_b"))
    page(project, "b.py", OWN.format(other="_a"))
    server = start(serve, project, *THREADS)
    asked = {name: Asked(server, f"/pages/{name}.py") for name in pipes}
    with pipes["a"].open("wb"), pipes["b"].open("wb"):
        # Both pages are loading their helpers now.
        assert [None, None] == [one.answer for one in asked.values()]

    assert (200, b"helper of b") == asked["a"].answered()
    assert (200, b"helper of a") == asked["b"].answered()
    assert 404 == server.fetch("/pages/_a.py").status


CIRCLE = """
with open({pipe!r}, "rb") as pipe:
    pipe.read()
import {other}

NAME = "{name}"
"""


def test_helpers_that_import_each_other(serve: Servers, project: Path) -> None:
    """If two pages whose modules import each other are loaded at once, neither waits for ever."""
    for name, other in (("one", "two"), ("two", "one")):
        pipe = fifo(project, name)
        library(project, f"{name}.py", CIRCLE.format(pipe=str(pipe), other=other, name=name))
        page(project, f"{name}.py", USES.format(module=name))
    server = serve(write(project, LIBRARY).name, *THREADS, cwd=project)
    asked = {name: Asked(server, f"/pages/{name}.py") for name in ("one", "two")}
    with (project / "one.pipe").open("wb"), (project / "two.pipe").open("wb"):
        assert [None, None] == [one.answer for one in asked.values()]

    for name, one in asked.items():
        assert (200, f"{name}.py {name}".encode()) == one.answered()


def test_a_page_that_changes_while_it_is_loaded(serve: Servers, project: Path) -> None:
    """A page that changes while it is loaded answers with the version read, and next with the newest file."""
    pipe = waiting(project, "a.py", "first")
    server = start(serve, project, *THREADS)
    asked = Asked(server, "/pages/a.py")
    with pipe.open("wb"):
        for words in ("second", "third"):
            noting(project, "a.py", words)
    assert (200, b"first") == asked.answered()

    assert [(200, b"third")] * 3 == [Asked(server, "/pages/a.py").answered() for _ in range(3)]
    assert ["first", "third"] == [words for _, words in loads(project)]
    assert until(lambda: {1} == set(loads(project).values()))
