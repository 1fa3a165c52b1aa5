"""Applications and folders that files of sites name."""

from __future__ import annotations

from pathlib import Path

import pytest

BCRYPT = "$2y$05$abcdefghijklmnopqrstuuHNbAKRhpaujgo33bRWs.NLUTJO3lOy2"
"""The password "correct horse", hashed."""

APPLICATION = Path(__file__).with_name("application.py").read_text(encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a folder with two applications and a folder of files."""
    for name in ("shop", "blog"):
        (tmp_path / f"{name}.py").write_text(APPLICATION, encoding="utf-8")
    (tmp_path / "public/static").mkdir(parents=True)
    (tmp_path / "public/static/site.css").write_text("p {}\n", encoding="utf-8")
    (tmp_path / "public/static/secret").mkdir()
    (tmp_path / "public/static/secret/key.txt").write_text("secret\n", encoding="utf-8")
    (tmp_path / "public/private").mkdir()
    (tmp_path / "errors").mkdir()
    for name in ("who", "busy"):
        (tmp_path / f"errors/{name}.html").write_text(f"<p>{name}?", encoding="utf-8")
    (tmp_path / "staff.htpasswd").write_text(f"ann:{BCRYPT}\n", encoding="utf-8")
    return tmp_path


def write(project: Path, text: str) -> Path:
    """Write the file of sites of a project."""
    file = project / "site.toml"
    file.write_text(text, encoding="utf-8")
    return file
