"""Installs Debian packages (as root), interpreters and the server for the tests.

Python's packages are the work of `environments.py`.

`setup.py debian`, `setup.py server VERSION PROFILE [CARGO'S OPTIONS...]`.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache"

FREE_THREADED = "3.13t"
"""A Python that tests/free_threaded/build makes, in some two minutes, once for all clones of a user."""

DEBIAN_PACKAGES = (
    "apache2",
    "apache2-dev",
    "apache2-utils",
    "awstats",
    "cgit",
    "chromium",
    "chromium-driver",
    "fcgiwrap",
    "git",
    "gitweb",
    "hey",
    "httperf",
    "iproute2",
    "libapache2-mod-wsgi-py3",
    "libcgi-pm-perl",
    "litmus",
    "nghttp2-client",
    "nginx",
    "siege",
    "strace",
    "systemd",
    "uwsgi-core",
    "uwsgi-plugin-python3",
    "valgrind",
    "wrk",
)
UNOPTIMISED = ("--config", "profile.ci.package.adyton-python.opt-level=0")
"""Cargo's options to build a Python module whose instructions are not counted, in a quarter of the time."""


def debian_packages() -> None:
    """Install the packages that are missing."""
    asked = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Package} ${Status}\n", *DEBIAN_PACKAGES],
        capture_output=True,
        text=True,
        check=False,
    )
    installed = {line.split()[0] for line in asked.stdout.splitlines() if line.endswith("ok installed")}
    missing = [package for package in DEBIAN_PACKAGES if package not in installed]
    if not missing:
        return
    if os.geteuid() != 0:
        sys.exit(f"install as root first: apt-get install {' '.join(missing)}")
    subprocess.run(["apt-get", "update", "-qq"], check=True)
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing]
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(install, env=quiet, stdout=subprocess.DEVNULL, check=True)


def interpreter(version: str) -> Path:
    """Return the Python of a version: pyenv's, or the one in `$PATH`; the free-threaded one is our own."""
    if version == FREE_THREADED:
        folder = free_threaded_folder()
        subprocess.run([ROOT / "tests/free_threaded/build", folder], check=True)
        return folder / "bin/python3.13t"
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = sorted(pyenv.glob(f"versions/{version}.*/bin/python3"), key=lambda path: path.stat().st_mtime)
    on_path = shutil.which(f"python{version}")
    if not found and not on_path:
        sys.exit(f"there is no Python {version}: install it, or leave it out of PYTHONS")
    return found[-1] if found else Path(str(on_path))


def free_threaded_folder() -> Path:
    """Return where the free-threaded Python is or will be: in the user's cache folder.

    Its name has a hash of all that decides what is built: the script, which has version and flags, and the
    machine's distribution and processor.
    """
    build = ROOT / "tests/free_threaded/build"
    release = platform.freedesktop_os_release()
    made_of = [
        build.read_text(encoding="utf-8"),
        release["ID"],
        release.get("VERSION_ID", ""),
        platform.machine(),
    ]
    return shared_folder(f"python-{FREE_THREADED}", made_of)


def shared_folder(name: str, made_of: Iterable[str]) -> Path:
    """Return the folder of this name that all clones of a user share, by a hash of all it is made of."""
    key = hashlib.sha256("\0".join(made_of).encode()).hexdigest()[:12]
    return user_cache() / f"{name}-{key}"


def user_cache() -> Path:
    """Return the folder for what all clones of a user share."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return caches / "adyton"


def python(version: str, profile: str) -> Path:
    """Return the interpreter of the environment for a version and a profile of Cargo."""
    return CACHE / f"venv-{version}{'' if profile == 'ci' else '-' + profile}" / "bin/python"


def server(version: str, profile: str, *options: str) -> None:
    """Build the server with a profile of Cargo and more options, and install it where a version's tests run.

    All versions share a folder of builds: crates that do not know Python are compiled once.
    """
    words = [*(("--profile", profile) if profile != "release" else ()), *options]
    built = ["-C", f"build-args={' '.join(words)}"] if words else []
    pip(python(version, profile), "install", "--no-deps", "--force-reinstall", *built, ".")


def pip(inside: Path, *arguments: str) -> None:
    """Run the `pip` of an environment."""
    quiet = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "CARGO_TARGET_DIR": str(CACHE / "target")}
    subprocess.run([inside, "-m", "pip", "--quiet", *arguments], cwd=ROOT, env=quiet, check=True)


def cargo_environment(version: str) -> dict[str, str]:
    """Return what Cargo needs to build the Python module and to run its tests."""
    python_of_version = interpreter(version)
    asked = subprocess.run(
        [python_of_version, "-c", "import sysconfig; print(sysconfig.get_config_var('LIBDIR'))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return {
        "PYO3_PYTHON": str(python_of_version),
        "LD_LIBRARY_PATH": asked.stdout.strip(),
        "CARGO_TARGET_DIR": str(CACHE / "target"),
    }


if __name__ == "__main__":
    PARTS: dict[str, Callable[..., None]] = {
        "debian": debian_packages,
        "server": server,
    }
    PARTS[sys.argv[1]](*sys.argv[2:])
