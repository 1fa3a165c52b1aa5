"""Sends two servers the same requests, and compares their answers: the status, each field, the body."""

from __future__ import annotations

from dataclasses import dataclass, field
from email.utils import mktime_tz, parsedate_tz
from typing import TYPE_CHECKING

from support.client import Connection, request

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from support.client import Address
    from support.http import Response

HOST = "shop.example"

NOT_COMPARED = {
    "date": "the time",
    "server": "the name of the server",
    "connection": "whether a client may ask again over its connection is the server's business",
    "keep-alive": "so is for how long",
    "transfer-encoding": "so is how it tells where a body ends that has no length",
    "content-length": "so is whether it counts a body; for what a script says itself see `length`",
}
"""Fields that are not compared, and why."""

OF_NOW = frozenset({"expires", "last-modified"})
"""Fields in which scripts say the time of their answer, or a time that they count from it."""
APART_S = 3600
"""Longest time between two answers in seconds: more than a busy machine needs; time zones may differ by
this hour."""


@dataclass(frozen=True)
class Ask:
    """A request, and the parts of its two answers that are meant to be different."""

    target: str
    method: str = "GET"
    fields: tuple[tuple[str, str], ...] = ()
    body: bytes | None = None
    host: str = HOST
    version: str = "1.1"
    length: int | None = None
    """The length that the script itself says: our server keeps it, and Apache drops it (CVE-2024-24795)."""
    differ: Mapping[str, str] = field(default_factory=dict)
    """The parts of the answers that are different (`status`, `body`, or a field), and why."""

    def response(self, address: Address) -> Response:
        """Send the request over a connection of its own."""
        fields = [("Host", self.host), *self.fields]
        data = request(self.target, method=self.method, fields=fields, body=self.body, version=self.version)
        with Connection(address, lint_answers=False) as connection:
            response = connection.ask(data)
        assert response.complete, f"{self}\n  {response}"
        return response

    def compare(self, theirs: Address, ours: Address) -> str:
        """Send it to both; return unexpected differences, and expected differences that are missing."""
        try:
            answers = self.response(theirs), self.response(ours)
        except AssertionError as error:
            return f"{self}\n  {error}"
        one, other = map(parts, answers)
        different = [
            name for name in sorted({*one, *other}) if not is_same(name, one.get(name), other.get(name))
        ]
        complaints = []
        if different != sorted(self.differ):
            shown = (
                f"  {name}: {one.get(name)!r:.400}\n    ours: {other.get(name)!r:.400}" for name in different
            )
            same = (f"  {name} is the same" for name in self.differ if name not in different)
            complaints = [f"  {one['status']}", *shown, *same]
        lengths = answers[1].values("content-length")
        if self.length is not None and lengths != [str(self.length)]:
            complaints.append(f"  Content-Length of ours: {lengths}")
        return "\n".join([f"{self!r:.400}", *complaints]) if complaints else ""


def parts(response: Response) -> dict[str, object]:
    """Return the parts of an answer that must be equal in both answers."""
    names = {name.lower() for name, _ in response.fields} - NOT_COMPARED.keys()
    fields = {name: response.values(name) for name in names}
    return {"status": f"{response.status} {response.reason}", "body": response.body, **fields}


def is_same(name: str, one: object, other: object) -> bool:
    """Tell whether a part is the same in two answers; times may be up to an hour apart."""
    if one == other:
        return True
    if name not in OF_NOW or not isinstance(one, list) or not isinstance(other, list):
        return False
    times = [when(value) for value in (*one, *other)]
    return len(one) == len(other) and max(times) - min(times) < APART_S


def when(value: str) -> float:
    """Return the seconds of a time in a field, in whatever form a script has written it."""
    parsed = parsedate_tz(value)
    assert parsed, f"{value} is no time"
    return mktime_tz(parsed)


def compare(asks: Iterable[Ask], theirs: Address, ours: Address) -> None:
    """Send all requests to both in order: a later request finds what an earlier one has left behind."""
    complaints = [said for ask in asks if (said := ask.compare(theirs, ours))]

    assert not complaints, "\n".join(complaints)


BOUNDARY = "----of-a-test-7MA4YWxk"


def multipart(
    texts: Mapping[str, str], files: Mapping[str, tuple[str, str, bytes]]
) -> tuple[tuple[str, str], bytes]:
    """Return the field and the body of a form with uploads: for each upload the name, type and content."""
    parts = [
        f'Content-Disposition: form-data; name="{name}"\r\n\r\n{text}'.encode()
        for name, text in texts.items()
    ]
    for name, (file, media, content) in files.items():
        head = f'Content-Disposition: form-data; name="{name}"; filename="{file}"'
        head += f"\r\nContent-Type: {media}\r\n\r\n"
        parts.append(head.encode() + content)
    body = b"".join(b"--%b\r\n%b\r\n" % (BOUNDARY.encode(), part) for part in parts)
    media_type = ("Content-Type", f"multipart/form-data; boundary={BOUNDARY}")
    return media_type, body + f"--{BOUNDARY}--\r\n".encode()


def uploaded(
    target: str,
    texts: Mapping[str, str],
    files: Mapping[str, tuple[str, str, bytes]],
    *fields: tuple[str, str],
) -> Ask:
    """Return the request that sends such a form."""
    media_type, body = multipart(texts, files)
    return Ask(target, "POST", fields=(media_type, *fields), body=body)


FORM = ("Content-Type", "application/x-www-form-urlencoded")


def posted(target: str, form: str, *fields: tuple[str, str]) -> Ask:
    """Return the request that sends a form without uploads."""
    return Ask(target, "POST", fields=(FORM, *fields), body=form.encode())
