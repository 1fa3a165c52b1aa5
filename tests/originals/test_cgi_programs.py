"""Programs that many people run by CGI answer on our server as they do on Apache (mod_cgid, event)."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from originals.beside import Ask, compare, posted, uploaded
from originals.conftest import program
from originals.scripts import Programs, ours_to_run

if TYPE_CHECKING:
    from collections.abc import Iterable

    from support.client import Address
    from support.server import Servers

OWN_PAGE = "each server has a page of its own"
ITS_PAGE = {"body": OWN_PAGE, "content-type": "of that page"}


def beside(serve: Servers, port: int, programs: Programs, asks: Iterable[Ask]) -> Address:
    """Serve the programs by both servers, and compare their answers; return the address of ours."""
    ours = programs.on_ours(serve)
    with programs.on_apache(port) as original:
        compare(asks, original.address, ours)
    return ours


FORM = "/cgi-bin/form.cgi"
TEXTS = {"name": "Ann", "kind": "a", "empty": "", "umlaut": "\u00fcber\u20ac"}
BINARY = bytes(range(256)) * 600
REDIRECTED = "Apache says the first request's REQUEST_URI and CONTENT_TYPE, of which CGI.pm makes wrong links"
COOKIES = ("Cookie", 'session=a%20b%26c; theme=dark&wide; odd="x y"; none=')

TOO_LONG = uploaded(f"{FORM}/upload", TEXTS, {"file": ("long.bin", "image/png", BINARY * 2)})

ON_FORM = [
    Ask(FORM),
    Ask(FORM, "HEAD"),
    Ask(f"{FORM}/none/a%20b%3C"),
    Ask(f"{FORM}/upload?name=query&name=again"),
    uploaded(f"{FORM}/upload", TEXTS, {"file": ("a.bin", "image/png", BINARY)}),
    uploaded(f"{FORM}/upload?page=2", TEXTS, {"file": ("\u00fc .txt", "text/plain", b"one\r\ntwo\n")}),
    uploaded(f"{FORM}/upload", TEXTS, {"file": ("empty.txt", "text/plain", b"")}),
    uploaded(f"{FORM}/upload", TEXTS, {"file": ("", "application/octet-stream", b"")}),
    posted(f"{FORM}/upload?in=url", "name=a+b%26c&name=&kind=%C3%BC"),
    posted(f"{FORM}/upload", ""),
    Ask(f"{FORM}/upload", "POST", body=b"x" * 5000),
    Ask(f"{FORM}/upload", "PUT", fields=(("Content-Type", "text/plain"),), body=b"put"),
    Ask(f"{FORM}/cookies"),
    Ask(f"{FORM}/cookies", fields=(COOKIES,)),
    Ask(f"{FORM}/download", length=256),
    Ask(f"{FORM}/download", "HEAD", length=256),
    Ask(f"{FORM}/environment"),
    Ask(f"{FORM}/environment?a=b;c=d&e=%20f&g"),
    Ask(f"{FORM}/environment?a+b"),
    Ask(f"{FORM}/environment", host="other.example:8080"),
    Ask(f"{FORM}/environment", fields=(("User-Agent", "a (b)"), ("Referer", "http://c.example/d"))),
    Ask(f"{FORM}/environment", version="1.0"),
    posted(f"{FORM}/environment?a=b", "c=d"),
    Ask(f"{FORM}/redirect?to=http://other.example/x?y=z"),
    Ask(f"{FORM}/redirect?to=/page.txt&status=303%20See%20Other"),
    Ask(f"{FORM}/redirect?to=beside&status=301"),
    Ask(f"{FORM}/redirect?to=/page.txt", "HEAD"),
    posted(f"{FORM}/redirect", "to=/page.txt"),
    Ask(f"{FORM}/local", differ={"body": REDIRECTED}),
    replace(posted(f"{FORM}/local", "name=value"), differ={"body": REDIRECTED}),
    Ask(
        f"{FORM}/page", differ={"etag": "each server has its own", "content-type": "ours says UTF-8 of files"}
    ),
    Ask(f"{FORM}/away", differ={**ITS_PAGE}),
    Ask(f"{FORM}/nothing"),
    Ask(f"{FORM}/saved"),
    Ask(f"{FORM}/unchanged"),
    Ask(f"{FORM}/unchanged", "HEAD"),
    Ask(f"{FORM}/error"),
    Ask(f"{FORM}/teapot"),
    Ask(f"{FORM}/expires"),
    Ask(f"{FORM}/dies"),
    Ask(f"{FORM}/silent", differ=ITS_PAGE),
    Ask("/cgi-bin/none.cgi", differ=ITS_PAGE),
    Ask(f"{FORM}/./a/../environment", differ={"status": "ours refuses dot segments", **ITS_PAGE}),
    Ask(f"{FORM}%2Fenvironment", differ={"status": "Apache refuses %2F (AllowEncodedSlashes)", **ITS_PAGE}),
]


def test_forms_of_perl(serve: Servers, folder: Path, port: int) -> None:
    """Forms, uploads, cookies, redirects, downloads and errors of CGI.pm are like Apache's."""
    (folder / "public/page.txt").write_text("a page\n", encoding="utf-8")
    # The page of CGI::Carp has the administrator's address.
    admin = {"SERVER_ADMIN": "webmaster@shop.example"}
    programs = Programs(folder, {"/cgi-bin/": ours_to_run(folder)}, ours=admin)
    ours = beside(serve, port, programs, ON_FORM)
    # mod_cgid cuts the answer of a script that has not read its body.
    answer = TOO_LONG.response(ours)

    assert (413, b"413 Request entity too large\n") == (answer.status, answer.body)


BUGS = "/cgi-bin/bugs"
LOGGED_IN = ("Cookie", "bugs_login=ann")
PATCH_BYTES = b"--- a\n+++ b\n\x00\xff\n" * 5000
PATCH = {"data": ("fix.patch", "text/x-patch", PATCH_BYTES)}

ON_BUGS = [
    Ask(f"{BUGS}/index.cgi"),
    posted(f"{BUGS}/index.cgi", "login=ann&password=wrong"),
    posted(f"{BUGS}/index.cgi", "login=ann&password=secret"),
    Ask(f"{BUGS}/index.cgi", fields=(LOGGED_IN,)),
    Ask(f"{BUGS}/post_bug.cgi"),
    posted(f"{BUGS}/post_bug.cgi", "summary=nobody"),
    posted(f"{BUGS}/post_bug.cgi", "summary=", LOGGED_IN),
    posted(f"{BUGS}/post_bug.cgi", "summary=It+breaks+%3Cb%3E&comment=Often.%0AToday%2C+too.", LOGGED_IN),
    posted(f"{BUGS}/post_bug.cgi", "summary=It+is+slow&comment=" + "very+" * 20_000 + "slow", LOGGED_IN),
    Ask(f"{BUGS}/show_bug.cgi?id=1"),
    Ask(f"{BUGS}/show_bug.cgi?id=2"),
    Ask(f"{BUGS}/show_bug.cgi?id=2", "HEAD"),
    Ask(f"{BUGS}/show_bug.cgi?id=1&ctype=xml"),
    Ask(f"{BUGS}/show_bug.cgi?id=3"),
    Ask(f"{BUGS}/show_bug.cgi"),
    Ask(f"{BUGS}/buglist.cgi"),
    Ask(f"{BUGS}/buglist.cgi?quicksearch=it+BREAKS"),
    Ask(f"{BUGS}/buglist.cgi?quicksearch=it&ctype=csv"),
    Ask(f"{BUGS}/buglist.cgi?quicksearch=none"),
    uploaded(f"{BUGS}/attachment.cgi", {"bugid": "1"}, PATCH, LOGGED_IN),
    uploaded(f"{BUGS}/attachment.cgi", {"bugid": "9"}, PATCH, LOGGED_IN),
    uploaded(f"{BUGS}/attachment.cgi", {"bugid": "1"}, {"data": ("", "a/b", b"")}, LOGGED_IN),
    Ask(f"{BUGS}/show_bug.cgi?id=1"),
    Ask(f"{BUGS}/attachment.cgi?id=1", length=len(PATCH_BYTES)),
    Ask(f"{BUGS}/attachment.cgi?id=1", "HEAD", length=len(PATCH_BYTES)),
    Ask(f"{BUGS}/attachment.cgi?id=2"),
    Ask(f"{BUGS}/Bugs.pm", differ={"status": "Apache tries to run what is not executable", **ITS_PAGE}),
]


def test_bug_tracker(serve: Servers, folder: Path, port: int) -> None:
    """A bug tracker searches, logs in by a cookie, takes a file, redirects and fails as it does on Apache."""
    programs = Programs(folder, {"/cgi-bin/": ours_to_run(folder)}, data="BUGS_DATA")
    beside(serve, port, programs, ON_BUGS)


STORAGE = "/cgi-bin/storage.py"

ON_STORAGE = [
    Ask(STORAGE),
    Ask(f"{STORAGE}?name=Ann&name=Bob&empty=&umlaut=%C3%BC"),
    Ask(f"{STORAGE}?name=Ann", "HEAD"),
    posted(f"{STORAGE}?name=url", "name=a+b%26c&empty="),
    posted(STORAGE, ""),
    uploaded(STORAGE, TEXTS, {"file": ("a.bin", "image/png", BINARY)}),
    uploaded(f"{STORAGE}?name=url", TEXTS, {"a": ("\u00fc.txt", "text/plain", b"a"), "b": ("b", "a/b", b"")}),
    Ask(f"{STORAGE}/fails"),
]

GATEWAY = "/cgi-bin/application.py"

ON_GATEWAY = [
    Ask(GATEWAY, length=10),
    Ask(GATEWAY, "HEAD", length=10),
    Ask(f"{GATEWAY}/pieces"),
    Ask(f"{GATEWAY}/pieces", version="1.0"),
    Ask(f"{GATEWAY}/writes", length=12),
    Ask(f"{GATEWAY}/echo", "POST", fields=(("Content-Type", "a/b"),), body=BINARY),
    Ask(f"{GATEWAY}/echo", "PUT", body=b"x"),
    Ask(f"{GATEWAY}/echo", "POST", body=b""),
    Ask(f"{GATEWAY}/echo"),
    Ask(f"{GATEWAY}/environ"),
    Ask(f"{GATEWAY}/environ?a=%C3%A4+b&c"),
    posted(f"{GATEWAY}/environ", "a=b"),
    Ask(f"{GATEWAY}/elsewhere"),
    Ask(f"{GATEWAY}/nothing"),
    Ask(f"{GATEWAY}/unchanged"),
    Ask(f"{GATEWAY}/fails"),
    Ask(f"{GATEWAY}/breaks"),
    Ask(f"{GATEWAY}/changes"),
    Ask(f"{GATEWAY}/none/%C3%A4%20b"),
    Ask(f"{GATEWAY}/none", "DELETE"),
    Ask(f"{GATEWAY}/none", "OPTIONS"),
]


def test_python(serve: Servers, folder: Path, port: int) -> None:
    """Forms read by `cgi.FieldStorage`, and a WSGI application run by `wsgiref`, answer as on Apache."""
    programs = Programs(folder, {"/cgi-bin/": ours_to_run(folder)})
    beside(serve, port, programs, [*ON_STORAGE, *ON_GATEWAY])


def git(folder: Path, *words: str) -> None:
    """Run git in such a way that its objects are always the same."""
    who = {"NAME": "Ann", "EMAIL": "ann@shop.example", "DATE": "2020-05-04T03:02:01Z"}
    env = {f"GIT_{role}_{name}": value for role in ("AUTHOR", "COMMITTER") for name, value in who.items()}
    env |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}
    subprocess.run([program("git"), *words], cwd=folder, env=env, check=True, capture_output=True)


def repository(folder: Path) -> Path:
    """Make a repository with three commits, a tag and a branch; return the folder that it is in."""
    work, bare = folder / "work", folder / "git/shop.git"
    (work / "src").mkdir(parents=True)
    git(work, "init", "-b", "main")
    for number, (name, text) in enumerate(
        [
            ("README", "A shop.\n\u00fc & <b>\n"),
            ("src/shop.py", "".join(f"print({line})\n" for line in range(300))),
            ("src/logo.bin", "\0binary\n"),
        ]
    ):
        (work / name).write_text(text, encoding="utf-8")
        git(work, "add", "--all")
        git(work, "commit", "-m", f"commit {number}: {name}\n\nSecond <line> of it.")
    git(work, "tag", "-a", "v1", "-m", "the first one")
    git(work, "branch", "other", "HEAD~1")
    git(folder, "clone", "--bare", str(work), str(bare))
    (bare / "description").write_text("All of the shop\n", encoding="utf-8")
    return folder / "git"


GITWEB = "/gitweb/gitweb.cgi"
SHOP = f"{GITWEB}?p=shop.git"


CONDITION = ("If-Modified-Since", "Wed, 01 Jan 2025 00:00:00 GMT")
UNCHANGED_FEED = Ask(f"{SHOP};a=atom", fields=(CONDITION,))

ON_GITWEB = [
    Ask(GITWEB),
    Ask(GITWEB, "HEAD"),
    Ask(f"{SHOP};a=summary"),
    Ask(f"{SHOP}&a=summary", fields=(("Accept", "application/xhtml+xml, text/html"),)),
    Ask(f"{SHOP};a=log"),
    Ask(f"{SHOP};a=shortlog;h=refs/heads/other"),
    Ask(f"{SHOP};a=tree;hb=HEAD"),
    Ask(f"{SHOP};a=tree;f=src;hb=HEAD"),
    Ask(f"{SHOP};a=blob;f=README;hb=HEAD"),
    Ask(f"{SHOP};a=blob_plain;f=README;hb=HEAD"),
    Ask(f"{SHOP};a=blob_plain;f=src/logo.bin;hb=HEAD"),
    Ask(f"{SHOP};a=commit;h=HEAD"),
    Ask(f"{SHOP};a=commitdiff;h=HEAD~1"),
    Ask(f"{SHOP};a=patch;h=HEAD~1"),
    Ask(f"{SHOP};a=snapshot;h=HEAD;sf=tgz"),
    Ask(f"{SHOP};a=snapshot;h=v1;sf=tgz", "HEAD"),
    Ask(f"{SHOP};a=search;h=HEAD;st=commit;s=logo"),
    Ask(f"{SHOP};a=rss"),
    Ask(f"{SHOP};a=atom"),
    UNCHANGED_FEED,
    Ask(f"{GITWEB}?a=project_index"),
    Ask(f"{GITWEB}/shop.git"),
    Ask(f"{GITWEB}/shop.git/blob/HEAD:/src/shop.py"),
    Ask(f"{GITWEB}/shop.git/snapshot/v1.tar.gz"),
    Ask(f"{GITWEB}?p=none.git;a=summary"),
    Ask(f"{SHOP};a=blob;f=none;hb=HEAD"),
    Ask(f"{SHOP};a=none"),
    Ask(f"{GITWEB}/none.git/log"),
]


HTTP_DATE = """package HTTP::Date;
use Time::Piece;
sub str2time { Time::Piece->strptime($_[0], '%a, %d %b %Y %H:%M:%S GMT')->epoch }
1;
"""
"""Replacement of a module that may not be installed; without it gitweb ignores conditions."""


def test_gitweb(serve: Servers, folder: Path, port: int) -> None:
    """Lists, logs, trees, files, diffs, snapshots, feeds, conditions, errors of gitweb are as on Apache."""
    (folder / "perl/HTTP").mkdir(parents=True)
    (folder / "perl/HTTP/Date.pm").write_text(HTTP_DATE, encoding="utf-8")
    settings = folder / "gitweb.conf"
    lines = [f'$projectroot = "{repository(folder)}"', "$feature{'snapshot'}{'default'} = ['tgz']"]
    lines += ["$feature{'pathinfo'}{'default'} = [0]", "@stylesheets = ('/static/gitweb.css')"]
    settings.write_text("".join(f"{line};\n" for line in [*lines, "1"]), encoding="utf-8")
    variables = {"GITWEB_CONFIG": str(settings), "PERL5LIB": str(folder / "perl")}
    programs = Programs(folder, {"/gitweb/": Path("/usr/share/gitweb")}, variables)
    ours = beside(serve, port, programs, ON_GITWEB)

    answer = UNCHANGED_FEED.response(ours)

    assert (304, []) == (answer.status, answer.values("content-type"))


CGIT = "/cgit/cgit.cgi"
UNCHANGED = dict.fromkeys(("status", "body", "content-type"), "Apache answers 304 in the place of the script")

ON_CGIT = [
    Ask(CGIT),
    Ask(f"{CGIT}/"),
    Ask(f"{CGIT}/", "HEAD"),
    Ask(f"{CGIT}/shop/"),
    Ask(f"{CGIT}/shop/log/"),
    Ask(f"{CGIT}/shop/log/?h=other"),
    Ask(f"{CGIT}/shop/log/?qt=grep&q=logo"),
    Ask(f"{CGIT}/shop/tree/"),
    Ask(f"{CGIT}/shop/tree/src"),
    Ask(f"{CGIT}/shop/tree/README"),
    Ask(f"{CGIT}/shop/plain/README"),
    Ask(f"{CGIT}/shop/plain/README", fields=(("If-None-Match", "*"),), differ=UNCHANGED),
    Ask(f"{CGIT}/shop/plain/src/logo.bin"),
    Ask(f"{CGIT}/shop/commit/"),
    Ask(f"{CGIT}/shop/diff/?id=v1~1"),
    Ask(f"{CGIT}/shop/patch/"),
    Ask(f"{CGIT}/shop/refs/"),
    Ask(f"{CGIT}/shop/tag/?h=v1"),
    Ask(f"{CGIT}/shop/snapshot/shop-v1.tar.gz"),
    Ask(f"{CGIT}/shop/atom/"),
    Ask(f"{CGIT}/shop/info/refs"),
    Ask(f"{CGIT}?url=shop/log/"),
    Ask(f"{CGIT}/none/"),
    Ask(f"{CGIT}/shop/none/"),
    Ask(f"{CGIT}/shop/tree/none"),
    Ask(f"{CGIT}/shop/snapshot/none.zip"),
]


def test_cgit(serve: Servers, folder: Path, port: int) -> None:
    """Pages of cgit, a program in C, about the repository of gitweb are like Apache's."""
    settings, footer = folder / "cgitrc", folder / "footer.html"
    # The default footer of cgit says the time.
    footer.write_text("<p>The end\n", encoding="utf-8")
    lines = ["css=/static/cgit.css", f"footer={footer}", "snapshots=tar.gz", "repo.url=shop"]
    lines += [f"repo.path={repository(folder)}/shop.git", "repo.desc=All of the shop"]
    settings.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    programs = Programs(folder, {"/cgit/": Path("/usr/lib/cgit")}, {"CGIT_CONFIG": str(settings)})
    beside(serve, port, programs, ON_CGIT)


AWSTATS = "/awstats/awstats.pl?config=shop&year=2020&month=05&configdir="

STATISTICS = """
LogFile="{folder}/access.log"
LogFormat=1
SiteDomain="shop.example"
HostAliases="localhost"
DirData="{folder}/statistics"
DNSLookup=0
Lang="en"
DirLang="/usr/share/awstats/lang"
AllowToUpdateStatsFromBrowser=0
"""


def awstats(folder: Path) -> None:
    """Write a log, and have awstats read it."""
    (folder / "statistics").mkdir()
    (folder / "awstats.shop.conf").write_text(STATISTICS.format(folder=folder), encoding="utf-8")
    lines = []
    for number, (path, status) in enumerate([("/", 200), ("/page.html", 200), ("/none", 404)] * 40):
        time = f"{1 + number % 28:02}/May/2020:10:{number % 60:02}:00 +0000"
        answer = f'"GET {path} HTTP/1.1" {status} {number * 100}'
        client = f'"http://{number % 3}.example/" "Mozilla/5.0 (X11; Linux x86_64) Firefox/76.0"'
        lines.append(f"192.0.2.{number % 7} - - [{time}] {answer} {client}\n")
    lines.sort(key=lambda line: line.split("[")[1])
    (folder / "access.log").write_text("".join(lines), encoding="utf-8")
    command = ["/usr/lib/cgi-bin/awstats.pl", "-config=shop", f"-configdir={folder}", "-update"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert 0 == made.returncode, made.stdout + made.stderr
    assert "Found 120 new qualified records" in made.stdout, made.stdout


def test_awstats(serve: Servers, folder: Path, port: int) -> None:
    """The pages of awstats about a log are like Apache's."""
    awstats(folder)
    pages = [
        "&framename=mainright",
        "&framename=mainleft",
        "",
        "&output=allhosts",
        "&output=urldetail",
        "&output=errors404",
    ]
    asks = [Ask(f"{AWSTATS}{folder}{page}") for page in pages]
    asks += [
        Ask(f"{AWSTATS}{folder}&framename=mainright", "HEAD"),
        Ask("/awstats/awstats.pl?config=none"),
        Ask(f"{AWSTATS}/nowhere"),
        posted("/awstats/awstats.pl", f"config=shop&year=2020&month=05&output=allhosts&configdir={folder}"),
    ]
    paths = {"/awstats/": Path("/usr/lib/cgi-bin")}
    beside(serve, port, Programs(folder, paths, {"AWSTATS_ENABLE_CONFIG_DIR": str(folder)}), asks)
