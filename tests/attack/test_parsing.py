"""Parsing under attack: the right errors in the right order, and no byte of an attack becomes a request."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from attack.parsing import ATTACKS, Attack
from support.client import Asked, request
from support.http import NoResponseError

if TYPE_CHECKING:
    from support.http import Response
    from support.server import Server

BEFORE = request("/before")


def answers_of(server: Server, data: bytes, methods: list[str]) -> list[Response]:
    """Send bytes and a FIN; read strictly until the server has closed."""
    answers: list[Response] = []
    with server.connect(lint_answers=False) as connection:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError, OSError):
            connection.send(data)
            connection.half_close()
        with contextlib.suppress(NoResponseError):
            while True:
                method = methods[len(answers)] if len(answers) < len(methods) else "GET"
                answers.append(connection.receive(Asked(method)))
    return answers


@pytest.mark.parametrize("place", ["alone", "behind another"])
@pytest.mark.parametrize("attack", ATTACKS, ids=str)
def test_attack(teller: Server, attack: Attack, place: str) -> None:
    """Each attack gets its statuses, alone and behind a good request; only valid requests get through."""
    teller.fetch("/seen")
    behind = place != "alone"
    data = BEFORE * behind + attack.data
    answers = answers_of(
        teller, data, [entry.split()[0] for entry in ("GET /before",) * behind + attack.seen]
    )
    seen = teller.fetch("/seen").json()

    assert [200] * behind + list(attack.statuses) == [answer.status for answer in answers]
    assert ["GET /before"] * behind + list(attack.seen) == seen
    assert all(answer.complete for answer in answers)
