"""The folder `$SITE_DATA` over WebDAV, by wsgidav, which keeps locks and properties in memory."""

from __future__ import annotations

import os

from wsgidav.wsgidav_app import WsgiDAVApp

application = WsgiDAVApp(
    {
        "provider_mapping": {"/": os.environ["SITE_DATA"]},
        "simple_dc": {"user_mapping": {"*": True}},
        "lock_storage": True,
        "property_manager": True,
        "logging": {"enable": False},
        "verbose": 0,
    }
)
