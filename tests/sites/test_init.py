"""`adyton init`: a first file of sites, which is valid without changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.server import AS_ROOT, run

if TYPE_CHECKING:
    from pathlib import Path

    from support.server import Servers

WSGI = """
def {name}(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"from {name}"]
"""

DJANGO = {
    "manage.py": "os.environ.setdefault('DJANGO_SETTINGS_MODULE', 'shop.settings')\n",
    "shop/__init__.py": "",
    "shop/wsgi.py": WSGI.format(name="application"),
    "staticfiles/site.css": "p {}",
}

SETTINGS = """
from pathlib import Path
BASE_DIR = Path(__file__).resolve().parent.parent
STATIC_URL = "assets/"
STATIC_ROOT = BASE_DIR / "collected"
"""
"""Settings that say where Django's static files are; one folder of sources does not exist."""

WITH_SETTINGS = DJANGO | {
    "shop/settings.py": SETTINGS,
    "collected/site.css": "p {}",
    "static/site.css": "source",
}

FOLDERS = [
    (
        WITH_SETTINGS,
        {"/assets/site.css": b"p {}", "/static/site.css": b"from application", "/": b"from application"},
    ),
    (DJANGO, {"/": b"from application", "/static/site.css": b"p {}"}),
    ({"app.py": WSGI.format(name="app")}, {"/x": b"from app"}),
    ({"main.py": "def create_app():\n    return made\n" + WSGI.format(name="made")}, {"/": b"from made"}),
    ({"api.py": "def handler(request):\n    return request.path\n"}, {"/x": b"/x"}),
    ({"public/index.html": "front", "secret": "s"}, {"/": b"front", "/secret": 404}),
    ({"index.html": "front"}, {"/": b"front", "/site.toml": 404, "/%73ite.toml": 404, "//site.toml": 404}),
    ({}, {"/": b"Adyton is here.\n"}),
]
"""Files of a folder, and the answers of its first file of sites."""


@pytest.mark.parametrize(("files", "answers"), FOLDERS)
def test_first_file(
    serve: Servers, tmp_path: Path, files: dict[str, str], answers: dict[str, bytes | int]
) -> None:
    """The file is written once, has no mistakes, and serves the files and applications that were found."""
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    first, again = (run("init", cwd=tmp_path) for _ in range(2))

    assert (0, "") == (first.returncode, first.stderr)
    assert first.stdout.startswith("site.toml is written; ")
    assert (2, "adyton: site.toml is there already, and was left alone\n") == (again.returncode, again.stderr)
    assert 0 == run("check", "site.toml", cwd=tmp_path).returncode
    text = (tmp_path / "site.toml").read_text(encoding="utf-8")
    (tmp_path / "site.toml").write_text(text.replace("127.0.0.1:8000", "127.0.0.1:0"), encoding="utf-8")
    server = serve(tmp_path / "site.toml", cwd=tmp_path)
    for target, answer in answers.items():
        response = server.fetch(target, lint_answers=False)

        assert answer == (response.body if response.status == 200 else response.status), target


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("DEBUG = True\n", "shop/settings.py sets no STATIC_ROOT: set it, have "),
        (
            'STATIC_ROOT = env("STATIC")\n',
            "STATIC_ROOT is computed in shop/settings.py, which was not run: ",
        ),
        ('STATIC_URL = "https://cdn.example/"\nSTATIC_ROOT = "static"\n', ""),
        (
            "BASE_DIR = Path(__file__).resolve().parents[1]\nSTATIC_ROOT = BASE_DIR\n",
            "where the project itself lies: choose a folder that has nothing else",
        ),
        (
            'BASE = Path(__file__).parent\nSTATIC_URL = "https://a/"\nMEDIA_URL = "/m/"\nMEDIA_ROOT = BASE\n',
            "where the project itself lies: choose a folder that has nothing else",
        ),
    ],
)
def test_no_harm_for_django(tmp_path: Path, settings: str, said: str) -> None:
    """Unknown settings for static files are reported, no code is run, and the project is never served."""
    broken = f"raise SystemExit\n{settings}"
    for name, text in (DJANGO | {"shop/settings.py": broken, "static/site.css": "source"}).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    made = run("init", cwd=tmp_path)
    text = (tmp_path / "site.toml").read_text(encoding="utf-8")
    routes = [line for line in text.splitlines() if line.startswith(("files =", "path ="))]

    assert (0, "") == (made.returncode, made.stderr)
    assert said in " ".join(text.replace("\n#", " ").split())
    assert [] == routes


def test_what_is_proposed(tmp_path: Path) -> None:
    """Commented lines are valid after they are uncommented, and put no log into a served folder."""
    (tmp_path / "index.html").write_text("front", encoding="utf-8")
    run("init", cwd=tmp_path)
    file = tmp_path / "site.toml"
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("# access-log", "access-log"), encoding="utf-8")
    checked = run("check", "site.toml", cwd=tmp_path)

    assert "access-log" in text
    assert (0, "") == (checked.returncode, AS_ROOT.sub("", checked.stderr))


def test_wrong_folder(tmp_path: Path) -> None:
    """A folder that cannot be read or written is reported."""
    missing, flag = run("init", "none", cwd=tmp_path), run("init", "--force", cwd=tmp_path)

    assert (2, "adyton: none: No such file or directory (os error 2)\n") == (
        missing.returncode,
        missing.stderr,
    )
    assert (2, "adyton: the command is: adyton init [FOLDER]\n") == (flag.returncode, flag.stderr)
