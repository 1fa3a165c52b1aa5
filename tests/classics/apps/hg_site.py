"""The repository `$REPOSITORY` over HTTP, by Mercurial's hgweb."""

from __future__ import annotations

import os

from mercurial.hgweb import hgweb

application = hgweb(os.environ["REPOSITORY"].encode())
