"""Cost of layers around a request: many sites, folders with settings, compression, a cache; beside peers.

`around.py --adyton ADYTON [--seconds N] [--rounds N] [PART...]` prints a table. It needs root, and Debian's
apache2, libapache2-mod-wsgi-py3 and nginx. Servers run on CPU 0, load on CPU 1, in turns: each round measures
every row of a part, and ratios are to the first row in the same round. The CPU time is that of all
processes of a server.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from measuring import HTTPD_ONE_PROCESS, START_S, Server, await_start, bench, beside, httpd, serving

if TYPE_CHECKING:
    from collections.abc import Iterator

BODY = b"Hello, world!\n"
FOLDERS = {
    "silent": ("", "", ""),
    "page": (".adyton.toml", 'error-pages = { 404 = "small.txt" }\n', 'may-set = ["errors"]'),
    "field": (".adyton.toml", 'headers = { X-Deep = "1" }\n', 'may-set = ["headers"]'),
    "apache": (".htaccess", "Require all granted\n", 'htaccess = ["allow"]'),
}
"""Settings of three folders: the file in each of them, its text, and the key of the route that allows it."""
BELOW = "a/b/c"
PORTS = {"line": 18501, "many": 18502, "hosts": 18503, "sites": 18504, "apache": 18505, "nginx": 18506}

APPLICATION = f"""
def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "{len(BODY)}")])
    return [{BODY!r}]
"""
PAGE = """
from pathlib import Path

PAGE = Path(__file__).with_name("page.txt").read_bytes()


def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(PAGE)))])
    return [PAGE]
"""
SERVER = """
[server]
bind = ["127.0.0.1:{port}"]
processes = 1
threads = 1
hand-over = "never"
"""
SITES = """
[[sites]]
{folders}
[[sites.routes]]
path = "/plain/"
files = "text"
[[sites.routes]]
path = "/gzip/"
files = "text"
compress = ["gzip"]
[[sites.routes]]
path = "/br/"
files = "text"
compress = ["br"]
[[sites.routes]]
path = "/anew/"
app = "text/page.py"
compress = ["gzip"]
[[sites.routes]]
path = "/cached/"
app = "text/page.py"
cache = "1h"
"""
FOLDER = """
[[sites.routes]]
path = "/{name}/"
files = "{name}"
scripts = "{name}"
try = ["files", "scripts"]
{may}
"""
HTTPD = f"""
LoadModule mime_module {{modules}}/mod_mime.so
LoadModule wsgi_module {{modules}}/mod_wsgi.so
TypesConfig /etc/mime.types
{HTTPD_ONE_PROCESS}
DocumentRoot {{folder}}
AddHandler wsgi-script .py
<Directory {{folder}}>
    Options +ExecCGI
    AllowOverride None
    Require all granted
</Directory>
<Directory {{folder}}/apache>
    AllowOverride All
</Directory>
"""
NGINX = """
user www-data;
daemon off;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{ worker_connections 1024; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000000;
    open_file_cache max=100;
    types {{ text/plain txt; }}
    gzip_types text/plain;
    gzip_min_length 1;
    gzip_comp_level {level};
    server {{
        listen 127.0.0.1:{port};
        root {folder}/text;
        location /gzip/ {{ gzip on; alias {folder}/text/; }}
    }}
}}
"""
GZIP_LEVEL = 6
"""Compression level of nginx; the table has the compressed length, so that this can be compared."""


@dataclass(frozen=True)
class Row:
    """A request, and the server that is asked."""

    name: str
    server: str
    path: str
    fields: tuple[str, ...] = ()


GZIP, BR = ("Accept-Encoding: gzip",), ("Accept-Encoding: br",)


def folder_rows(file: str) -> list[Row]:
    """Return the rows of a file below three folders."""
    told = {
        "silent": "nothing said",
        "page": "a page for 404 in three",
        "field": "a field in three",
        "apache": ".htaccess in three",
    }
    of_adyton = [Row(f"Adyton, {told[name]}", "sites", f"/{name}/{BELOW}/{file}") for name in FOLDERS]
    of_apache = {"silent": "AllowOverride None", "apache": "AllowOverride All, .htaccess in three"}
    return of_adyton + [
        Row(f"Apache, {words}", "apache", f"/{name}/{BELOW}/{file}") for name, words in of_apache.items()
    ]


PARTS = {
    "hello WSGI": [
        Row("command line", "line", "/"),
        Row("file of 50 sites x 20 routes", "many", "/", ("Host: site49.example",)),
        Row("10,000 exact host names", "hosts", "/", ("Host: site9999.example",)),
    ],
    "file of 13 bytes below three folders": folder_rows("small.txt"),
    "WSGI script below three folders": folder_rows("hello.py"),
    "text of 7 KiB": [
        Row("nginx, gzip", "nginx", "/gzip/page.txt", GZIP),
        Row("Adyton, gzip", "sites", "/gzip/page.txt", GZIP),
        Row("Adyton, br", "sites", "/br/page.txt", BR),
        Row("Adyton, gzip of an application's page, anew for each", "sites", "/anew/", GZIP),
    ],
    "page of 7 KiB": [
        Row("file", "sites", "/plain/page.txt"),
        Row("application, cached", "sites", "/cached/"),
        Row("nginx, file", "nginx", "/page.txt"),
    ],
}


def write(folder: Path) -> None:
    """Write the files that are served, and the configurations."""
    page = folder / "text"
    page.mkdir()
    # Text that compresses as real text does: this file, and one beside it.
    text = b"".join(Path(__file__).with_name(name).read_bytes() for name in ("around.py", "groups.py"))
    (page / "page.txt").write_bytes(text[: 7 * 1024])
    (page / "page.py").write_text(PAGE, encoding="ascii")
    (folder / "hello.py").write_text(APPLICATION, encoding="ascii")
    for name, (own, said, _) in FOLDERS.items():
        inner = folder / name / BELOW
        inner.mkdir(parents=True)
        (inner / "hello.py").write_text(APPLICATION, encoding="ascii")
        for place in (inner, *inner.parents[:2]):
            (place / "small.txt").write_bytes(b"Hello static!")
            if own:
                (place / own).write_text(said, encoding="ascii")
    for place in (folder, *(path for path in folder.rglob("*") if path.is_dir())):
        place.chmod(0o755)
    nginx = NGINX.format(folder=folder, port=PORTS["nginx"], level=GZIP_LEVEL)
    (folder / "nginx.conf").write_text(nginx, encoding="ascii")
    folders = "".join(FOLDER.format(name=name, may=may) for name, (_, _, may) in FOLDERS.items())
    sites = SERVER.format(port=PORTS["sites"]) + SITES.format(folders=folders)
    (folder / "sites.toml").write_text(sites, encoding="ascii")
    (folder / "many.toml").write_text(many(PORTS["many"], 50, 20), encoding="ascii")
    (folder / "hosts.toml").write_text(many(PORTS["hosts"], 10_000, 1), encoding="ascii")


def many(port: int, sites: int, routes: int) -> str:
    """Return a file of so many sites, each with the application and other routes."""
    text = SERVER.format(port=port)
    for site in range(sites):
        text += f"[[sites]]\nhosts = ['site{site}.example']\n[[sites.routes]]\napp = 'hello.py'\n"
        text += "".join(
            f"[[sites.routes]]\npath = '/part{route}/of/it/'\nrespond = 404\n" for route in range(1, routes)
        )
    return text


def commands(adyton: str, folder: Path) -> Iterator[tuple[str, list[str | Path]]]:
    """Return the command of each server."""
    line = [adyton, "serve", folder / "hello.py", "--bind", f"127.0.0.1:{PORTS['line']}"]
    yield "line", [*line, "--processes=1", "--threads=1", "--hand-over=never"]
    for name in ("many", "hosts", "sites"):
        yield name, [adyton, "serve", folder / f"{name}.toml"]
    yield "apache", httpd(folder, PORTS["apache"], HTTPD)
    yield "nginx", ["/usr/sbin/nginx", "-c", folder / "nginx.conf"]


def length(row: Row) -> int:
    """Return how many bytes the body of a row's answer has, as it is sent."""
    connection = http.client.HTTPConnection("127.0.0.1", PORTS[row.server], timeout=START_S)
    fields = dict(field.split(": ", 1) for field in row.fields)
    connection.request("GET", row.path, headers=fields)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    wanted = fields.get("Accept-Encoding")
    if response.status != http.HTTPStatus.OK or response.headers["Content-Encoding"] != wanted:
        message = f"{row.name}: {row.path} was answered wrongly, with {response.status}"
        raise RuntimeError(message)
    return len(body)


def measure(part: str, servers: dict[str, Server], arguments: argparse.Namespace) -> None:
    """Print the rows of a part."""
    rows = PARTS[part]
    found: dict[str, list[tuple[float, int]]] = {row.name: [] for row in rows}
    lengths = {row.name: length(row) for row in rows}
    for _ in range(arguments.rounds):
        for row in rows:
            options = [word for field in row.fields for word in ("-H", field)]
            options += ["-c", "64", "-d", f"{arguments.seconds}s", "--warm-up", "1s"]
            found[row.name].append(bench(arguments.adyton, servers[row.server], row.path, *options))
    base = found[rows[0].name]
    for name, rounds in found.items():
        print(f"| {part} | {name} | {lengths[name]} | {beside(rounds, base)} |", flush=True)


def main() -> None:
    """Measure the parts that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--adyton", required=True)
    parser.add_argument("--seconds", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all by default")
    arguments = parser.parse_args()
    if strange := [part for part in arguments.parts if part not in PARTS]:
        parser.error(f"there is no part {strange[0]}; parts are {', '.join(PARTS)}")
    arguments.adyton = str(Path(arguments.adyton).absolute())
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        write(folder)
        servers = {
            name: stack.enter_context(serving(f"around-{name}", PORTS[name], command, 0))
            for name, command in commands(arguments.adyton, folder)
        }
        for name in ("line", "many", "hosts"):
            await_start(PORTS[name], "/", BODY)
        for name in ("sites", "apache"):
            await_start(PORTS[name], f"/silent/{BELOW}/small.txt", b"Hello static!")
        await_start(PORTS["nginx"], "/page.txt", (folder / "text/page.txt").read_bytes())
        print("| case | server | bytes of body | us CPU per request | x first row (min..max) | not right |")
        print("| --- | --- | --- | --- | --- | --- |")
        for part in arguments.parts or PARTS:
            measure(part, servers, arguments)


if __name__ == "__main__":
    main()
