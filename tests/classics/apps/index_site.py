"""An index of Python packages in `$SITE_DATA`, by pypiserver; everybody may upload."""

from __future__ import annotations

import os

import pypiserver

# "." is no password: it names a file with passwords, of which there is none.
application = pypiserver.app(roots=[os.environ["SITE_DATA"]], password_file=".", authenticate=[])  # noqa: S106
