#!/usr/bin/python3
"""A form with an upload, read by `cgi.FieldStorage`, and the page that `cgitb` makes of a failure."""

import cgi
import cgitb
import os
import sys
from hashlib import md5


def lines(form: cgi.FieldStorage) -> list[str]:
    """Return what was sent, a line for each field."""
    said = []
    for item in sorted(form.list, key=lambda item: item.name):
        if item.filename is None:
            said.append(f"{item.name}={item.value}")
        else:
            digest = md5(item.value).hexdigest()  # noqa: S324 - no secret
            said.append(f"{item.name}: {item.filename} {item.type} {len(item.value)} {digest}")
    return said


def main() -> None:
    """Answer with what was sent."""
    if os.environ.get("PATH_INFO") == "/fails":
        # The long page of cgitb has the time, and addresses in memory.
        cgitb.enable(display=0)
    form = cgi.FieldStorage(keep_blank_values=True)
    said = [os.environ["REQUEST_METHOD"], f"from {form.getfirst('name', 'nobody')}"]
    if os.environ.get("PATH_INFO") == "/fails":
        raise ValueError(said)
    text = "\n".join(["Content-Type: text/plain; charset=utf-8", "", *said, *lines(form), ""])
    sys.stdout.buffer.write(text.encode())


main()
