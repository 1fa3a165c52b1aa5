"""An index of Python packages in `$SITE_DATA`, by pypiserver; everybody may upload."""

from __future__ import annotations

import os

import pypiserver

# "." is not a password: it says that there is no file with passwords.
application = pypiserver.app(roots=[os.environ["SITE_DATA"]], password_file=".", authenticate=[])  # noqa: S106
