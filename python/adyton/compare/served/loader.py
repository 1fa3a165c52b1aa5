"""Takes the place of application.py in scenarios with their own application: loads the module in `chosen`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from wsgiref.types import StartResponse, WSGIEnvironment

HERE = Path(__file__).resolve().parent


class Absent:
    """Replaces an application whose package is not installed: answers with the name of the missing module."""

    def __init__(self, module: str) -> None:
        """Keeps the name."""
        self.module = module

    def __call__(self, _environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answers for WSGI."""
        body = self.module.encode()
        fields = [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))]
        start_response("501 Not Implemented", fields)
        return [body]


def loaded() -> Any:  # noqa: ANN401 - each framework has its own type
    """Returns the application; if its package is missing, an application that says so."""
    # mod_wsgi runs this file without its folder on the path.
    sys.path.insert(0, str(HERE))
    try:
        return importlib.import_module((HERE / "chosen").read_text("utf-8")).application
    except ModuleNotFoundError as error:
        return Absent(error.name or str(error))


application = loaded()
