"""A Bottle service that answers with the length and the hash of the body that reached it."""

import hashlib

import bottle

application = bottle.Bottle()


@application.post("/digest")
def digest() -> dict[str, object]:
    """Tell the length of the body and its hash, as Bottle reads it."""
    data = bottle.request.body.read()
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


@application.post("/form")
def form() -> dict[str, str]:
    """Tell the fields of a form."""
    return dict(bottle.request.forms)
