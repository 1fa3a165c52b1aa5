"""The application that the settings name: how it is found, what it is, and why it could not be loaded.

Modules in here import as little as possible: they run before the first answer.
"""

from __future__ import annotations

import os

#: The folder of the package ``adyton``.
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
