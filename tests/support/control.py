"""Queries and commands for a running server at its control socket."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from support.server import run

if TYPE_CHECKING:
    from pathlib import Path


def status(control: Path) -> Any:
    """Return the server's status."""
    done = run("status", "--json", "--control", str(control))
    assert 0 == done.returncode, done.stderr
    return json.loads(done.stdout)


def reload(control: Path, *names: str) -> tuple[int, str]:
    """Reload the server, or only the groups in `names`; return the exit status and the output."""
    done = run("reload", *names, "--control", str(control))
    return done.returncode, done.stdout + done.stderr


def group(control: Path, name: str) -> Any:
    """Return the status of a group; if it has two versions, the status of the one that stays."""
    found = [one for one in status(control)["groups"] if one["group"] == name and one["state"] != "draining"]
    assert len(found) == 1, found
    return found[0]


def states(control: Path) -> dict[str, str]:
    """Return the states of all groups, by name."""
    return {one["group"]: one["state"] for one in status(control)["groups"]}


def supervisor(control: Path, name: str) -> int:
    """Return the supervisor of a group."""
    return int(group(control, name)["pid"])


def workers(control: Path, name: str) -> list[int]:
    """Return the serving workers of a group, by its last report."""
    said = group(control, name).get("status", {"workers": []})
    return [worker["pid"] for worker in said["workers"] if worker["state"] == "serving"]
