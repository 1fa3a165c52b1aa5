"""Wrong values for every setting, by the shape that the help shows; and a program that tries them."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from typing import Any

CONTROLS = ["1\n2", "\x1b[31m1", "1\r", "\t", "1\x7f", "\x07"]
NUMBERS = [
    "-1", "+1", "1_000", "0x10", "0b1", "0o7", "1e3", " 1", "1 ", ".", "1.", ".5", "1.5.5", "1..5", "-0",
    "--", "1-2", "\u0665", "\uff11", "\xbd", "\xb2", "1\xa0", "1,000", "1'000", "NaN", "inf", "None",
    "null", "true", "[]", "{1}", "18446744073709551616", "9" * 400, "1." + "0" * 40, "1q", "1kk", "1 q",
    "k", "%d", "$HOME", "`1`", "1;2", "1#2", *CONTROLS,
]  # fmt: skip
SWITCHES = [
    "maybe", "2", "-1", "+1", "00", "01", "on ", " on", "onn", "on,off", "o", "\u043en", "0.0", "None",
    "null", "[]", "enabled", "\uff2f\uff2e", *CONTROLS,
]  # fmt: skip
WORDS = [
    "nonsense",
    "-",
    "0",
    " ",
    ",",
    "*",
    "\u0430uto",
    "auto ",
    " auto",
    "auto,auto",
    "%s",
    "../",
    *CONTROLS,
]
OCTALS = [
    "8", "9", "0x1ff", "0o660", "+660", "-660", "1000", "0660.0", "rw-rw----", "u=rw", "66\u0660", "6 6",
    " 660", "777777777777", "99999999999999", *CONTROLS,
]  # fmt: skip
ADDRESSES = [
    "nonsense", ":", "::", "::1", ":::1", "[::1]", "[::1", "::1]:80", "[::g]:80", "[]:80", "127.0.0.1",
    "127.0.0.1:", "127.0.0.1:+80", "127.0.0.1:-1", "127.0.0.1:65536", "127.0.0.1:8_0", "127.0.0.1:0x50",
    "127.0.0.1:\u0668\u0660", "127.0.0.1: 80", " 127.0.0.1:80", "127.0.0.1:80 ", "127.0.0.1:80:80",
    "a b:80", "a/b:80", "a@b:80", "*:80", "http://127.0.0.1:80", "tcp://127.0.0.1:80", "unix:",
    "unix:" + "a" * 108, "fd://", "fd://x", "fd://-1", "fd://+3", "fd://3.0", "fd://99999999999",
    "caf\xe9:80", "a" * 254 + ":80", "a%20b:80", "a:80/", *CONTROLS,
]  # fmt: skip

VALUES: dict[str, list[str]] = {
    "N": [*NUMBERS, "1.5", "1k", "1s"],
    "BYTES": [*NUMBERS, "1s", "1t", "1kb", "1k i", "0.3", "1.5", "0.0001k"],
    "TIME": [*NUMBERS, "1d", "1w", "1 s", "s", "1us", "0.1ms", "1s1s", "1:00", "PT1S", "1h30m"],
    "RATE": [*NUMBERS, "1/m", "1/", "/s", "1/s/s", "1 /s", "1b/s"],
    "on|off": SWITCHES,
    "OCTAL": OCTALS,
}
"""Values by shape."""

FORMS: dict[str, list[str]] = {
    "--bind": ADDRESSES,
    "--admin": [value for value in ADDRESSES if value != "off"],
    "--host": ["", " ", "a b", "a/b", "[::1", "::1]", "::g", "1:2", "caf\xe9", "a" * 254, "a:80", "*", "a,b",
               *CONTROLS],
    "--port": [*(value for value in NUMBERS if value != "1."), "65536", "http", "80/tcp", ":80"],
    "--processes": ["-1", "+1", "+0", "00", "01.5", "1025", "1e1", " 1", "two", "Auto ", "\u0662", "9" * 40,
                    *CONTROLS],
    "--env": ["A", "=", "=b", " ", "\u00e9", *CONTROLS],
    "--static": [
        "/a", "=", "=/", "/a=", "a=.", "/a b=.", "/%61=.", "/../=.", "/./=.", "//=.", "/a//b=.", "/a?=.",
        "/a#=.", "/\u00e9=.", "/a\\=.", "/<a>=.", "/a\0=."[:2], *CONTROLS,
    ],
    "--static-cache-control": ["", " ", " a", "a ", "caf\xe9", "a\r\nX-Evil: b", *CONTROLS],
    "--static-404": ["", "/", "..", "../x", "a/../b", "./a", "a//b", "a/", "a/."],
    "--static-fallback": ["", "/", "..", "../x", "a/../b", "./a", "a//b", "a/", "a/."],
    "--server-header": ["", " ", " a", "a ", "caf\xe9", "a\r\nX-Evil: b", *CONTROLS],
    "--access-log": [
        "", "syslog:", "syslog::", "syslog:host", "syslog::514", "syslog:host:", "syslog:host:0",
        "syslog:host:+5", "syslog:host:65536", "syslog:host:-1", "syslog:host:x", "syslog:a/b:c",
    ],
    "--error-log": ["", "off", "syslog:", "syslog:host", "syslog:host:+514", "syslog:host:99999"],
    "--access-log-format": ["", "nonsense", "COMBINED ", "h", "%h\n", "%h\x1b", "%h\r\nX"],
    "--request-id-header": [
        "X Y", "X:", "X\u00e9", "(X)", "X,Y", "Host", "content-length", "COOKIE", "Set-Cookie", "Date",
        *CONTROLS,
    ],
    "--user": [""],
    "--group": [""],
    "--control": [""],
}  # fmt: skip
"""Values by name, for settings that have a grammar of their own."""


def values_of(name: str, shape: str) -> list[str]:
    """Return wrong values for a setting; for a path only the empty one, because any other may be a path."""
    if name in FORMS:
        return FORMS[name]
    if shape in VALUES:
        return ["", *VALUES[shape]]
    return ["", *WORDS] if "|" in shape and "PATH" not in shape and "FILE" not in shape else [""]


def variable(name: str) -> str:
    """Return the environment variable for the setting of a flag."""
    return "ADYTON_" + name.removeprefix("--").replace("-", "_").upper()


def keyword(name: str) -> str:
    """Return the keyword of `adyton.serve` for the setting of a flag."""
    return name.removeprefix("--").replace("-", "_")


def tried(source: str, name: str, value: str) -> tuple[int, str]:
    """Give one value; return exit status and message. The target does not exist: no server starts."""
    from adyton import serve  # noqa: PLC0415 (this runs in a process of its own)
    from adyton._core import main  # noqa: PLC0415

    if source == "keyword":
        try:
            # If the value is accepted, `chdir` is refused, because its folder does not exist.
            serve(print, **{"chdir": "/no/such/folder", keyword(name): value})  # type: ignore[arg-type]
        except (ValueError, TypeError, OSError) as error:
            return 2, f"adyton: {error}\n"
        return 0, ""
    with tempfile.TemporaryFile() as said:
        kept = os.dup(2)
        os.dup2(said.fileno(), 2)
        try:
            if source == "variable":
                os.environ[variable(name)] = value
            flags = [f"{name}={value}"] if source == "flag" else []
            status = main(["check", "/no/such/target.py", *flags], False)  # noqa: FBT003
        finally:
            os.environ.pop(variable(name), None)
            os.dup2(kept, 2)
            os.close(kept)
        said.seek(0)
        return status, said.read().decode()


def run() -> None:
    """Try each case of the input, and print its result."""
    asked: list[Any] = json.load(sys.stdin)
    json.dump([tried(*case) for case in asked], sys.stdout)


if __name__ == "__main__":
    run()
