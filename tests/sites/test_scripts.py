"""Folders of Python pages: which page answers, which variables it gets, and which version of it runs."""

from __future__ import annotations

import itertools
import os
import re
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from sites.conftest import write
from sites.folder import FILE, HANDLER, SAY_ALL, WSGI, page, start
from support.server import run, until

if TYPE_CHECKING:
    from support.http import Response
    from support.server import Server, Servers

ONE_THREAD = ("--threads", "1")
THREADS = ("--threads", "4")

CANNOT = "cannot be loaded"


def variables(response: Response) -> dict[str, str]:
    """Return the variables in the answer of `SAY_ALL`."""
    assert 200 == response.status
    lines = response.body.decode("latin-1").splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


def test_kinds(serve: Servers, project: Path) -> None:
    """A page is a handler or a WSGI application, by what it defines, in a file that ends in .py or .wsgi."""
    page(project, "a.py", HANDLER.format("handler"))
    page(project, "b.wsgi", WSGI.format("wsgi"))
    page(
        project,
        "sub/c.py",
        "def app(environ, start_response):\n    start_response('200 OK', [])\n    return []\n",
    )
    page(
        project,
        "d.py",
        "from adyton import Response\n\n\nclass Page:\n    def __call__(self, request):\n"
        "        return Response(b'object', 202)\n\n\napp = Page()\n",
    )
    server = start(serve, project)

    assert b"handler" == server.fetch("/pages/a.py").body
    assert b"wsgi" == server.fetch("/pages/b.wsgi").body
    assert (200, b"") == ((empty := server.fetch("/pages/sub/c.py")).status, empty.body)
    assert (202, b"object") == ((made := server.fetch("/pages/d.py")).status, made.body)
    assert server.fetch("/").body.startswith(b"shop 1")


def test_interface(serve: Servers, project: Path) -> None:
    """`interface` of the route says how its pages are called."""
    page(project, "a.py", "def application(request):\n    return 'called with one'\n")
    text = 'interface = "handler"\n[[sites]]\n[[sites.routes]]\npath = "/pages/"\nscripts = "public/pages"\n'
    server = serve(write(project, "[server]\n" + text).name, cwd=project)

    assert b"called with one" == server.fetch("/pages/a.py").body


PLACES = [
    ("/pages/all.py", "/pages/all.py", "", "all.py"),
    ("/pages/all.py/", "/pages/all.py", "/", "all.py"),
    ("/pages/all.py/a%20b/c", "/pages/all.py", "/a b/c", "all.py"),
    ("/pages/all.py/x.py", "/pages/all.py", "/x.py", "all.py"),
    ("/pages/sub/all.py/x", "/pages/sub/all.py", "/x", "sub/all.py"),
    ("/pages/", "/pages", "/", "index.py"),
    ("/pages/sub/", "/pages/sub", "/", "sub/index.py"),
    ("/pages/odd.py/all.py/x", "/pages/odd.py/all.py", "/x", "odd.py/all.py"),
    ("/pages/odd.py/", "/pages/odd.py", "/", "odd.py/index.py"),
    ("/%70ages/%61ll.py/x", "/pages/all.py", "/x", "all.py"),
    ("//pages//all.py/x", "/pages/all.py", "/x", "all.py"),
    ("/pages/all.py%2Fx", "/pages/all.py", "/x", "all.py"),
    ("/pages/all.py/%252e%252e/x", "/pages/all.py", "/%2e%2e/x", "all.py"),
    ("/pages/caf%C3%A9.py/%C3%A9", "/pages/caf\xc3\xa9.py", "/\xc3\xa9", "café.py"),
]


@pytest.fixture
def folder(project: Path) -> Path:
    """Return a project with pages at several places."""
    names = ["all.py", "index.py", "café.py"]
    names += ["sub/all.py", "sub/index.py", "odd.py/all.py", "odd.py/index.py"]
    for name in names:
        page(project, name, SAY_ALL)
    return project


@pytest.mark.parametrize("flags", [ONE_THREAD, THREADS], ids=["one", "threads"])
def test_where_a_page_stands(serve: Servers, folder: Path, flags: tuple[str, ...]) -> None:
    """`SCRIPT_NAME` is the page's path and `PATH_INFO` the rest, at the first request and later."""
    server = start(serve, folder, *flags)
    for target, name, rest, file in PLACES * 2:
        found = variables(server.fetch(f"{target}?q=%31"))
        filename = os.fsencode(folder / "public/pages" / file).decode()
        filename = filename.encode("latin-1", "ignore").decode("latin-1")

        assert (name, rest, "q=%31") == (found["SCRIPT_NAME"], found["PATH_INFO"], found["QUERY_STRING"])
        assert (filename, f"{target}?q=%31") == (found["SCRIPT_FILENAME"], found["REQUEST_URI"])


def test_at_the_root_of_a_site(serve: Servers, folder: Path) -> None:
    """A folder of pages may be a whole site; dot segments are refused there, too."""
    file = write(folder, '[[sites]]\n[[sites.routes]]\nscripts = "public/pages"\n')
    server = serve(file.name, cwd=folder)
    for target, name, rest in [("/", "", "/"), ("/all.py/x", "/all.py", "/x"), ("/sub/", "/sub", "/")]:
        found = variables(server.fetch(target))
        assert (name, rest) == (found["SCRIPT_NAME"], found["PATH_INFO"])
    assert 400 == server.fetch("/sub/../all.py").status
    assert 400 == server.fetch("/all.py/%2e%2e/x").status


def test_by_the_end_of_the_name(serve: Servers, folder: Path) -> None:
    """A route for an ending looks up the whole path in its folder, so that pages can be among other files."""
    (folder / "public/pages/note.txt").write_text("note", encoding="utf-8")
    routes = '[[sites.routes]]\nfiles = "."\n[[sites.routes]]\npath = "*.py"\nscripts = "."\n'
    server = serve(write(folder, f'[[sites]]\nroot = "public/pages"\n{routes}').name, cwd=folder)

    assert "/sub/all.py" == variables(server.fetch("/sub/all.py"))["SCRIPT_NAME"]
    assert b"note" == server.fetch("/note.txt").body
    assert 404 == server.fetch("/none.py").status


def test_files_first(serve: Servers, folder: Path) -> None:
    """With `try`, a folder's files are looked for before its pages, and no source of a page is sent."""
    (folder / "public/pages/note.txt").write_text("note", encoding="utf-8")
    server = start(serve, folder, route='files = "pages"\ntry = ["files", "scripts"]')

    assert b"note" == server.fetch("/pages/note.txt").body
    assert "/x" == variables(server.fetch("/pages/all.py/x"))["PATH_INFO"]
    assert "/" == variables(server.fetch("/pages/"))["PATH_INFO"]
    assert 404 == server.fetch("/pages/none.txt").status


def test_files_first_beside_another_rule(serve: Servers, folder: Path) -> None:
    """A rule for one page changes nothing for other pages: their `SCRIPT_NAME` stays the same."""
    page(folder, "own.py", SAY_ALL)
    rule = '[[sites.routes]]\npath = ["/pages/own.py", "/other/index.py"]\nrespond = 410'
    server = start(serve, folder, route=f'files = "pages"\ntry = ["files", "scripts"]\n\n{rule}')
    for target, name, rest in [
        ("/pages/all.py/x", "/pages/all.py", "/x"),
        ("/pages/sub/all.py/x", "/pages/sub/all.py", "/x"),
        ("/pages/", "/pages", "/"),
        ("/pages/sub/", "/pages/sub", "/"),
    ]:
        found = variables(server.fetch(target))

        assert (name, rest) == (found["SCRIPT_NAME"], found["PATH_INFO"]), target
    assert [410, 410] == [server.fetch(f"/pages/own.py{rest}").status for rest in ("", "/x")]


def test_a_folder_without_its_slash(serve: Servers, folder: Path) -> None:
    """A request for a folder without a slash is redirected to the path with a slash, on the same host."""
    page(folder, "a b/index.py", SAY_ALL)
    server = start(serve, folder)
    for target, location in [
        ("/pages", "/pages/"),
        ("/pages/sub?q=%0d", "/pages/sub/?q=%0d"),
        ("//pages//sub", "/pages/sub/"),
        ("/pages/a%20b", "/pages/a%20b/"),
    ]:
        response = server.fetch(target, method="POST", body=b"x")
        assert (308, location) == (response.status, response["Location"])
    assert 404 == server.fetch("/pages/none").status


def test_another_index(serve: Servers, folder: Path) -> None:
    """`scripts-index` names the page of a folder."""
    page(folder, "main.wsgi", SAY_ALL)
    server = start(serve, folder, route='scripts-index = "main.wsgi"')

    assert variables(server.fetch("/pages/"))["SCRIPT_FILENAME"].endswith("/pages/main.wsgi")
    assert 404 == server.fetch("/pages/sub/").status


def test_bodies_and_streams(serve: Servers, project: Path) -> None:
    """A page is an application like any other: it reads bodies, streams answers, and may fail alone."""
    page(project, "all.py", SAY_ALL)
    page(project, "stream.py", "def handler(request):\n    return (bytes([65 + n]) for n in range(3))\n")
    page(project, "fail.py", "def handler(request):\n    raise ValueError('on purpose')\n")
    server = start(serve, project, *THREADS)

    assert server.fetch("/pages/all.py", method="POST", body=b"y" * 100_000).body.endswith(b"y" * 100_000)
    assert b"ABC" == server.fetch("/pages/stream.py").body
    assert 500 == server.fetch("/pages/fail.py").status
    server.wait_for_log("ValueError: on purpose")
    assert CANNOT not in server.log()


MODULE = """
import sys
from dataclasses import dataclass


@dataclass
class Point:
    x: "int"


def handler(request):
    '''Say what the module knows of itself.'''
    own = sys.modules[__name__].__dict__ is globals()
    parts = [__file__, own, Point.__module__ == __name__, __spec__.name == __name__, __mtime__ > 0]
    return " ".join(map(str, parts)) + " " + str("public/pages" in " ".join(sys.path))
"""


def test_module(serve: Servers, project: Path) -> None:
    """A page's module is in sys.modules under a unique name, and hides no other module."""
    file = page(project, "json.py", MODULE)
    page(project, "user.py", "import json\n\n\ndef handler(request):\n    return json.dumps([1])\n")
    server = start(serve, project)

    assert f"{file} True True True True False".encode() == server.fetch("/pages/json.py").body
    assert b"[1]" == server.fetch("/pages/user.py").body
    assert not list((project / "public/pages").glob("__pycache__"))


@pytest.mark.parametrize("flags", [ONE_THREAD, THREADS], ids=["one", "threads"])
@pytest.mark.parametrize("age_s", [30, 60, 3600, 0], ids=["newer", "same", "older", "now"])
def test_a_page_that_changes(serve: Servers, project: Path, age_s: float, flags: tuple[str, ...]) -> None:
    """A changed file is loaded again, whether its time is newer or older than before."""
    page(project, "a.py", "calls = []\n" + HANDLER.format("first"))
    server = start(serve, project, *flags)
    assert [b"first"] * 3 == [server.fetch("/pages/a.py").body for _ in range(3)]
    page(project, "a.py", HANDLER.format("other"), age_s=age_s)

    assert [b"other"] * 3 == [server.fetch("/pages/a.py").body for _ in range(3)]


TICK_S = 2.0
"""Time after which a change gives a file a new time, on every file system."""


def test_changed_in_one_tick(serve: Servers, project: Path) -> None:
    """A file that is rewritten immediately, with the same size and time, counts as a new version."""
    server = start(serve, project)
    numbers = itertools.count(1000)

    def changes_in_time() -> bool:
        """Change a version that was just loaded; tell whether the change was within the tick."""
        file = page(project, "a.py", HANDLER.format(next(numbers)), age_s=0)
        server.fetch("/pages/a.py")
        stat, text = file.stat(), str(next(numbers))
        is_in_time = time.time() - stat.st_mtime < TICK_S
        file.write_text(HANDLER.format(text), encoding="utf-8")
        os.utime(file, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        body = server.fetch("/pages/a.py").body
        assert not is_in_time or text.encode() == body
        return is_in_time

    # A busy machine may take longer than a tick for a change.
    assert all(until(changes_in_time) for _ in range(15))


COUNTS = """
count = 0


def handler(request):
    global count
    count += 1
    return str(count)
"""


def test_loaded_once(serve: Servers, project: Path) -> None:
    """A page keeps its state while its file's content is the same, even if its rights or links change."""
    file = page(project, "count.py", COUNTS)
    server = start(serve, project)
    assert [b"1", b"2"] == [server.fetch("/pages/count.py").body for _ in range(2)]
    file.chmod(0o600)
    os.link(file, file.with_name("again.py"))

    assert [b"3", b"4"] == [server.fetch("/pages/count.py").body for _ in range(2)]


WAITS = """
import os

with open({pipe!r}, "rb") as pipe:
    pipe.read()


def handler(request):
    return "{words}"
"""


def waiting(project: Path, name: str, words: str) -> Path:
    """Make a page that waits at its import until the test has opened and closed a pipe; return the pipe."""
    pipe = project / f"{words}.pipe"
    os.mkfifo(pipe)
    page(project, name, WAITS.format(pipe=str(pipe), words=words), age_s=30)
    return pipe


def asked(server: Server, target: str, answers: list[bytes]) -> threading.Thread:
    """Ask on a new thread, which notes the answer."""
    thread = threading.Thread(target=lambda: answers.append(server.fetch(target).body))
    thread.start()
    return thread


def test_the_old_version_serves_while_the_new_one_loads(serve: Servers, project: Path) -> None:
    """While one thread loads the new version, the old version answers all other requests."""
    page(project, "a.py", HANDLER.format("old"))
    server = start(serve, project, *THREADS)
    assert b"old" == server.fetch("/pages/a.py").body
    pipe = waiting(project, "a.py", "new")
    answers: list[bytes] = []
    thread = asked(server, "/pages/a.py", answers)
    with pipe.open("wb"):
        # Opening the pipe has waited until the page has opened it, too.
        assert [b"old"] * 20 == [server.fetch("/pages/a.py").body for _ in range(20)]
        assert not answers
    thread.join()

    assert [b"new"] == answers
    assert b"new" == server.fetch("/pages/a.py").body


def test_two_at_once_load_it_once(serve: Servers, project: Path) -> None:
    """If several first requests come at once, one loads the page, and the others wait for the same module."""
    pipe = waiting(project, "a.py", "made")
    file = project / "public/pages/a.py"
    loads = "import builtins\nbuiltins.loads = getattr(builtins, 'loads', 0) + 1\n"
    text = file.read_text(encoding="utf-8").replace(
        'return "made"', "import builtins\n    return str(builtins.loads)"
    )
    page(project, "a.py", loads + text)
    page(project, "b.py", HANDLER.format("another"))
    server = start(serve, project, *THREADS)
    answers: list[bytes] = []
    threads = [asked(server, "/pages/a.py", answers)]
    with pipe.open("wb"):
        threads += [asked(server, "/pages/a.py", answers) for _ in range(2)]
        assert b"another" == server.fetch("/pages/b.py").body
        assert not answers
    for thread in threads:
        thread.join()

    assert [b"1"] * 3 == answers


def test_a_load_that_lasts_too_long(serve: Servers, project: Path) -> None:
    """A page that hangs at its import is interrupted at the timeout, and so are requests that wait."""
    page(project, "a.py", "import time\nwhile True:\n    time.sleep(0.01)\n")
    server = start(serve, project, *THREADS, "--request-timeout", "500ms")
    statuses: list[int] = []
    threads = [
        threading.Thread(target=lambda: statuses.append(server.fetch("/pages/a.py").status)) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [504] * 3 == statuses
    page(project, "a.py", HANDLER.format("mended"), age_s=10)

    # On a busy machine, the load of the repaired page may also take too long.
    assert until(lambda: b"mended" == server.fetch("/pages/a.py").body)


BROKEN = [
    ("def handler(request)\n    pass\n", "SyntaxError"),
    ("import not_there_at_all\n", "ModuleNotFoundError"),
    ("1 / 0\n", "ZeroDivisionError"),
    ("raise SystemExit(3)\n", "SystemExit"),
    ("x = 1\n", "defines no application, app or handler"),
    ("application = 5\n", "it is of type int, which cannot be called"),
    ("async def handler(request):\n    return 'x'\n", "is an `async def`"),
    ("\udcff".encode("utf-8", "surrogateescape").decode("latin-1") + "\0", "null bytes"),
]


@pytest.mark.parametrize(("text", "why"), BROKEN, ids=[why for _, why in BROKEN])
def test_a_page_that_fails(serve: Servers, project: Path, text: str, why: str) -> None:
    """A page that fails is a 500, with one traceback per version; other pages go on; repaired, it answers."""
    page(project, "a.py", text)
    page(project, "b.py", HANDLER.format("fine"))
    server = start(serve, project)
    assert [500] * 3 == [server.fetch("/pages/a.py").status for _ in range(3)]
    assert b"fine" == server.fetch("/pages/b.py").body
    server.wait_for_log(why)
    assert 1 == server.log().count(CANNOT)
    assert "/adyton/_" not in server.log()

    page(project, "a.py", text, age_s=50)
    assert 500 == server.fetch("/pages/a.py").status
    assert 2 == server.log().count(CANNOT)
    page(project, "a.py", HANDLER.format("mended"), age_s=40)
    assert b"mended" == server.fetch("/pages/a.py").body


def test_a_new_version_that_fails(serve: Servers, project: Path) -> None:
    """A new version that fails leaves the old one serving, with its state; its traceback is logged once."""
    page(project, "a.py", COUNTS)
    server = start(serve, project)
    assert b"1" == server.fetch("/pages/a.py").body
    page(project, "a.py", "import sys\nsys.gone\n", age_s=30)
    assert [b"2", b"3", b"4"] == [server.fetch("/pages/a.py").body for _ in range(3)]
    server.wait_for_log("its earlier version goes on answering")
    assert 1 == server.log().count(CANNOT)
    page(project, "a.py", HANDLER.format("mended"), age_s=20)

    assert b"mended" == server.fetch("/pages/a.py").body


MODULES = """
import sys


def handler(request):
    return " ".join(sorted(name for name in sys.modules if "_adyton_a-" in name)) or "none"
"""


def test_a_page_that_goes(serve: Servers, project: Path) -> None:
    """If its file is removed, a page and its module are gone; if the file returns, it is loaded anew."""
    file = page(project, "a.py", COUNTS)
    page(project, "modules.py", MODULES)
    server = start(serve, project)
    assert [b"1", b"2"] == [server.fetch("/pages/a.py").body for _ in range(2)]
    assert server.fetch("/pages/modules.py").body.startswith(b"_adyton_a-")
    file.unlink()
    assert 404 == server.fetch("/pages/a.py").status
    assert b"none" == server.fetch("/pages/modules.py").body
    page(project, "a.py", COUNTS)

    assert b"1" == server.fetch("/pages/a.py").body


def test_another_folder(serve: Servers, project: Path) -> None:
    """If a deployment replaces the folder, the new pages count; a folder that is made later is served."""
    page(project, "a.py", HANDLER.format("first"))
    server = start(serve, project)
    assert b"first" == server.fetch("/pages/a.py").body
    (project / "public/pages").rename(project / "public/before")
    page(project, "a.py", HANDLER.format("other"))

    assert b"other" == server.fetch("/pages/a.py").body


RELOADS = """

def reload_required(resource):
    return count == 2 or not resource.endswith("/pages/a.py")
"""


def test_a_page_that_wants_to_be_loaded_again(serve: Servers, project: Path) -> None:
    """A page is loaded again if its `reload_required()` says so, or if it has deleted `__mtime__`."""
    page(project, "a.py", COUNTS + RELOADS)
    page(project, "b.py", "del __mtime__\n" + COUNTS)
    server = start(serve, project)
    assert [b"1", b"2", b"1", b"2", b"1"] == [server.fetch("/pages/a.py").body for _ in range(5)]
    assert [b"1"] * 3 == [server.fetch("/pages/b.py").body for _ in range(3)]


def test_a_hook_that_fails(serve: Servers, project: Path) -> None:
    """If `reload_required()` raises, the log has the exception, and the page answers."""
    page(project, "a.py", COUNTS + "\n\ndef reload_required(resource):\n    raise ValueError(resource)\n")
    server = start(serve, project)

    assert [b"1", b"2"] == [server.fetch("/pages/a.py").body for _ in range(2)]
    server.wait_for_log(r"reload_required\(\) of ")
    server.wait_for_log("ValueError: ")


GROUP = """
[server]
processes = 1
control = "control.sock"

[groups.customer]
processes = 1

[[sites]]
[[sites.routes]]
app = "shop:application"

[[sites.routes]]
path = "/pages/"
scripts = "public/pages"
group = "customer"
"""

PROCESS = """
import os
import sys


def handler(request):
    return f"{os.getpid()} {request.remote_port > 0} {'shop' in sys.modules}"
"""


def test_in_a_group(serve: Servers, project: Path) -> None:
    """Only the workers of a group load the pages of the group's route."""
    page(project, "a.py", PROCESS)
    env = {"ADYTON_PROCESSES": "", "ADYTON_THREADS": ""}
    server = serve(write(project, GROUP).name, cwd=project, env=env)
    server.wait_for_log("the group customer serves")
    said = {server.fetch("/pages/a.py").body.decode() for _ in range(3)}

    assert server.fetch("/").body.startswith(b"shop 1")
    assert 1 == len(said)
    assert said.pop().endswith(" True False")
    assert 404 == server.fetch("/pages/none.py").status


def test_forks(serve: Servers, project: Path) -> None:
    """A page may fork at its import: the child ends there, and the server has one answer."""
    page(
        project,
        "a.py",
        "import os\npid = os.fork()\nif pid:\n    os.waitpid(pid, 0)\n" + HANDLER.format("parent"),
    )
    server = start(serve, project)

    assert b"parent" == server.fetch("/pages/a.py").body


def test_told(project: Path) -> None:
    """`check` and `route` say that pages answer; `check` reports pages that cannot be compiled."""
    page(project, "a.py", HANDLER.format("a"))
    write(project, FILE.format(server="", route=""))
    checked = run("check", "site.toml", cwd=project)
    assert 0 == checked.returncode, checked.stderr
    assert "scripts public/pages" in checked.stdout
    asked = run("route", "site.toml", "GET", "/pages/a.py", cwd=project)
    assert "answer scripts public/pages /pages/ (line 11)" in asked.stdout
    broken = page(project, "sub/b.wsgi", "x = (\n")
    page(project, "_lib.py", "x = (\n")
    checked = run("check", "site.toml", cwd=project)
    assert 3 == checked.returncode
    assert f"{broken}:1: " in checked.stderr
    assert "_lib.py" not in checked.stderr


WRONG = [
    ('scripts-index = "index.php"', "write the name of a script, as index.py or index.wsgi"),
    ('scripts-index = "../index.py"', "write the name of a script"),
    ("mount = true", "mount belongs to app, which this route does not have"),
    ('group = "none"', "there is no table [groups.none]"),
    ('app = "shop"', "app and scripts: a route has one of them"),
]


@pytest.mark.parametrize(("line", "why"), WRONG)
def test_wrong_files(project: Path, line: str, why: str) -> None:
    """A mistake is reported with its line."""
    page(project, "a.py", HANDLER.format("a"))
    write(project, FILE.format(server="", route=line))
    checked = run("check", "site.toml", cwd=project)

    assert 2 == checked.returncode
    assert why in checked.stderr


GUIDE = (Path(__file__).parents[2] / "docs/scripts.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```toml\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
(EXAMPLE_PAGE,) = re.findall(r"^```python\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("text", EXAMPLES)
def test_example(serve: Servers, project: Path, text: str) -> None:
    """The examples in the guide are valid without changes, and serve its page."""
    (project / "lib").mkdir()
    page(project, "hello.py", EXAMPLE_PAGE)
    env = {"ADYTON_PROCESSES": "1"}
    file = write(project, text)
    checked = run("check", file.name, cwd=project, env=env)
    assert 0 == checked.returncode, checked.stderr
    server = serve(file.name, cwd=project, env=env)
    if "[groups." in text:
        server.wait_for_log("the group pages serves")

    assert b"Hello, Ada." == server.fetch("/pages/hello.py?name=Ada").body
    assert b"Hello, you." == server.fetch("/pages/hello.py").body
