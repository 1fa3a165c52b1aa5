"""Sides that take turns: each is asked in every round, and what went wrong makes its row invalid."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import client
import load
import servers
from rows import Row
from sides import PEERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from generator import ThreadsRun
    from rows import Run
    from servers import Server, Spec

    Turn = Callable[[Server, ThreadsRun], dict[str, float]]


@dataclass(frozen=True)
class Turns:
    """The sides of a case, and what one turn of a side is."""

    specs: tuple[Spec, ...]
    turn: Turn
    anew: bool = False
    """Every turn has a server of its own, because what the last one left behind would be seen."""

    def __call__(self, run: Run) -> list[Row]:
        """Measures all sides, round by round; every other round goes backwards."""
        run = cast("ThreadsRun", run)
        rows = [Row(spec) for spec in taking_part(self.specs, run)]
        with contextlib.ExitStack() as stack:
            started = {} if self.anew else {row.spec: load.start(row, run, stack) for row in rows}
            for number in range(run.rounds):
                for row in reversed(rows) if number % 2 else rows:
                    if not row.errors:
                        take(self.turn, row, started.get(row.spec), run)
        return rows


def taking_part(specs: tuple[Spec, ...], run: ThreadsRun) -> tuple[Spec, ...]:
    """Returns the sides without the peers if these are not wanted."""
    return tuple(spec for spec in specs if run.peers or not spec.name.startswith(PEERS))


def take(turn: Turn, row: Row, server: Server | None, run: ThreadsRun) -> None:
    """Adds one turn to a row; the server's answer is checked before it and after it."""
    with contextlib.ExitStack() as stack:
        try:
            server = server or stack.enter_context(servers.running(row.spec, run.work))
            client.check(server.port, row.spec.expected)
            figures = turn(server, run)
            client.check(server.port, row.spec.expected)
        except (OSError, client.WrongAnswerError) as error:
            row.fail(error)
        else:
            row.rounds.append(figures)
