"""The limits of rules 6, 14 and 17 are settings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.client import request

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Servers


@pytest.mark.parametrize(
    ("flag", "value", "fine", "too_much", "status"),
    [
        ("--request-line-bytes-max", "100", request("/" + "a" * 80), request("/" + "a" * 100), 414),
        (
            "--header-field-bytes-max",
            "100",
            request(fields=[("X-A", "b" * 80)]),
            request(fields=[("X-A", "b" * 100)]),
            431,
        ),
        (
            "--header-bytes-max",
            "1k",
            request(fields=[("X-A", "b" * 500)]),
            request(fields=[("X-A", "b" * 500), ("X-B", "b" * 600)]),
            431,
        ),
        (
            "--header-fields-max",
            "3",
            request(fields=[("X-A", "b"), ("X-C", "d")]),
            request(fields=[("X-A", "b"), ("X-C", "d"), ("X-E", "f")]),
            431,
        ),
    ],
    ids=["line", "field", "head", "count"],
)
def test_limit(
    serve: Servers,
    application: Path,
    flag: str,
    value: str,
    fine: bytes,
    too_much: bytes,
    status: int,
) -> None:
    """A request within the set limit is answered, and one beyond the limit is refused."""
    server = serve(application, flag, value)
    with server.connect() as connection:
        assert 200 == connection.ask(fine).status

        response = connection.ask(too_much)

        assert status == response.status
        assert connection.at_end()


def test_underscores_refused(serve: Servers, application: Path) -> None:
    """If the setting asks for it, a name with an underscore is answered 400 (rule 17)."""
    server = serve(application, "--underscore-headers", "refuse")

    assert 400 == server.fetch(fields=[("X_Forwarded_For", "1.2.3.4")]).status
    assert 200 == server.fetch(fields=[("X-Forwarded-For", "1.2.3.4")]).status
