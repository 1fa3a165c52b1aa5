"""The interpreter's lock stays as the interpreter was built: the server's own module does not turn it on."""

from __future__ import annotations

import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from support.server import Servers

APPLICATION = Path(__file__).with_name("application.py")
AS_BUILT = "off" if sysconfig.get_config_var("Py_GIL_DISABLED") else "on"

NOT_FORCED = {"PYTHON_GIL": ""}
"""An empty variable is none: the environment of the tests must not decide what they see."""


@pytest.mark.parametrize("name", ["application", "handler"])
def test_lock_is_as_built(serve: Servers, name: str) -> None:
    """A free-threaded interpreter serves both kinds without the lock; others with it."""
    server = serve(f"{APPLICATION}:{name}", env=NOT_FORCED)

    assert [AS_BUILT] * 3 == [server.fetch("/").body.decode() for _ in range(3)]
