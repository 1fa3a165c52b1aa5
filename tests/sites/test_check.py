"""`adyton check`: reports all mistakes in one run, each with its place, and also doubtful lines."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest

from sites.conftest import write
from support.server import AS_ROOT, run

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Servers

MD5 = "3d78807defe7de2157e2b0b6573a855f"
SHA256 = "7987c64c30e25f1b74be53f966b49b90f2808aa92faf9a00262392d7b4794232"

WRONG = """
[server]
user = "nobody-at-all"
error-log = "no/such/error.log"

[groups.staff]
user = "nobody-either"

[[sites]]
access-log = "no/such/access.log"
error-pages = { 404 = "errors/none.html", 503 = "errors/busy.html" }

[[sites.routes]]
path = "/admin/"
files = "public"
auth = "basic:wrong.htpasswd"
auth-groups = "old"
auth-group-file = "wrong.groups"

[[sites.routes]]
path = "/told/"
handler = "none.py"
group = "staff"

[[sites.routes]]
path = "/digest/"
files = "public"
auth = "digest:none.htdigest"
pth = "/x"

[[sites.routes]]
path = "/absent/"
app = "no_such_module_of_ours:app"

[[sites.routes]]
app = "shop:nothing_here"
"""

SAID = [
    "site.toml:3:8: user: there is no user nobody-at-all",
    "site.toml:4:13: cannot open the error log no/such/error.log: No such file or directory (os error 2)",
    "site.toml:7:8: user: there is no user nobody-either",
    "site.toml:10:14: cannot open the access log no/such/access.log: No such file or directory (os error 2)",
    "site.toml:11:23: error-pages: 404=errors/none.html: No such file or directory (os error 2)",
    "site.toml:16:8: auth: wrong.htpasswd:2: this is no hash: ",
    "site.toml:16:8: auth: wrong.htpasswd:4: write user:hash, as htpasswd -B does",
    "site.toml:18:19: auth: wrong.groups:1: write group: user user",
    "site.toml:22:11: there is no none.py in ",
    "site.toml:28:8: auth: none.htdigest cannot be read: No such file or directory (os error 2)",
    "site.toml:29:1: pth is no key of a route; did you mean path?",
    "site.toml:33:7: the application named here cannot be loaded:",
    "site.toml:36:7: shop has no nothing_here",
]


def test_all_at_once(project: Path) -> None:
    """One run reports mistakes in keys, other files, users, logs and applications, each with its place."""
    write(project, WRONG)
    (project / "wrong.htpasswd").write_text("# Staff.\nann:secret\n\nbob\n", encoding="utf-8")
    (project / "wrong.groups").write_text("staff\n", encoding="utf-8")
    checked = run("check", "site.toml", cwd=project)
    lines = checked.stderr.replace(f"{project}/", "").splitlines()
    missing = [said for said in SAID if not any(line.startswith(f"adyton: {said}") for line in lines)]

    assert (2, "") == (checked.returncode, checked.stdout)
    assert [] == missing, checked.stderr


BESIDE = """
[server]
threads = "many"

[[sites]]
root = "."
[[sites.routes]]
path = "/open/"
auth-users = "ann"
files = "public"
pth = "/x"
[[sites.routes]]
path = "/around"
redirect = "/around"
[[sites.routes]]
path = "/same/"
respond = 304
[[sites.routes]]
path = "/named/"
auth = "basic:none.htpasswd"
files = "public"
static-listing = 7
[[sites.routes]]
app = "shop:application"
mount = true
"""


def in_order(lines: list[str]) -> list[str]:
    """Return lines of mistakes in the order of the file."""
    return sorted(lines, key=lambda line: [int(number) for number in line.split(":")[2:4]])


def test_lint_beside_other_mistakes(project: Path) -> None:
    """Mistakes and doubts about several keys together are reported in addition to wrong keys and values."""
    checked = run("check", write(project, BESIDE).name, cwd=project)
    lines = AS_ROOT.sub("", checked.stderr).replace(f"{project}/", "").splitlines()
    places = [
        "3:11: threads = many: ",
        "9:14: auth-users: no client is asked who it is, ",
        "11:1: pth is no key of a route; ",
        "14:12: redirect = /around: /around is sent to /around, ",
        "17:11: respond = 304: ",
        "20:8: auth: none.htpasswd cannot be read: ",
        "22:18: static-listing = 7: ",
    ]

    assert 2 == checked.returncode
    assert "ADY335 warning: site.toml:25:9: mount: for / " in lines[0]
    assert len(places) == len(lines) - 1, checked.stderr
    for place, line in zip(places, in_order(lines[1:]), strict=True):
        assert line.startswith(f"adyton: site.toml:{place}")


FOLLOWS = """
[server]
trusted-proxies = "everyone"
proxy-protocol = true

[[sites]]
access-log = "a.log"
access-log-format = "%Z"
[[sites.routes]]
auth = "bsic:staff.htpasswd"
auth-users = "ann"
interface = "asgi"
app = "shop:application"
"""


def test_what_follows_from_a_mistake(project: Path) -> None:
    """A mistake is reported once, and its consequences are not."""
    checked = run("check", write(project, FOLLOWS).name, cwd=project)
    lines = AS_ROOT.sub("", checked.stderr).replace(f"{project}/", "").splitlines()
    places = ["3:19: trusted-proxies", "8:21: ", "10:8: auth = bsic", "12:13: interface = asgi"]

    assert 2 == checked.returncode
    assert len(places) == len(lines), checked.stderr
    for place, line in zip(places, in_order(lines), strict=True):
        assert line.startswith(f"adyton: site.toml:{place}")


def test_applications_that_are_not_there(project: Path) -> None:
    """All missing applications are reported; the exit status says that one cannot be loaded."""
    write(
        project, WRONG[WRONG.index('[[sites.routes]]\npath = "/absent/"') :].replace("[[", "[[sites]]\n[[", 1)
    )
    checked = run("check", "site.toml", cwd=project)

    assert 3 == checked.returncode
    assert "adyton: site.toml:4:7: the application named here cannot be loaded:" in checked.stderr
    assert "ModuleNotFoundError: No module named 'no_such_module_of_ours'" in checked.stderr
    assert "adyton: site.toml:7:7: shop has no nothing_here" in checked.stderr


def test_addresses(project: Path) -> None:
    """Every address at which the server cannot listen is reported, with its place."""
    bind = 'bind = ["192.0.2.1:0", "unix:no/such/folder/socket"]'
    write(project, f"[server]\n{bind}\n[[sites]]\n[[sites.routes]]\nrespond = 404\n")
    refused = run("serve", "site.toml", cwd=project)

    assert 1 == refused.returncode
    assert [
        "adyton: site.toml:2:9: cannot listen at 192.0.2.1:0: ",
        "adyton: site.toml:2:24: cannot listen at unix:no/such/folder/socket: ",
    ] == [re.match(r".*?cannot listen at [^ ]+: ", line)[0] for line in refused.stderr.splitlines()]  # type: ignore[index]


GUARDED = """
[[sites]]

[[sites.routes]]
path = "/admin/"
methods = "GET"
auth = "basic:staff.htpasswd"
app = "shop:application"

[[sites.routes]]
app = "shop:application"
mount = true
"""


def test_doubts_are_told_and_served(serve: Servers, project: Path) -> None:
    """A doubtful line causes a warning with its place, from `check` and in the log; the warning is true."""
    checked = run("check", write(project, GUARDED).name, cwd=project)
    doubts = [
        "4:1: this route guards only requests that are GET: all others reach the route of line 10 (/), ",
        "ADY335 warning: site.toml:12:9: mount: for / the application is mounted at the root anyway; ",
    ]

    assert 0 == checked.returncode, checked.stderr
    assert checked.stdout.endswith("\nadyton: site.toml: fine\n")
    assert [] == [said for said in doubts if said not in checked.stderr]

    server = serve(project / "site.toml", cwd=project)

    assert [] == [said for said in doubts if said not in server.log().replace(f"{project}/", "")]
    statuses = [
        server.fetch("/admin/", method=method, lint_answers=False).status for method in ("GET", "POST")
    ]
    assert [401, 200] == statuses


@pytest.mark.parametrize(
    ("lines", "files", "said"),
    [
        (
            'auth = "digest:users"\nauth-realm = "here"',
            {"users": f"ann:here:{MD5}\nbob:here:{SHA256}\n"},
            [
                'users:1: "ann" has no SHA-256 hash for the realm "here"',
                'users:2: "bob" has no MD5 hash for the realm "here"',
            ],
        ),
        (
            'auth = "digest:users"\nauth-realm = "here"',
            {"users": f"ann:here:{MD5}\nbob:here:{SHA256}\nbob:here:{MD5}\n"},
            [],
        ),
        (
            'auth = "digest:users"\nauth-realm = "there"',
            {"users": f"ann:here:{MD5}\n"},
            ['users has no users for the realm "there" (auth-realm), so nobody can come in; the realms '],
        ),
        (
            'auth = "basic:users"',
            {"users": "# Nobody yet.\n"},
            ["users has no users, so nobody can come in; "],
        ),
        (
            'auth = "basic:staff.htpasswd"\nauth-users = "ann,carl"',
            {},
            ['auth-users names "carl", who is not in staff.htpasswd'],
        ),
        (
            'auth = "basic:staff.htpasswd"\nauth-groups = "admins"\nauth-group-file = "groups"',
            {"groups": "staff: ann\n"},
            ['auth-groups names "admins", a group that is not in groups'],
        ),
    ],
)
def test_who_cannot_come_in(project: Path, lines: str, files: dict[str, str], said: list[str]) -> None:
    """Users and groups whom no password lets in cause warnings, and the file stays valid."""
    for name, text in files.items():
        (project / name).write_text(text, encoding="utf-8")
    write(project, f"[[sites]]\n[[sites.routes]]\nrespond = 200\n{lines}\n")
    checked = run("check", "site.toml", cwd=project)
    told = AS_ROOT.sub("", checked.stderr).replace(f"{project}/", "").splitlines()

    assert 0 == checked.returncode, checked.stderr
    assert len(said) == len(told), told
    for sentence, line in zip(said, told, strict=True):
        assert f"ADY229 warning: site.toml:4:8: auth: {sentence}" in line


PUBLISHED = """
[server]
error-log = "public/error.log"

[[sites]]
access-log = "public/access.log"

[[sites.routes]]
path = "/all/"
files = "public"
"""


def test_what_nobody_is_to_read(project: Path) -> None:
    """Password files in a served folder are mistakes, logs there cause warnings, hidden files are allowed."""
    checked = run("check", write(project, PUBLISHED).name, cwd=project)

    assert 0 == checked.returncode, checked.stderr
    for place, name in [("3:13: error-log", "error.log"), ("6:14: access-log", "access.log")]:
        assert (
            f"site.toml:{place}: public/{name} lies in a folder that is served, as /all/{name}; "
            in checked.stderr
        )

    (project / "staff.htpasswd").rename(project / "public/users")
    write(project, PUBLISHED.replace("files =", 'auth = "basic:public/users"\nfiles ='))
    checked = run("check", "site.toml", cwd=project)

    assert 2 == checked.returncode
    told = "site.toml:10:8: auth: public/users lies in a folder that is served, as /all/users; keep it "
    assert f"\nadyton: {told}" in checked.stderr

    (project / "public/users").rename(project / "public/.users")
    hidden = PUBLISHED.replace("public/access.log", "public/.access.log").replace("public/error.log", "-")
    write(project, hidden.replace("files =", 'auth = "basic:public/.users"\nfiles ='))
    checked = run("check", "site.toml", cwd=project)

    assert (0, "") == (checked.returncode, AS_ROOT.sub("", checked.stderr))


@pytest.mark.parametrize(
    ("user", "processes", "place"),
    [
        ("", "0", ""),
        ("", "1", ""),
        ('user = "root"\n', "1", "site.toml:2:8: "),
        ('user = "nobody"\n', "1", None),
    ],
)
def test_root(project: Path, user: str, processes: str, place: str | None) -> None:
    """Running as root causes a warning that names the setting that ends it, unless the server drops root."""
    write(project, f"[server]\n{user}[[sites]]\n[[sites.routes]]\nrespond = 200\n")
    checked = run("check", "site.toml", "--processes", processes, cwd=project)
    told = AS_ROOT.findall(checked.stderr)

    assert 0 == checked.returncode, checked.stderr
    if os.geteuid() != 0 or place is None:
        assert [] == told
    else:
        assert 1 == len(told)
        assert f"ADY336 warning: {place}" in told[0]
        assert ("set --user" if processes == "0" else "set user (--user), as www-data") in told[0]


def test_root_is_logged(serve: Servers, project: Path) -> None:
    """The log has the warning about root, too, before the line that says that the server serves."""
    server = serve("shop:application", cwd=project)
    told = AS_ROOT.findall(server.log())

    assert (1 if os.geteuid() == 0 else 0) == len(told), server.log()


LOOPS = """
[[redirects]]
path = "a"
redirect = "/f/b"
[[redirects]]
path = "b"
redirect = "/f/a"
[[redirects]]
path = "c"
redirect = "/f/x.txt"
"""


def test_loops_of_folders(serve: Servers, project: Path) -> None:
    """Redirects of a folder that form a loop cause warnings with their places, and the folder is served."""
    write(project, '[[sites]]\n[[sites.routes]]\nfiles = "public"\nmay-set = ["redirect"]\n')
    (project / "public/f").mkdir()
    (project / "public/f/x.txt").write_text("x", encoding="utf-8")
    (project / "public/f/.adyton.toml").write_text(LOOPS, encoding="utf-8")
    server = serve(project / "site.toml", cwd=project)

    answers = [server.fetch(target) for target in ("/f/a", "/f/b", "/f/c")]
    assert [(307, to) for to in ("/f/b", "/f/a", "/f/x.txt")] == [
        (answer.status, answer["Location"]) for answer in answers
    ]
    assert 200 == server.fetch("/f/x.txt").status
    told = re.findall(
        r"ADY236 warning: .*f/\.adyton\.toml:(\d+:\d+): (redirect = .*), which this", server.log()
    )
    assert [
        ("4:12", "redirect = /f/b: /f/a is sent to /f/a"),
        ("7:12", "redirect = /f/a: /f/b is sent to /f/b"),
    ] == told


def test_folders_have_the_same_rules(serve: Servers, project: Path) -> None:
    """A rule in a folder's file that keeps nobody out closes the folder, and the log has its place."""
    write(project, '[[sites]]\n[[sites.routes]]\nfiles = "public/static"\nmay-set = ["auth", "allow"]\n')
    server = serve(project / "site.toml", cwd=project)
    for name, text, said in [
        (
            "users",
            'auth-users = "ann"\n',
            r":1:1: auth-users: no client is asked who it is, so all are let in; ",
        ),
        ("list", "allow = []\n", r":1:9: allow = \[\]: an empty list says neither all nor none; "),
    ]:
        folder = project / "public/static" / name
        folder.mkdir()
        (folder / ".adyton.toml").write_text(text, encoding="utf-8")
        (folder / "x.txt").write_text("x", encoding="utf-8")

        assert 500 == server.fetch(f"/{name}/x.txt", lint_answers=False).status
        server.wait_for_log(said)
