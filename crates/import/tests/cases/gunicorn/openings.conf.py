"""Assignments that code may make, and that are not run."""
import os
from settings import *

wsgi_app = "shop"
bind = ":443"
user = os.environ["RUN_AS"]
if os.path.exists("a.pem"):
    certfile = "a.pem"
    cert_reqs = 2


def pre_request(worker, req):
    raise ValueError(req.path)


def post_fork(server, worker):
    user = worker.pid
