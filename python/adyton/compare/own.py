"""Pages of applications that only one scenario has: uploads, frameworks, streams, databases."""

from __future__ import annotations

from dataclasses import dataclass

from adyton.compare.articles import ARTICLES
from adyton.compare.served import streams
from adyton.compare.served.application import BODY, rendered


@dataclass(frozen=True)
class Own:
    """A page of a WSGI application that only one scenario has."""

    path: str
    application: str
    """The module of the folder ``served`` that has the page."""
    body: bytes
    """Body of a right answer."""
    sent: bytes = b""
    """Data that each request sends by POST; if empty, each request is a GET."""
    size: int = 0
    """Length of the request's body, in which ``sent`` is repeated; 0: the body is ``sent`` itself."""
    kind: str = ""
    """Media type of the request's body."""
    is_chunked: bool = False
    """Whether the request's body is chunked, so that the head has no length."""

    @property
    def fields(self) -> dict[str, str]:
        """Header fields that describe the request's body, by their names."""
        return {"Content-Type": self.kind} | ({"Transfer-Encoding": "chunked"} if self.is_chunked else {})

    @property
    def posted(self) -> bytes:
        """All that a request sends."""
        if not self.size:
            return self.sent
        # The last line may be shorter, and ends with the same byte as the others.
        return (self.sent * -(-self.size // len(self.sent)))[: self.size - 1] + self.sent[-1:]


LINE = b"%0249d\n" % 7
"""Line that uploads are made of."""
SIZES = {"64 KiB": 65_536, "1 MB": 1_000_000, "20 MB": 20_000_000}
CHUNKED = "chunked"
WAYS = {
    "whole": b"%(size)d bytes\n",
    "pieces": b"%(size)d bytes\n",
    "lines": b"%(lines)d lines, %(size)d bytes\n",
    "unread": b"nothing\n",
    CHUNKED: b"%(size)d bytes\n",
}
"""Ways to read an upload, and the answer to each. A chunked upload is read in pieces."""


def uploads() -> dict[str, Own]:
    """Returns the pages that read bodies of all sizes in all ways."""
    found: dict[str, Own] = {}
    for size_name, size in SIZES.items():
        lines = -(-size // len(LINE))
        for way, answer in WAYS.items():
            body = answer % {b"size": size, b"lines": lines}
            found[f"{size_name} {way}"] = Own(
                f"/{way}", "uploads", body, LINE, size, "application/octet-stream", way == CHUNKED
            )
    return found


FRAMEWORKS = ("Django", "Flask", "Falcon", "Bottle", "Pyramid")
FORM, FORM_TYPE = b"name=Lyre+%26+plectrum&strings=7", "application/x-www-form-urlencoded"
MESSAGE, COMPACT = b'{"message": "Hello World!"}', b'{"message":"Hello World!"}\n'
"""JSON as most frameworks write it, and as Flask writes it."""


def of_frameworks() -> dict[str, Own]:
    """Returns the pages of all frameworks: alike, except where their templates and JSON writers differ."""
    page = rendered(ARTICLES)
    found: dict[str, Own] = {}
    for name in FRAMEWORKS:
        module = f"on_{name.lower()}"
        # Jinja2 drops the newline at the end of a template.
        shown = page if name in ("Django", "Bottle") else page.rstrip(b"\n")
        found |= {
            f"{name} hello": Own("/hello", module, BODY),
            f"{name} page": Own("/page", module, shown),
            f"{name} JSON": Own("/json", module, COMPACT if name == "Flask" else MESSAGE),
            f"{name} form": Own("/form", module, b"Lyre & plectrum: 7 strings", FORM, kind=FORM_TYPE),
        }
    return found


LARGE = streams.PIECE * streams.PIECES
STREAMS = {
    "1 MB with length": Own("/length", "streams", LARGE),
    "1 MB": Own("/large", "streams", LARGE),
    "1,000 pieces": Own("/small", "streams", b"".join(streams.small())),
    "events": Own("/events", "streams", b"".join(streams.EVENT % number for number in range(streams.EVENTS))),
    "file": Own("/file", "streams", LARGE),
}
DRIVERS = {"psycopg": "with_psycopg", "psycopg2": "with_psycopg2"}
"""Modules that query a database, by the driver that they use."""
QUERIES = {
    "1 query": (1, "/1"),
    "5 queries": (5, "/5"),
    "1 query of 1 ms": (1, "/1/waiting"),
    "5 queries of 1 ms": (5, "/5/waiting"),
}
"""Number of rows that each page queries, one query for each, and the path of the page."""


def of_database() -> dict[str, Own]:
    """Returns the pages that ask a database."""
    rows = [f"{number} {name} {price}\n".encode() for number, name, price, _ in ARTICLES]
    return {
        f"{driver} {name}": Own(path, module, b"".join(rows[:queries]))
        for driver, module in DRIVERS.items()
        for name, (queries, path) in QUERIES.items()
    }


OWN: dict[str, Own] = uploads() | of_frameworks() | STREAMS | of_database()
"""Pages with an application of their own, by name."""


@dataclass(frozen=True)
class Package:
    """A package that an application needs, and that may be missing."""

    name: str
    pip: str
    """Packages for `pip`."""
    debian: str
    """Packages for `apt-get`, for servers that run Debian's Python."""

    def how(self) -> str:
        """Says that the package is not installed, and what to do."""
        return (
            f"{self.name} is not installed: `python -m pip install {self.pip}`, or for a server that runs "
            f"Debian's Python `apt-get install {self.debian}`"
        )


PACKAGES = {
    "django": Package("Django", "django", "python3-django"),
    "flask": Package("Flask", "flask", "python3-flask"),
    "falcon": Package("Falcon", "falcon jinja2", "python3-falcon python3-jinja2"),
    "jinja2": Package("Jinja2", "jinja2", "python3-jinja2"),
    "bottle": Package("Bottle", "bottle", "python3-bottle"),
    "pyramid": Package("Pyramid", "pyramid pyramid-jinja2", "python3-pyramid python3-pyramid-jinja2"),
    "psycopg": Package("psycopg", "'psycopg[binary,pool]'", "python3-psycopg python3-psycopg-pool"),
    "psycopg_pool": Package("psycopg-pool", "'psycopg[binary,pool]'", "python3-psycopg-pool"),
    "psycopg2": Package("psycopg2", "psycopg2-binary", "python3-psycopg2"),
    "pyramid_jinja2": Package("pyramid-jinja2", "pyramid-jinja2", "python3-pyramid-jinja2"),
}
"""Packages by the names of their modules."""


def how_to_install(module: str) -> str:
    """Says which package is not installed, and what to do."""
    name = module.partition(".")[0]
    return PACKAGES[name].how() if name in PACKAGES else f"the Python module {module} is not installed"
