"""Dulwich, git in Python: one bare repository over smart HTTP."""

import os

from dulwich.repo import Repo
from dulwich.server import DictBackend
from dulwich.web import make_wsgi_chain

application = make_wsgi_chain(DictBackend({"/": Repo(os.environ["SITE_DATA"])}))
