"""Radicale, a server of calendars, whose users need no passwords."""

import os

from radicale import Application, config

_settings = config.load()
_settings.update(
    {
        "auth": {"type": "none"},
        "rights": {"type": "authenticated"},
        "storage": {"filesystem_folder": os.environ["SITE_DATA"]},
        "web": {"type": "none"},
    },
    "the test",
)
application = Application(_settings)
