"""CPU time of a CGI request: Adyton beside Apache's mod_cgid (event), hello in C, Python and Perl.

`cgi.py --adyton ADYTON [--requests N] [--rounds N]` prints a table. It needs Debian's `apache2`, a compiler
for C, and root on a machine with the `cpuacct` controller of control groups: only that counts all that a
server starts, also what nobody waits for. The servers take turns, so that what else the machine does meets
both. The CPU time is that of a request, whatever the rate is, and its reciprocal the requests that one CPU
answers in a second.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import statistics
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from measuring import Server, ask, await_start, httpd, serving

CLIENTS = 4
PORTS = {"adyton": 18471, "apache": 18472}

C = r"""
#include <stdio.h>
int main(void) { printf("Content-Type: text/plain\n\nHello, world!\n"); return 0; }
"""
SCRIPTS = {
    "hello.py": "#!{python3} -IS\nprint('Content-Type: text/plain\\n\\nHello, world!')\n",
    "hello.pl": '#!{perl}\nprint "Content-Type: text/plain\\n\\nHello, world!\\n";\n',
}
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
ScriptSock {folder}/cgisock
LoadModule alias_module {modules}/mod_alias.so
LoadModule cgid_module {modules}/mod_cgid.so
ScriptAlias /cgi-bin/ {folder}/cgi-bin/
<Directory {folder}/cgi-bin>
    Require all granted
</Directory>
"""


def write(folder: Path) -> list[str]:
    """Write the scripts; return their names."""
    scripts = folder / "cgi-bin"
    scripts.mkdir()
    source = folder / "hello.c"
    source.write_text(C, encoding="ascii")
    subprocess.run(["cc", "-O2", "-o", scripts / "hello", source], check=True)
    programs = {name: shutil.which(name, path=SYSTEM) for name in ("python3", "perl")}
    for name, text in SCRIPTS.items():
        (scripts / name).write_text(text.format(**programs), encoding="ascii")
        (scripts / name).chmod(0o755)
    (folder / "site.toml").write_text(SITE.format(port=PORTS["adyton"]), encoding="ascii")
    for path in (folder, scripts):
        path.chmod(0o755)
    return ["hello", *SCRIPTS]


def measure(server: Server, script: str, count: int) -> tuple[float, float]:
    """Return the CPU time of a request in ms, and how many came in a second."""
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
    return (server.cpu_us() - before) / 1e3 / asked, asked / took


def main() -> None:
    """Measure all scripts, in turns."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adyton", default="adyton")
    parser.add_argument("--requests", type=int, default=800)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        scripts = write(folder)
        commands: dict[str, list[str | Path]] = {
            "adyton": [arguments.adyton, "serve", folder / "site.toml"],
            "apache": httpd(folder, PORTS["apache"], HTTPD),
        }
        servers = [
            stack.enter_context(serving(name, PORTS[name], command)) for name, command in commands.items()
        ]
        places = dict(zip(commands, servers, strict=True))
        for port in PORTS.values():
            await_start(port, "/cgi-bin/hello", BODY)
        print("| script | server | ms CPU per request | requests/s per core | requests/s |")
        print("| --- | --- | --- | --- | --- |")
        for script in scripts:
            found: dict[str, list[tuple[float, float]]] = {name: [] for name in places}
            for _ in range(arguments.rounds):
                for name, place in places.items():
                    found[name].append(measure(place, script, arguments.requests))
            for name, rounds in found.items():
                cpu = statistics.median(ms for ms, _ in rounds)
                rate = statistics.median(rate for _, rate in rounds)
                print(f"| {script} | {name} | {cpu:.3f} | {1000 / cpu:.0f} | {rate:.0f} |", flush=True)


if __name__ == "__main__":
    main()
