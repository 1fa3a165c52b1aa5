"""The application that is measured, with its requests counted."""

from __future__ import annotations

import adyton.counting
from application import application as uncounted

application = adyton.counting.wsgi(uncounted)
