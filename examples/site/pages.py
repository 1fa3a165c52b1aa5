"""Pages: templates with every value escaped, the frame around them, and what a page answers."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from string import Template

FOLDER = Path(__file__).resolve().parent / "templates"
TEMPLATES = {path.stem: Template(path.read_text("utf-8")) for path in FOLDER.glob("*.html")}
MENU = {"/": "Adyton", "/handler": "Handler", "/guestbook": "Guestbook", "/gallery": "Gallery"}


@dataclass(frozen=True)
class Reply:
    """Answer of a page; `headers` come after the headers that every page has."""

    body: bytes
    status: str = "200 OK"
    headers: tuple[tuple[str, str], ...] = ()

    def with_header(self, name: str, value: str) -> "Reply":
        """Return the same reply with one header more."""
        return replace(self, headers=(*self.headers, (name, value)))


def template(name: str, /, *, raw: Mapping[str, str] | None = None, **values: object) -> str:
    """Fill a template: `values` are escaped, `raw` is HTML that is already safe."""
    safe = {key: escape(str(value)) for key, value in values.items()}
    return TEMPLATES[name].substitute(safe, **(raw or {}))


def page(path: str, title: str, main: str, status: str = "200 OK") -> Reply:
    """Build a whole page: `main` in the frame, with the menu entry of `path` marked."""
    menu = "".join(
        template(
            "menu",
            raw={"current": ' aria-current="page"' if path == to else ""},
            to=to,
            label=label,
        )
        for to, label in MENU.items()
    )
    return Reply(template("frame", title=title, raw={"menu": menu, "main": main}).encode(), status)


def error(status: str, message: str) -> Reply:
    """Build the error page of a status."""
    return page("", status, template("error", status=status, message=message), status)
