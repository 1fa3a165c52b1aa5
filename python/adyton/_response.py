"""Responses that a handler may return instead of ``str`` or ``bytes``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from datetime import datetime

#: Characters that a cookie's name must not contain, because no token does (RFC 6265 section 4.1.1).
_NO_NAME = frozenset('()<>@,;:\\"/[]?={} \t')

#: Characters that a cookie's value must not contain (RFC 6265 section 4.1.1).
_NO_VALUE = frozenset(' ",;\\')

_CLIENT_ERROR, _LAST_STATUS = 400, 599


class RequestTimeout(BaseException):
    """Raised inside a request that takes longer than `--request-timeout` or `--request-total-timeout` allows.

    Not a subclass of `Exception`, so that `except Exception` does not catch it: `finally` and `with` clean
    up, and the client gets a 504. A request may catch it and answer by itself.
    """


class Abort(Exception):  # noqa: N818
    """Ends a request with an error page; see :func:`adyton.abort`."""

    def __init__(self, status: int, message: str | None = None) -> None:
        if not _CLIENT_ERROR <= status <= _LAST_STATUS:
            raise ValueError(f"abort() takes a status from 400 to 599, not {status}")
        super().__init__(status, message)
        self.status = status
        self.message = message


class Response:
    """An answer: its status, its headers and its body.

    ``body`` is ``str`` (sent as UTF-8), ``bytes``, or an iterable of ``bytes``, each item of which is sent at
    once.
    ``headers`` is a mapping or a list of pairs; names may repeat in a list. Without a ``Content-Type``
    a ``str`` is ``text/html; charset=utf-8`` and anything else ``application/octet-stream``.
    """

    __slots__ = ("_file", "body", "headers", "status")

    def __init__(
        self,
        body: str | bytes | Iterable[bytes] = b"",
        status: int = 200,
        headers: Mapping[str, str] | Iterable[tuple[str, str]] | None = None,
        content_type: str | None = None,
    ) -> None:
        self.body = body
        self.status = status
        pairs = headers.items() if isinstance(headers, Mapping) else headers or ()
        self.headers: list[tuple[str, str]] = list(pairs)
        self._file: str | None = None
        if content_type is not None:
            self.headers.append(("Content-Type", content_type))

    def set_cookie(  # noqa: PLR0913
        self,
        name: str,
        value: str = "",
        *,
        max_age: int | None = None,
        expires: datetime | None = None,
        path: str | None = "/",
        domain: str | None = None,
        secure: bool = False,
        httponly: bool = True,
        samesite: Literal["Lax", "Strict", "None"] | None = "Lax",
    ) -> None:
        """Adds a ``Set-Cookie`` field (RFC 6265 section 4.1).

        ``max_age`` is in seconds; ``expires`` must have a time zone. Raises ``ValueError`` when a part has a
        character that a cookie must not contain.
        """
        if not name or any(letter in _NO_NAME or not " " < letter < "\x7f" for letter in name):
            raise ValueError(f"{name!r} is no name for a cookie (RFC 6265 section 4.1.1)")
        if any(letter in _NO_VALUE or not " " < letter < "\x7f" for letter in value):
            raise ValueError(f"the value of cookie {name} has a letter that no cookie may have: encode it")
        parts = [f"{name}={value}"]
        if max_age is not None:
            parts.append(f"Max-Age={max_age}")
        if expires is not None:
            parts.append(f"Expires={_http_date(expires)}")
        parts += [f"{key}={_attribute(text)}" for key, text in (("Path", path), ("Domain", domain)) if text]
        if samesite is not None:
            parts.append(f"SameSite={samesite}")
        if secure or samesite == "None":
            parts.append("Secure")
        if httponly:
            parts.append("HttpOnly")
        self.headers.append(("Set-Cookie", "; ".join(parts)))

    def delete_cookie(self, name: str, *, path: str | None = "/", domain: str | None = None) -> None:
        """Tells the client to forget a cookie that was set with the same ``path`` and ``domain``."""
        self.set_cookie(name, max_age=0, path=path, domain=domain)

    @staticmethod
    def json(data: Any, status: int = 200) -> Response:  # noqa: ANN401
        """Returns ``data`` as JSON (RFC 8259) in UTF-8; raises the errors of ``json.dumps``."""
        import json  # noqa: PLC0415

        text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return Response(text.encode(), status, content_type="application/json")

    @staticmethod
    def file(
        path: str | os.PathLike[str],
        *,
        content_type: str | None = None,
        download_name: str | None = None,
    ) -> Response:
        """Returns a file, sent by the kernel; conditional requests and ranges are answered as HTTP asks.

        The type is found by the file's name unless ``content_type`` is given; ``download_name`` makes
        browsers save the file under that name (RFC 6266). The path is used as it is: never build it from data
        of a client without checking the data. If the file is missing when the answer is sent, the client gets
        a 500.
        """
        response = Response(content_type=content_type)
        response._file = os.fspath(path)
        if download_name is not None:
            response.headers.append(("Content-Disposition", _attachment(download_name)))
        return response

    @staticmethod
    def redirect(location: str, status: int = 302) -> Response:
        """Sends the client to another place (RFC 9110 section 15.4)."""
        return Response(b"", status, [("Location", _url(location))])

    def __repr__(self) -> str:
        return f"<Response {self.status}>"


def _http_date(moment: datetime) -> str:
    from datetime import timezone  # noqa: PLC0415
    from email.utils import format_datetime  # noqa: PLC0415

    if moment.tzinfo is None:
        raise ValueError("a cookie's expires must know its time zone")
    return format_datetime(moment.astimezone(timezone.utc), usegmt=True)  # noqa: UP017


def _attribute(text: str) -> str:
    if any(letter == ";" or not " " <= letter < "\x7f" for letter in text):
        raise ValueError(f"{text!r} cannot stand in a cookie (RFC 6265 section 4.1.1)")
    return text


def _attachment(name: str) -> str:
    from urllib.parse import quote  # noqa: PLC0415

    plain = "".join(letter if " " <= letter < "\x7f" and letter not in '"\\' else "_" for letter in name)
    if plain == name:
        return f'attachment; filename="{name}"'
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}"


def _url(location: str) -> str:
    """Escapes characters that a field must not contain: a client may have sent part of the location."""
    from urllib.parse import quote  # noqa: PLC0415

    return quote(location, safe="!#$%&'()*+,/:;=?@[]~")
