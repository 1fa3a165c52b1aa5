"""The interpreter's lock (GIL) stays as the interpreter was built: the server does not turn it on."""

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
"""An empty variable counts as unset, so that the environment of the tests does not decide their result."""


@pytest.mark.parametrize("name", ["application", "handler"])
def test_lock_is_as_built(serve: Servers, name: str) -> None:
    """A free-threaded interpreter serves both kinds of application without the lock, any other with it."""
    server = serve(f"{APPLICATION}:{name}", env=NOT_FORCED)

    assert [AS_BUILT] * 3 == [server.fetch("/").body.decode() for _ in range(3)]
