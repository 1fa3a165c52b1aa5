"""Django's command line for the test site: `python manage.py migrate` and the like."""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shelf.settings")
    execute_from_command_line(sys.argv)
