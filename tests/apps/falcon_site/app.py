"""A Falcon service: JSON in and out, raw uploads and downloads, and errors as JSON."""

import os
from collections.abc import Iterator
from pathlib import Path

import falcon

DATA = Path(os.environ["SITE_DATA"])
COUNT_ITEMS = 100


class Sayings:
    """A collection in memory: the server runs one process, so everybody sees the same."""

    def __init__(self) -> None:
        """Begin with the saying that was written over the door at Delphi."""
        self.kept = {1: "Know thyself", 2: "Nothing in excess", 3: "Surety brings ruin"}
        self.last = len(self.kept)

    def on_get(self, _request: falcon.Request, response: falcon.Response) -> None:
        """List all."""
        response.media = [{"id": key, "text": text} for key, text in self.kept.items()]

    def on_post(self, request: falcon.Request, response: falcon.Response) -> None:
        """Add one."""
        text = request.get_media().get("text")
        if not isinstance(text, str):
            raise falcon.HTTPUnprocessableEntity(description="`text` must be a string")
        self.last += 1
        self.kept[self.last] = text
        response.status = falcon.HTTP_201
        response.location = f"/sayings/{self.last}"
        response.media = {"id": self.last, "text": text}

    def on_get_one(self, _request: falcon.Request, response: falcon.Response, key: int) -> None:
        """Show one."""
        if key not in self.kept:
            raise falcon.HTTPNotFound(description="no such saying")
        response.media = {"id": key, "text": self.kept[key]}

    def on_delete_one(self, _request: falcon.Request, response: falcon.Response, key: int) -> None:
        """Forget one."""
        self.kept.pop(key, None)
        response.status = falcon.HTTP_204


class Blob:
    """One file, kept and sent as it came."""

    path = DATA / "blob"

    def on_put(self, request: falcon.Request, response: falcon.Response) -> None:
        """Keep the body; `bounded_stream` ends at Content-Length, `stream` at the end of input."""
        body = request.stream if request.content_length is None else request.bounded_stream
        with self.path.open("wb") as file:
            while piece := body.read(65536):
                file.write(piece)
        response.status = falcon.HTTP_204

    def on_get(self, _request: falcon.Request, response: falcon.Response) -> None:
        """Send it back; Falcon hands the file to `wsgi.file_wrapper`."""
        response.content_type = "application/octet-stream"
        response.set_stream(self.path.open("rb"), self.path.stat().st_size)


class Count:
    """Many small items, none of which may get lost, doubled or out of order."""

    def on_get(self, _request: falcon.Request, response: falcon.Response) -> None:
        """Send one number per line, each line as an item of its own."""
        response.content_type = falcon.MEDIA_TEXT
        response.stream = self.lines()

    @staticmethod
    def lines() -> Iterator[bytes]:
        """Yield the lines."""
        for number in range(COUNT_ITEMS):
            yield b"%d\n" % number


application = falcon.App()
_sayings = Sayings()
application.add_route("/sayings", _sayings)
application.add_route("/sayings/{key:int}", _sayings, suffix="one")
application.add_route("/blob", Blob())
application.add_route("/count", Count())
