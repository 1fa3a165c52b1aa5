"""The repository `$REPOSITORY` over HTTP, by dulwich."""

from __future__ import annotations

import os

from dulwich.repo import Repo
from dulwich.server import DictBackend
from dulwich.web import make_wsgi_chain

application = make_wsgi_chain(DictBackend({"/": Repo(os.environ["REPOSITORY"])}))
