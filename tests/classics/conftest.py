"""Serves real applications with the server's default settings, among them the default number of workers."""

from __future__ import annotations

import urllib.error
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from support.server import Server, Servers

APPS = Path(__file__).with_name("apps")
DEFAULT_PROCESSES = {"ADYTON_PROCESSES": "auto"}
TIMEOUT_S = 60.0
"""Timeout of a request, reached only by a request that fails."""
CLIENT_TIMEOUT_S = 300.0
"""Timeout of a client program, reached only by a program that hangs."""


class Sites:
    """Starts applications of this folder, with the server's default settings."""

    def __init__(self, serve: Servers, data: Path) -> None:
        """Keep the files that applications write in `data`."""
        self._serve = serve
        self.data = data

    def __call__(self, name: str, *flags: str, **variables: str) -> Visitor:
        """Serve `apps/NAME.py`; return a visitor of it."""
        env = DEFAULT_PROCESSES | {"SITE_DATA": str(self.data)} | variables
        return Visitor(self._serve(APPS / f"{name}.py", *flags, env=env))


class Visitor:
    """A visitor with a jar of cookies; each request opens a connection, and so may reach any worker."""

    def __init__(self, server: Server) -> None:
        """Visit a server."""
        self.server = server
        self.url = f"http://127.0.0.1:{server.port}"
        self._jar = CookieJar()

    def another(self) -> Visitor:
        """Return another visitor, without cookies."""
        return Visitor(self.server)

    def cookie(self, name: str) -> str:
        """Return the value of a cookie that the server has set."""
        return next(str(cookie.value) for cookie in self._jar if cookie.name == name)

    def ask(
        self,
        target: str,
        form: Mapping[str, str] | bytes | None = None,
        *,
        method: str | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> tuple[int, str]:
        """Send a request, follow redirects; return the status and the text."""
        body = form if form is None or isinstance(form, bytes) else urlencode(form).encode()
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self._jar))
        url = f"{self.url}{target}"
        request = urllib.request.Request(url, body, dict(fields or {}), method=method)  # noqa: S310 - http only
        try:
            with opener.open(request, timeout=TIMEOUT_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()

    def get(self, target: str) -> str:
        """Return the text of a page that must exist."""
        return self.text(target)

    def post(self, target: str, form: Mapping[str, str]) -> str:
        """Send a form; return the text of the page that it leads to."""
        return self.text(target, form)

    def text(
        self,
        target: str,
        form: Mapping[str, str] | bytes | None = None,
        *,
        method: str | None = None,
        fields: Mapping[str, str] | None = None,
    ) -> str:
        """Return the text of an answer that must be a success."""
        status, text = self.ask(target, form, method=method, fields=fields)
        assert status in range(200, 300), (status, text)
        return text


@pytest.fixture
def site(serve: Servers, tmp_path: Path) -> Sites:
    """Start applications, with a folder for what they write."""
    data = tmp_path / "data"
    data.mkdir()
    return Sites(serve, data)
