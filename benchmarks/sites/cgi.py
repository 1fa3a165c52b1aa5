"""CPU time of CGI requests, hello in C, Perl and Python: Adyton beside Apache and nginx, and the bare start.

`cgi.py --adyton ADYTON [-o FILE.md] [--requests N] [--rounds N] [SCRIPT...]` prints tables. It needs
Debian's apache2, nginx and fcgiwrap, a compiler for C, and root on a machine with the `cpuacct` controller of
control groups: only that counts all processes that a server starts, also those that nobody waits for. Servers
run on CPU 0, load on CPU 1. The servers take turns in each round, so that other work of the machine affects
all alike. CPU time is per request, whatever the rate is; its reciprocal is the number of requests
that one CPU answers in a second.

The bare start of a program is the cost of posix_spawn(3) and of the program itself, in a loop in C, with the
output to /dev/null: no server can cost less.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from measuring import Page, Server, ask, await_start, httpd, parser_of, serving, spread

if TYPE_CHECKING:
    from collections.abc import Iterator

CLIENTS = 4
PORTS = {"Adyton": 18471, "Apache, mod_cgid": 18472, "Apache, mod_cgi": 18473, "nginx, fcgiwrap": 18474}
OURS = "Adyton"
STARTS = 400
"""Starts of a program in a loop of each round."""

C = r"""
#include <stdio.h>
int main(void) { printf("Content-Type: text/plain\n\nHello, world!\n"); return 0; }
"""
SPAWN = r"""
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int count = argc == 3 ? atoi(argv[1]) : -1;
    char *arguments[] = {argv[2], NULL};
    char *environment[] = {"PATH=/usr/bin:/bin", "GATEWAY_INTERFACE=CGI/1.1", NULL};
    posix_spawn_file_actions_t actions;
    if (count < 0 || posix_spawn_file_actions_init(&actions)) return 1;
    if (posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)) return 1;
    while (count--) {
        pid_t pid;
        int status;
        if (posix_spawn(&pid, argv[2], &actions, NULL, arguments, environment)) return 1;
        if (waitpid(pid, &status, 0) != pid || status) return 1;
    }
    return 0;
}
"""
SCRIPTS = {
    "hello.pl": '#!{perl}\nprint "Content-Type: text/plain\\n\\nHello, world!\\n";\n',
    "hello.py": "#!{python3} -IS\nprint('Content-Type: text/plain\\n\\nHello, world!')\n",
}
MUSTS = {"hello": 1.5, "hello.pl": 1.2, "hello.py": 1.2}
"""How many times as many requests as each other server Adyton must answer with the same CPU time, by script;
`hello` is the script in C."""
SYSTEM = "/usr/bin:/bin"
"""Programs that any user may run."""

BODY = b"Hello, world!\n"

SITE = """
[server]
bind = ["127.0.0.1:{port}"]
processes = 1
[[sites]]
[[sites.routes]]
path = "/cgi-bin/"
cgi = "cgi-bin"
"""

HTTPD = """
LoadModule alias_module {modules}/mod_alias.so
ScriptAlias /cgi-bin/ {folder}/cgi-bin/
<Directory {folder}/cgi-bin>
    Require all granted
</Directory>
"""
CGID = """
ScriptSock {folder}/cgisock
LoadModule cgid_module {modules}/mod_cgid.so
"""
CGI = f"""
LoadModule cgi_module {{modules}}/mod_cgi.so
StartServers {CLIENTS}
MinSpareServers {CLIENTS}
"""
NGINX = """
user root;
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/nginx.log;
events {{ }}
http {{
    access_log off;
    keepalive_requests 1000000000;
    server {{
        listen 127.0.0.1:{port};
        root {folder};
        location /cgi-bin/ {{
            include /etc/nginx/fastcgi_params;
            fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
            fastcgi_pass unix:{folder}/fcgiwrap;
        }}
    }}
}}
"""
BOTH = """
trap 'trap - TERM; kill 0' TERM
fcgiwrap -c {clients} -s unix:{folder}/fcgiwrap &
nginx -c {file} -g 'daemon off;' &
wait
"""
"""Two programs that end together."""


@dataclass(frozen=True)
class Shot:
    """Cost of requests for a script in one round."""

    cpu_ms: float
    """CPU time of a request."""
    rate: float
    """Requests a second."""

    @property
    def per_cpu_s(self) -> float:
        """Requests for which a second of CPU time is enough."""
        return 1000 / self.cpu_ms


def write(folder: Path) -> None:
    """Write the scripts, and the program that starts them."""
    scripts = folder / "cgi-bin"
    scripts.mkdir()
    for program, text in {scripts / "hello": C, folder / "spawn": SPAWN}.items():
        source = folder / f"{program.name}.c"
        source.write_text(text, encoding="ascii")
        subprocess.run(["cc", "-O2", "-o", program, source], check=True)
    programs = {name: shutil.which(name, path=SYSTEM) for name in ("python3", "perl")}
    for name, text in SCRIPTS.items():
        (scripts / name).write_text(text.format(**programs), encoding="ascii")
        (scripts / name).chmod(0o755)
    (folder / "site.toml").write_text(SITE.format(port=PORTS[OURS]), encoding="ascii")
    for path in (folder, scripts):
        path.chmod(0o755)


def commands(adyton: str, folder: Path) -> Iterator[tuple[str, list[str | Path]]]:
    """Return the command of each server."""
    yield OURS, [adyton, "serve", folder / "site.toml"]
    yield "Apache, mod_cgid", httpd(folder, PORTS["Apache, mod_cgid"], HTTPD + CGID)
    yield "Apache, mod_cgi", httpd(folder, PORTS["Apache, mod_cgi"], HTTPD + CGI, mpm="prefork")
    file = folder / "nginx.conf"
    file.write_text(NGINX.format(folder=folder, port=PORTS["nginx, fcgiwrap"]), encoding="ascii")
    yield "nginx, fcgiwrap", ["/bin/sh", "-c", BOTH.format(clients=CLIENTS, folder=folder, file=file)]


def measure(server: Server, script: str, count: int) -> Shot:
    """Ask for a script over some connections, and check every answer."""
    before, since = server.cpu_us(), time.monotonic()
    with ThreadPoolExecutor(CLIENTS) as pool:
        asked_all = [
            pool.submit(ask, server.port, f"/cgi-bin/{script}", BODY, count // CLIENTS)
            for _ in range(CLIENTS)
        ]
        for each in asked_all:
            each.result()
    took = time.monotonic() - since
    asked = count // CLIENTS * CLIENTS
    return Shot((server.cpu_us() - before) / 1e3 / asked, asked / took)


def bare_ms(folder: Path, script: str) -> float:
    """Return the CPU time of a start of a program in a loop, without the CPU time of the loop's own start."""
    spent = []
    for count in (0, STARTS):
        command: list[str | Path] = [folder / "spawn", str(count), folder / "cgi-bin" / script]
        with serving("spawn", 0, command, 0) as loop:
            if loop.process.wait():
                message = f"{script} could not be started, or has failed"
                raise RuntimeError(message)
            spent.append(loop.cpu_us())
    return (spent[1] - spent[0]) / 1e3 / STARTS


Shots = dict[str, dict[str, list[Shot]]]
"""Shots of all rounds, by script and server."""


def tell_costs(page: Page, shots: Shots, bare: dict[str, list[float]]) -> None:
    """Print the cost of requests, and the part of it that is the start of the script itself."""
    page.head(
        "script",
        "server",
        "requests per CPU s",
        "ms CPU per request",
        "of which its own start",
        "the server",
        "requests/s",
    )
    for script, by_server in shots.items():
        start = statistics.median(bare[script])
        page.row(
            script,
            "none: its bare start",
            f"{1000 / start:,.0f}",
            spread(bare[script], ".3f"),
            f"{start:.3f}",
            "",
            "",
        )
        for name, rounds in by_server.items():
            cost = statistics.median(shot.cpu_ms for shot in rounds)
            page.row(
                script,
                name,
                spread([shot.per_cpu_s for shot in rounds], ",.0f"),
                spread([shot.cpu_ms for shot in rounds], ".3f"),
                f"{start:.3f}",
                f"{cost - start:.3f}",
                f"{statistics.median(shot.rate for shot in rounds):,.0f}",
            )


def tell_musts(page: Page, shots: Shots, bare: dict[str, list[float]]) -> bool:
    """Print how many times as many requests Adyton answers; return whether all ratios are as they must be."""
    page.say("", "No server can be better than `at most`: the CPU time of theirs by that of the bare start.")
    page.head("script", "beside", "Adyton's requests per CPU s, x theirs", "at most", "must be", "is it")
    kept = True
    for script, by_server in shots.items():
        for name, rounds in by_server.items():
            if name == OURS:
                continue
            pairs = zip(by_server[OURS], rounds, strict=True)
            ratios = [ours.per_cpu_s / theirs.per_cpu_s for ours, theirs in pairs]
            at_most = statistics.median(shot.cpu_ms for shot in rounds) / statistics.median(bare[script])
            is_enough = statistics.median(ratios) >= MUSTS[script]
            kept = kept and is_enough
            told = (spread(ratios, ".2f"), f"{at_most:.2f}", f">= {MUSTS[script]}")
            page.row(script, name, *told, "yes" if is_enough else "NO")
    return kept


def main() -> int:
    """Measure the scripts that are named, or all; return 1 if something is not as it must be."""
    parser = parser_of(__doc__)
    parser.add_argument("--requests", type=int, default=800)
    parser.add_argument("scripts", nargs="*", metavar="SCRIPT", help=f"of {', '.join(MUSTS)}; all by default")
    arguments = parser.parse_args()
    if strange := [script for script in arguments.scripts if script not in MUSTS]:
        parser.error(f"there is no script {strange[0]}; scripts are {', '.join(MUSTS)}")
    scripts = arguments.scripts or list(MUSTS)
    page = Page("CGI requests", arguments.adyton)
    page.say(f"- {arguments.rounds} rounds, each {arguments.requests} requests over {CLIENTS} connections")
    page.say(
        "- figures are the median of the rounds (the least..the most); CPU time is that of all processes"
    )
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        write(folder)
        servers = {
            name: stack.enter_context(serving(f"cgi-{PORTS[name]}", PORTS[name], command, 0))
            for name, command in commands(arguments.adyton, folder)
        }
        for port in PORTS.values():
            await_start(port, "/cgi-bin/hello", BODY)
        os.sched_setaffinity(0, {1})
        shots: Shots = {script: {name: [] for name in servers} for script in scripts}
        bare: dict[str, list[float]] = {script: [] for script in scripts}
        for _ in range(arguments.rounds):
            for script in scripts:
                bare[script].append(bare_ms(folder, script))
                for name, server in servers.items():
                    shots[script][name].append(measure(server, script, arguments.requests))
        tell_costs(page, shots, bare)
        kept = tell_musts(page, shots, bare)
    page.write(arguments.output)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
