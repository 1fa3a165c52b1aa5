"""Starts Apache with mod_wsgi's daemon: `run_apache.py PORT FOLDER APPLICATION --threads N --workers N`.

FOLDER is that of the run, with `files` in it; Apache's own folder is made there. Apache serves nobody as
root, so root gives its rights up first, but for that of reading: Python may lie where only root may look.
"""

from __future__ import annotations

import argparse
import os
import pwd
import re
import subprocess
import sys
from importlib import util
from pathlib import Path

PEERS = Path(__file__).resolve().parent
NOBODY = "nobody"


def main() -> None:
    """Writes the configuration, and becomes Apache."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("folder", type=Path)
    parser.add_argument("application")
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--workers", type=int, required=True)
    args = parser.parse_args()
    folder = args.folder / f"apache-{args.port}"
    folder.mkdir()
    words = {
        "FOLDER": folder,
        "MODULES": said(["apxs", "-q", "LIBEXECDIR"]),
        "MOD_WSGI": module(),
        "PYTHON_HOME": sys.prefix,
        "APPS": PEERS.parent / "apps",
        "FILES": args.folder / "files",
        "PORT": args.port,
        "APPLICATION": args.application,
        "THREADS": args.threads,
        "WORKERS": args.workers,
    }
    text = (PEERS / "apache.conf").read_text("utf-8")
    configuration = folder / "apache.conf"
    configuration.write_text(re.sub(r"(?<!%)\{(\w+)\}", lambda word: str(words[word[1]]), text), "utf-8")
    command = ["apache2", "-f", str(configuration), "-D", "FOREGROUND"]
    if not os.geteuid():
        user = pwd.getpwnam(NOBODY)
        for mine in (folder, sys.stderr.fileno()):  # It opens its standard error by name.
            os.chown(mine, user.pw_uid, user.pw_gid)
        rights = ["--inh-caps", "+dac_read_search", "--ambient-caps", "+dac_read_search"]
        ids = ["--reuid", str(user.pw_uid), "--regid", str(user.pw_gid), "--clear-groups"]
        command = ["setpriv", *ids, *rights, *command]
    os.execvp(command[0], command)  # noqa: S606 -- whoever started this has the process that serves


def module() -> str:
    """Returns the module that the Python package mod_wsgi has built."""
    spec = util.find_spec("mod_wsgi.server")
    if not spec or not spec.origin:
        sys.exit("mod_wsgi is not installed")
    return str(next(Path(spec.origin).parent.glob("mod_wsgi*.so")))


def said(command: list[str]) -> str:
    """Returns what a program prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
