"""Pages beside a hundred CGI scripts that sleep: how long 99 of 100 take, in Adyton and in Apache.

`cgi_beside.py --adyton ADYTON [-o FILE.md] [--seconds N] [--rounds N]` prints a table. It needs Debian's
apache2 and libapache2-mod-wsgi-py3, a compiler for C, and root. Servers run on CPU 0 with their scripts, load
on CPU 1. 100 connections request a script that sleeps for a second, each again when it has its answer: so 100
scripts sleep all the time. Meanwhile requests for pages of 14 bytes from WSGI come at independent times; the
time of a page counts from when its request was due.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measuring import Page, Server, await_start, httpd, serving, spread

SCRIPTS = 100
"""Scripts at once."""
SLEEP_S = 1
PAGES_PER_S = 200
P99_MAX_MS = 5.0
PORTS = {"Adyton": 18475, "Apache": 18476}
OURS = "Adyton"

BODY = b"Hello, world!\n"
APPLICATION = f"""
def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "{len(BODY)}")])
    return [{BODY!r}]
"""
SLEEPER = f"""
#include <stdio.h>
#include <unistd.h>

int main(void) {{
    sleep({SLEEP_S});
    printf("Content-Type: text/plain\\n\\nHello, world!\\n");
    return 0;
}}
"""
SITE = f"""
[server]
bind = ["127.0.0.1:{{port}}"]
processes = 1
cgi-processes = {2 * SCRIPTS}
[[sites]]
[[sites.routes]]
path = "/cgi-bin/"
cgi = "cgi-bin"
[[sites.routes]]
app = "hello.py"
"""
HTTPD = f"""
ScriptSock {{folder}}/cgisock
LoadModule alias_module {{modules}}/mod_alias.so
LoadModule cgid_module {{modules}}/mod_cgid.so
LoadModule wsgi_module {{modules}}/mod_wsgi.so
StartServers 1
ServerLimit 1
ThreadLimit {4 * SCRIPTS}
ThreadsPerChild {4 * SCRIPTS}
MaxRequestWorkers {4 * SCRIPTS}
ScriptAlias /cgi-bin/ {{folder}}/cgi-bin/
WSGIScriptAlias / {{folder}}/hello.py
<Directory {{folder}}>
    Require all granted
</Directory>
"""
"""Each script holds a thread of Apache while it sleeps: there are more threads than scripts."""
ACCEPTED = [word for gate in ("foreign-load", "steal") for word in ("--accept", gate)]


@dataclass(frozen=True)
class Shot:
    """Pages in one round."""

    p50_ms: float
    p99_ms: float
    wrong: int
    scripts_per_s: float
    """Answers of scripts meanwhile."""
    scripts_wrong: int


def write(folder: Path) -> None:
    """Write what is served."""
    scripts = folder / "cgi-bin"
    scripts.mkdir()
    source = folder / "sleeper.c"
    source.write_text(SLEEPER, encoding="ascii")
    subprocess.run(["cc", "-O2", "-o", scripts / "sleeper", source], check=True)
    (folder / "hello.py").write_text(APPLICATION, encoding="ascii")
    (folder / "site.toml").write_text(SITE.format(port=PORTS[OURS]), encoding="ascii")
    for path in (folder, scripts):
        path.chmod(0o755)


def begun(adyton: str, server: Server, path: str, *options: str) -> subprocess.Popen[str]:
    """Begin to put load on a server."""
    url = f"http://127.0.0.1:{server.port}{path}"
    command = ["taskset", "-c", "1", adyton, "bench", url, "--json", *ACCEPTED, *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(load: subprocess.Popen[str]) -> dict[str, Any]:
    """Wait for the end of a load; return its report."""
    told, said = load.communicate()
    try:
        report: dict[str, Any] = json.loads(told)
    except ValueError:
        raise RuntimeError(said) from None
    return report


def wrong(report: dict[str, Any]) -> int:
    """Return how many requests had no right answer, or were never sent."""
    counts = report["counts"]
    return int(counts["sent"] - counts["right"] - counts["in_flight"] + report["never_sent"])


def measure(server: Server, arguments: argparse.Namespace, *, beside: bool) -> Shot:
    """Ask for pages, beside scripts or alone."""
    adyton, scripts = arguments.adyton, None
    if beside:
        # The load of scripts begins before the load of pages and ends after it.
        lasting = ("-c", str(SCRIPTS), "-d", f"{arguments.seconds + 3 * SLEEP_S}s", "--timeout", "20s")
        scripts = begun(adyton, server, "/cgi-bin/sleeper", *lasting)
        await_sleepers(server)
    options = ("-c", "64", "--rate", str(PAGES_PER_S), "--arrivals", "poisson", "--warm-up", "500ms")
    pages = ended(begun(adyton, server, "/", *options, "-d", f"{arguments.seconds}s"))
    slept = ended(scripts) if scripts else None
    times = pages["response"]
    return Shot(
        times["p50_us"] / 1000,
        times["p99_us"] / 1000,
        wrong(pages),
        slept["rate"] if slept else 0.0,
        wrong(slept) if slept else 0,
    )


def await_sleepers(server: Server) -> None:
    """Wait until all scripts sleep."""
    deadline = time.monotonic() + 20
    while sleepers(server) < SCRIPTS:
        if time.monotonic() > deadline:
            message = f"{sleepers(server)} scripts sleep at once, and not {SCRIPTS}"
            raise RuntimeError(message)
        time.sleep(0.01)


def sleepers(server: Server) -> int:
    """Return how many scripts of a server run."""
    found = 0
    for pid in server.pids():
        with contextlib.suppress(OSError):
            found += Path(f"/proc/{pid}/comm").read_text(encoding="utf-8") == "sleeper\n"
    return found


def main() -> int:
    """Measure both servers in turns; return 1 if Adyton's pages take too long."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--adyton", default="adyton", help="its program")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE.md", help="write the table to a file, too")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    page = Page(f"Pages beside {SCRIPTS} CGI scripts", arguments.adyton)
    page.say(f"- {arguments.rounds} rounds of {arguments.seconds} s, {PAGES_PER_S} pages a second")
    page.say("- figures are the median of the rounds (the least..the most)")
    found: dict[tuple[str, bool], list[Shot]] = {
        (name, beside): [] for name in PORTS for beside in (False, True)
    }
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        write(folder)
        commands: dict[str, list[str | Path]] = {
            OURS: [arguments.adyton, "serve", folder / "site.toml"],
            "Apache": httpd(folder, PORTS["Apache"], HTTPD),
        }
        servers = {
            name: stack.enter_context(serving(f"beside-{PORTS[name]}", PORTS[name], command, 0))
            for name, command in commands.items()
        }
        for port in PORTS.values():
            await_start(port, "/", BODY)
            await_start(port, "/cgi-bin/sleeper", BODY)
        for _ in range(arguments.rounds):
            for (name, beside), shots in found.items():
                shots.append(measure(servers[name], arguments, beside=beside))
    page.head("server", "pages", "wrong", "p50 ms", "p99 ms", "scripts/s", "wrong scripts")
    for (name, beside), shots in found.items():
        page.row(
            name,
            f"beside {SCRIPTS} scripts" if beside else "alone",
            sum(shot.wrong for shot in shots),
            spread([shot.p50_ms for shot in shots], ".2f"),
            spread([shot.p99_ms for shot in shots], ".2f"),
            spread([shot.scripts_per_s for shot in shots], ".0f") if beside else "",
            sum(shot.scripts_wrong for shot in shots) if beside else "",
        )
    ours = found[OURS, True]
    p99_ms = sorted(shot.p99_ms for shot in ours)[len(ours) // 2]
    kept = p99_ms < P99_MAX_MS and not any(shot.wrong or shot.scripts_wrong for shot in ours)
    page.say("")
    page.must(
        f"99 of 100 of Adyton's pages beside scripts take < {P99_MAX_MS:g} ms, and none is wrong", kept=kept
    )
    page.write(arguments.output)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
