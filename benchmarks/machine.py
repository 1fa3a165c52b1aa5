"""What a record tells about the machine and the programs, and nothing that names a user."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
from datetime import UTC, datetime
from importlib import metadata, util
from pathlib import Path

import servers

LOAD_QUIET = 0.3
"""One-minute load above which a run is called noisy: others use the CPUs that are measured."""

PACKAGES = ("adyton", "bjoern", "fastpysgi", "granian")


def facts() -> dict[str, str]:
    """Returns what stands above a record, in the order in which it is shown."""
    load, steal = os.getloadavg()[0], steal_percent()
    noise = "" if load <= LOAD_QUIET else ": NOT QUIET"
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "cpu": f"{cpu_model()}, {os.cpu_count()} CPUs" + (", virtual" if is_virtual() else ""),
        "memory": f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.1f} GiB",
        "kernel": f"{platform.system()} {platform.release()}",
        "system": platform.freedesktop_os_release().get("PRETTY_NAME", "unknown"),
        "load before": f"{load:.2f} in the last minute{noise}; {steal:.2f} % of CPU time stolen since boot",
        "checkout": checkout(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        **{package: version_of(package) for package in PACKAGES},
        "adyton._core": core_digest(),
        "nginx": said(["nginx", "-v"], r"nginx/(\S+)"),
        "wrk": said(["wrk", "-v"], r"wrk (?:debian/)?(\S+)"),
        "cc": said(["cc", "--version"], r"(.+)"),
    }


def cpu_model() -> str:
    """Returns the CPU's name for itself."""
    found = re.search(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text("utf-8"))
    return found.group(1) if found else platform.machine()


def is_virtual() -> bool:
    """Tells whether a hypervisor shows itself."""
    return bool(re.search(r"^flags.*\bhypervisor\b", Path("/proc/cpuinfo").read_text("utf-8"), re.MULTILINE))


def steal_percent() -> float:
    """Returns the share of CPU time that the hypervisor gave to others, since boot (proc(5), steal)."""
    ticks = [int(field) for field in Path("/proc/stat").read_text("ascii").splitlines()[0].split()[1:9]]
    return 100 * ticks[7] / sum(ticks)


def checkout() -> str:
    """Returns the commit that is checked out, and whether files differ from it."""
    try:
        commit = said(["git", "rev-parse", "--short=12", "HEAD"], r"([0-9a-f]+)")
        changed = subprocess.run(
            ["git", "status", "--porcelain"], cwd=servers.ROOT, capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{commit}{', changed' if changed else ''}"


def version_of(package: str) -> str:
    """Returns the version of an installed package."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def core_digest() -> str:
    """Returns what tells one build of the same version from another."""
    spec = util.find_spec("adyton._core") if util.find_spec("adyton") else None
    if not spec or not spec.origin:
        return "not installed"
    return f"sha256 {hashlib.sha256(Path(spec.origin).read_bytes()).hexdigest()[:16]}"


def said(command: list[str], pattern: str) -> str:
    """Returns what `pattern` finds in what a program prints; wrk fails even so."""
    if not shutil.which(command[0]):
        return "not installed"
    done = subprocess.run(command, cwd=servers.ROOT, capture_output=True, text=True, check=False)
    found = re.search(pattern, done.stdout + done.stderr)
    return found.group(1).strip() if found else "unknown"
