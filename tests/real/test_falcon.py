"""A Falcon service: JSON in and out, errors, raw uploads with and without a length."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from support.client import Connection, chunked, request

if TYPE_CHECKING:
    from support.server import Server

JSON = [("Content-Type", "application/json")]


def test_add_and_delete(falcon_site: Server) -> None:
    """A saying that is posted can be fetched until it is deleted, all on one connection."""
    with Connection(falcon_site.address, lint_answers=False) as line:
        text = "Ὦ ξεῖν, ἀγγέλλειν Λακεδαιμονίοις"
        body = json.dumps({"text": text}).encode()
        added = line.get("/sayings", method="POST", fields=JSON, body=body)

        assert 201 == added.status

        place = added["location"]

        assert {"id": int(place.rpartition("/")[2]), "text": text} == line.get(place).json()
        assert 204 == line.get(place, method="DELETE").status
        assert 404 == line.get(place).status


@pytest.mark.parametrize(
    ("method", "target", "body", "status"),
    [
        ("POST", "/sayings", b"{", 400),
        ("POST", "/sayings", b'{"text": 1}', 422),
        ("PATCH", "/sayings", b"{}", 405),
        ("GET", "/nothing", None, 404),
    ],
)
def test_errors(falcon_site: Server, method: str, target: str, body: bytes | None, status: int) -> None:
    """Errors of the framework reach the client as they are."""
    answer = falcon_site.fetch(target, method=method, fields=JSON, body=body, lint_answers=False)

    assert status == answer.status


@pytest.mark.parametrize("size", [0, 1, 300_000, 5_000_000])
def test_blob(falcon_site: Server, size: int) -> None:
    """A raw body comes back unchanged, whether it is sent with a length or chunked."""
    data = bytes(number * number % 251 for number in range(1024)) * (size // 1024 + 1)
    data = data[:size]
    with Connection(falcon_site.address, lint_answers=False) as line:
        assert 204 == line.get("/blob", method="PUT", body=data).status
        assert data == line.get("/blob").body

        head = request("/blob", method="PUT", fields=[("Transfer-Encoding", "chunked")])
        body = chunked(*filter(None, (data[: size // 3], data[size // 3 :])))

        assert 204 == line.ask(head + body).status
        assert data == line.get("/blob").body


def test_stream_of_items(falcon_site: Server) -> None:
    """Every item of a stream arrives, once and in order."""
    answer = falcon_site.fetch("/count", lint_answers=False)

    assert list(range(100)) == [int(text) for text in answer.body.split()]
