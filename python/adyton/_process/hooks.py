"""The hooks that an application has for its workers."""

from __future__ import annotations

import sys

from adyton._application.failed import report


def run_hooks(event: str, place: tuple[int, int, int]) -> list[str]:
    """Runs the application's hooks of one kind, if it has any.

    Returns the failures of hooks that run when a worker stops; raises what any other hook raises.
    """
    if "adyton.hooks" not in sys.modules:
        return []
    return [report(error) for error in sys.modules["adyton.hooks"].run(event, place)]
