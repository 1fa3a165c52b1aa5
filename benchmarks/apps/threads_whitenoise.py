"""The same application behind WhiteNoise, for a server that has no static files of its own."""

import os

from threads_wsgi import application as pages
from whitenoise import WhiteNoise

application = WhiteNoise(pages, root=os.environ["STATIC_ROOT"], prefix="static/", max_age=86_400)
