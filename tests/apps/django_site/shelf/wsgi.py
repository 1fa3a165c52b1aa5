"""The application that the server is told to serve: `adyton serve shelf.wsgi:application`."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shelf.settings")

application = get_wsgi_application()
