"""Predictions of `adyton route` hold on the running server, for random files of sites."""

from __future__ import annotations

import itertools
import json
import random
import re
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from sites.conftest import write
from support.server import START_TIMEOUT_S, environment

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Servers

SEEDS = (1, 2, 3, 5)
"""Seeds, each of which makes another file. A seed that has found a mistake stays in the list."""

SIZES = ((1, 1), (1, 2), (1, 3), (1, 5), (1, 12), (2, 1), (3, 4), (12, 6))
"""Numbers of sites in a file, and of routes in each site: few are tried in turn, many are looked up."""

PATHS = (
    "/",
    "/a/",
    "/a/b/",
    "/a/b/index.html/",
    "/index.html",
    "/a/index.html",
    "/a/x.txt",
    "/page.html",
    "*.html",
    "*.txt",
    "*index.html",
    "*.py",
    "*.bak",
)
"""Paths that routes have."""

FILES = ("index.html", "page.html", "old.bak", "a/index.html", "a/x.txt", "a/b/index.html", "a/b/y.html")
"""Files in the folder."""

REQUESTS = (
    "/",
    "/?q=1",
    "//",
    "/index.html",
    "/%69ndex.html",
    "/page.html",
    "/page.html.gz",
    "/old.bak",
    "/none",
    "/none.html",
    "/a",
    "/a/",
    "/a//",
    "/a/index.html",
    "/a/x.txt",
    "/a/none.txt",
    "/a/b/",
    "/a/b/index.html",
    "/a/b/index.html/",
    "/a/b/y.html",
    "/to/a/",
    "/to/",
    "/a/../index.html",
    "/a/%2e/x.txt",
    "/a%2f%2e%2e%2findex.html",
    "/..",
)
"""Targets to ask for."""

ASK = """
import json, sys
from adyton._core import main
for words in json.load(sys.stdin):
    main(["route", *words], False)
    print("---", flush=True)
"""
"""Program that runs `adyton route` many times in one process."""


@dataclass
class Plan:
    """A file of sites, with the numbers of its routes by the lines where they begin."""

    lines: list[str] = field(default_factory=list)
    routes: dict[int, str | None] = field(default_factory=dict)

    def add(self, *lines: str) -> None:
        """Add some lines."""
        self.lines.extend(lines)

    @property
    def text(self) -> str:
        """Return all of the file."""
        return "\n".join(self.lines) + "\n"


def plan(seed: int, sites: int, routes: int) -> Plan:
    """Make a file of sites."""
    chance = random.Random(seed * 1000 + sites * 100 + routes)
    made = Plan()
    for number in range(sites):
        made.add("[[sites]]", f'hosts = ["s{number}.example", "*.s{number}.example"]')
        if chance.random() < 0.3:
            made.add(
                f"deny-paths = {json.dumps(chance.sample(['*.bak', '/a/b/', '*.txt', '/page.html'], 2))}"
            )
        if chance.random() < 0.3:
            made.add('rewrite = ["/to/ -> /a/", "/none -> /a/x.txt"]')
        full: set[str] = set()
        if routes == 1 and chance.random() < 0.6:
            # One kind of site has a single application, and no other settings.
            made.add("", "[[sites.routes]]", 'app = "shop:told"')
            made.routes[len(made.lines) - 1] = None
            continue
        for _ in range(routes):
            path = "/" if routes == 1 else chance.choice(PATHS)
            # A second route for a path is a mistake if the first takes every request.
            if path not in full and _add_route(made, path, chance):
                full.add(path)
    return made


def _add_route(made: Plan, path: str, chance: random.Random) -> bool:
    """Add a route; return whether it takes every request for its path."""
    made.add("", "[[sites.routes]]")
    line, number = len(made.lines), len(made.routes)
    lines = [f'path = "{path}"', f'headers = {{ X-Route = "{number}" }}']
    is_for_some = chance.random() < 0.2
    if is_for_some:
        lines.append('methods = "PUT"')
    guard = chance.choice(["", "", "", 'deny = ["127.0.0.0/8", "::1"]', "internal = true"])
    action = chance.choice(
        [
            'files = "folder"',
            'files = "folder"',
            'files = "folder"\ntry = "files"',
            'app = "shop:told"',
            f"respond = {200 + number % 4 * 100 + 10}\nbody = 'x'",
            'redirect = "https://elsewhere.example/"',
        ]
    )
    made.routes[line] = str(number)
    # A redirect gets no guard: if it answered for an index, the guard's error page would have the fields of
    # another route.
    is_guarded = guard and "redirect" not in action
    made.add(*lines, *[guard] * bool(is_guarded), *action.split("\n"))
    return not is_for_some and "files" not in action


def predicted(said: str, made: Plan) -> tuple[int, str | None]:
    """Read what `adyton route` says: the status, and the number of the route."""
    lines = said.splitlines()
    paths = [found[1] for line in lines if (found := re.match(r"path   ([^ ?,]+)", line))]
    return _outcome(lines, paths[-1] if paths else lines[0], made)


def _outcome(lines: list[str], path: str, made: Plan) -> tuple[int, str | None]:
    for number, line in enumerate(lines):
        if fixed := re.match(r"answer (\d+)(?:: | \S+ \(line (\d+)\): )", line):
            return int(fixed[1]), made.routes[int(fixed[2])] if fixed[2] else None
        answer = re.fullmatch(r"answer (\w+) (\S+).* (\S+) \(line (\d+)\)", line)
        if not answer:
            continue
        kind, what, pattern, place = answer.groups()
        route = made.routes[int(place)]
        if kind != "files":
            return 200 if kind == "app" else int(what), route
        details = list(itertools.takewhile(lambda line: line.startswith("  "), lines[number + 1 :]))
        status, index = _look(path, pattern)
        told = f"       and if that is {index}, the rules for its path apply:"
        if index and told in details:
            nested = itertools.takewhile(
                lambda line: line.startswith(INDENT), details[details.index(told) + 1 :]
            )
            return _outcome([line.removeprefix(INDENT) for line in nested], index, made)
        if status != 404 or "       and if there is no such file:" not in details:
            return status, route
    raise AssertionError(lines)


INDENT = " " * 9
"""Indent of lines about the path of an index."""


def _look(path: str, pattern: str) -> tuple[int, str]:
    """Return the folder's status for a path, and the path of the index if an index answers."""
    prefix = pattern.removesuffix("/") if pattern.endswith("/") else ""
    name = path.removeprefix(prefix).removeprefix("/")
    if name in FILES:
        return (200, "") if not name.endswith(".bak") else (404, "")
    folder = f"{name.removesuffix('/')}/" if name else ""
    if f"{folder}index.html" not in FILES:
        return 404, ""
    return (200, f"{path}index.html") if path.endswith("/") else (301, "")


@pytest.fixture
def folder(project: Path) -> Path:
    """Return a project with a folder of some files."""
    for name in FILES:
        file = project / "folder" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name, encoding="utf-8")
    return project


def ask(project: Path, questions: list[str]) -> list[str]:
    """Return what `adyton route` says of some URLs."""
    words = [["site.toml", "GET", "--from", "127.0.0.1", url] for url in questions]
    said = subprocess.run(
        [sys.executable, "-c", ASK],
        input=json.dumps(words),
        cwd=project,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=START_TIMEOUT_S,
        check=True,
    )
    return said.stdout.split("---\n")[:-1]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("seed", SEEDS)
def test_predictions(serve: Servers, folder: Path, seed: int, size: tuple[int, int]) -> None:
    """Each request to each site is answered as predicted."""
    made = plan(seed, *size)
    write(folder, made.text)
    own = [f"s{number}.example" for number in range(min(size[0], 3))]
    hosts = [*own, "www.s0.example", "other.example"]
    urls = [(host, target) for host in hosts for target in REQUESTS]
    said = ask(folder, [f"http://{host}{target}" for host, target in urls])
    with serve("site.toml", cwd=folder).connect(lint_answers=False) as connection:
        answers = [connection.get(target, fields=[("Host", host)]) for host, target in urls]

    for (host, target), told, answer in zip(urls, said, answers, strict=True):
        route = next(iter(answer.values("X-Route")), None)

        assert predicted(_named(told, target), made) == (answer.status, route), (
            host,
            target,
            told,
            made.text,
        )


def _named(told: str, target: str) -> str:
    """Replace the first line, which may name the site, by the path."""
    return "\n".join([target.partition("?")[0], *told.splitlines()[1:]])
