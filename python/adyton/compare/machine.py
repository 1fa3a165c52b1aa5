"""Facts of the machine and of this program for the page: all that figures depend on, but no host name."""

from __future__ import annotations

import hashlib
import os
import platform
import re
from importlib import metadata
from pathlib import Path

from adyton import _core


def facts() -> dict[str, str]:
    """Returns the facts by their titles."""
    memory_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "machine": f"{cpu_model()}, {os.cpu_count()} CPUs, {memory_bytes / 2**30:.1f} GiB",
        "kernel": platform.release(),
        "python": platform.python_version(),
        "adyton": f"{metadata.version('adyton')}, core {core_digest()}",
    }


def cpu_model() -> str:
    """Returns the CPU's name, and whether the machine is a virtual one, as far as proc_cpuinfo(5) tells."""
    told = Path("/proc/cpuinfo").read_text("utf-8", "replace")
    found = re.search(r"^model name\s*:\s*(.+)$", told, re.MULTILINE)
    name = found.group(1).strip() if found else platform.machine()
    return f"{name}, virtual" if re.search(r"^flags.*\bhypervisor\b", told, re.MULTILINE) else name


def core_digest() -> str:
    """Returns the first digits of our compiled part's SHA-256: they differ between builds of a version."""
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()[:12]
