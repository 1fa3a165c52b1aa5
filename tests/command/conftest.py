"""Files for the command's tests."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def application() -> Path:
    """Return the file of the application."""
    return Path(__file__).with_name("application.py")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a folder with a package, some modules, and some that fail."""
    answer = (
        "def {name}(environ, start_response):\n"
        "    start_response('200 OK', [('Content-Type', 'text/plain')])\n"
        "    return [{body!r}]\n"
    )
    files = {
        "package/__init__.py": "",
        "package/wsgi.py": answer.format(name="application", body=b"package.wsgi:application"),
        "package/nested.py": "class Holder:\n    @staticmethod\n"
        + "".join(f"    {line}\n" for line in answer.format(name="app", body=b"nested").splitlines()),
        "all_three.py": answer.format(name="app", body=b"app")
        + answer.format(name="application", body=b"application")
        + "def handler(request):\n    return 'handler'\n",
        "app_only.py": answer.format(name="app", body=b"app"),
        "handler_only.py": "def handler(request):\n    return 'handler'\n",
        "made.py": answer.format(name="inner", body=b"made") + "def create_app():\n    return inner\n",
        "none_at_all.py": "value = 5\n",
        "not_callable.py": "application = 5\n",
        "raises.py": "import json\n\ndef fail():\n    raise RuntimeError('at import')\n\nfail()\n",
        "imports.py": "import no_such_module_of_ours\n",
        "imports_raises.py": "import raises\n",
        "syntax.py": "def x(:\n",
        "exits.py": "import sys\nsys.exit('not today')\n",
        "exits_zero.py": "raise SystemExit\n",
        "factory_raises.py": "def create_app():\n    raise LookupError('in the factory')\n",
        "dashed-name.py": answer.format(name="application", body=b"dashed"),
        "json.py": answer.format(name="application", body=b"shadows"),
    }
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return tmp_path
