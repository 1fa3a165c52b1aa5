"""Attacks on static files: targets, names, ranges and conditions, each with the expected answer."""

from __future__ import annotations

DIGITS = b"0123456789"
CHANGED_S = 1_600_000_000
"""Sun, 13 Sep 2020 12:26:40 GMT."""

NAMES = [
    "plain.txt", "<img src=x onerror=alert(1)>.txt", '"><script>alert(1)<', "'single'.txt", "a&b.txt",
    "&lt;.txt", "javascript:alert(1)", "data:text.html,x", "%2e%2e", "%00.txt", "?query=1.txt",
    "#hash.txt", "a b.txt", " before.txt", "after.txt ", "-rf", "--", "*", "a;b=c.txt", "a=b", "a+b.txt",
    "a,b", "@user", "{{7*7}}", "${x}", "`id`", "|", "^", "[1]", "!", "\u202egnp.exe", "\u975e.txt",
    "\U0001f600", "caf\u00e9.txt", "cafe\u0301.txt", "\u2028.txt", "\xa0.txt", "x" * 255, "a..", "http:",
    "C:", "CON", "%", "%%", "%zz", "%25", "a%", "http___evil", "\ufeff.txt", "\u0130.txt", "a\u200bb.txt",
]  # fmt: skip
"""Names of files that anybody could have uploaded."""

LOST = [
    "/self", "/loop-1", "/loop-1/x", "/up/outside.txt", "/up/site/plain.txt/", "/absolute",
    "/top/etc/passwd", "/device", "/fifo", "/socket", "/dangling", "/to-fifo", "/to-socket",
    "/plain.txt/", "/plain.txt/x", "/plain.txt/.", "/plain.txt/../plain.txt/", "/sub/../../outside.txt",
    "/sub/..%2f..%2foutside.txt", "/..;/outside.txt", "/.%2e/outside.txt", "/%2e./outside.txt",
    "/%252e%252e/outside.txt", "/%c0%ae%c0%ae/outside.txt", "/%e0%80%ae%e0%80%ae/outside.txt",
    "/%f0%80%80%ae/outside.txt", "/%uff0e%uff0e/outside.txt", "/..%c0%af/outside.txt", "/..%5coutside.txt",
    "/..%255coutside.txt", "/%5c..%5coutside.txt", "/\\..\\outside.txt", "//..//outside.txt",
    "/sub//..//..//outside.txt", "/...//outside.txt", "/..../outside.txt", "/..%00/outside.txt",
    "/plain.txt%00.html", "/%00plain.txt", "/plain%00.txt", "/..%0d%0a/outside.txt",
    "/%2f%2f..%2foutside.txt", "/..%2f" * 40 + "etc/passwd", "/" + "../" * 400 + "etc/passwd",
    "/" + "sub/../" * 300 + "../outside.txt", "/." * 500 + "./outside.txt", "/proc/self/environ",
    "/dev/zero", "/etc/passwd", "/" + "x" * 256, "/" + "x/" * 1000, "/PLAIN.TXT", "/plain.txt.",
    "/plain.txt%20", "/plain.txt%0a", "/plain.txt::$DATA", "/plain.txt:stream", "/%EF%BB%BFplain.txt",
    "/plain.txt;.jpg", "/.hidden", "/%2ehidden", "/sub/.hidden", "/sub/%2Ehidden", "/.git/config",
    "/.git%2fconfig", "/.GIT/config", "/a.py", "/a.PY", "/a.p%79", "/a.pyc", "/a.py%00.txt", "/a.py.",
    "/a.py/", "/~", "/...", "/....txt", "/index.html.bak", "/..%252f.txt", "/backup~", "/sub/backup%7e",
]  # fmt: skip
"""Targets that lead nowhere: 404, or 400 if the target itself is malformed."""

SEVERAL = 206
RANGES: list[tuple[str, int, bytes | None]] = [
    ("bytes=0-9", 206, DIGITS), ("bytes=0-10", 206, DIGITS), ("bytes=9-9", 206, b"9"),
    ("bytes=9-", 206, b"9"), ("bytes=10-", 416, None), ("bytes=10-10", 416, None),
    ("bytes=-10", 206, DIGITS), ("bytes=-11", 206, DIGITS), ("bytes=-0", 416, None),
    ("bytes=-00", 416, None), ("bytes=00-00", 206, b"0"), ("bytes=000000000000000001-1", 206, b"1"),
    ("bytes=0-18446744073709551615", 206, DIGITS), ("bytes=0-18446744073709551616", 206, DIGITS),
    ("bytes=18446744073709551615-", 416, None), ("bytes=18446744073709551616-", 416, None),
    ("bytes=-18446744073709551615", 206, DIGITS), ("bytes=-18446744073709551616", 206, DIGITS),
    ("bytes=9223372036854775807-9223372036854775808", 416, None), ("bytes=" + "9" * 4000 + "-", 416, None),
    ("bytes=0-" + "9" * 4000, 206, DIGITS), ("bytes=-" + "9" * 4000, 206, DIGITS),
    ("bytes=1-0", 200, DIGITS), ("bytes=5-4,0-1", 200, DIGITS), ("bytes=0-1,5-4", 200, DIGITS),
    ("bytes=0-1,x", 200, DIGITS), ("bytes=0-1,10-", 206, b"01"), ("bytes=10-,0-1", 206, b"01"),
    ("bytes=10-,11-", 416, None), ("bytes=10-,-0", 416, None), ("bytes=0-0,0-0,0-0", 206, b"0"),
    ("bytes=0-,0-,0-,0-", 206, DIGITS), ("bytes=0-5,5-9", 206, DIGITS), ("bytes=-5,0-4", 206, DIGITS),
    ("bytes=0-4,-5,3-3", 206, DIGITS), ("bytes=9-9,8-8,7-7", 206, b"789"), ("bytes=0-1-2", 200, DIGITS),
    ("bytes=--1", 200, DIGITS), ("bytes=-1-", 200, DIGITS), ("bytes=-", 200, DIGITS),
    ("bytes=+0-1", 200, DIGITS), ("bytes=0-+1", 200, DIGITS), ("bytes=0x0-1", 200, DIGITS),
    ("bytes=0.0-1", 200, DIGITS), ("bytes=0-1;q=1", 200, DIGITS), ("bytes=0-1 5-6", 200, DIGITS),
    ("bytes=0 - 1", 200, DIGITS), ("bytes = 0-1", 200, DIGITS), ("bytes:0-1", 200, DIGITS),
    ("byte=0-1", 200, DIGITS), ("bytess=0-1", 200, DIGITS), ("items=0-1", 200, DIGITS),
    ("=0-1", 200, DIGITS), ("bytes=\xb2-", 200, DIGITS), ("bytes=0-1\xa0", 200, DIGITS),
    ("bytes=,", 200, DIGITS), ("bytes=*", 200, DIGITS), ("bytes=0-*", 200, DIGITS),
    ("bytes=0-1/10", 200, DIGITS), ("bytes 0-1/10", 200, DIGITS), ("bytes=NaN-", 200, DIGITS),
    ("bytes=0-1,bytes=2-3", 200, DIGITS), ('"bytes=0-1"', 200, DIGITS),
]  # fmt: skip

CONDITIONS: list[tuple[str, str, int]] = [
    *(("If-Modified-Since", value, 200) for value in [
        "", " ", "0", "-1", "1600000000", "now", "Sun, 13 Sep 2020 12:26:40",
        "Sun, 13 Sep 2020 12:26:40 UTC", "Sun, 13 Sep 2020 12:26:40 +0000",
        "Sun, 13 Sep 2020 25:26:40 GMT", "Sun, 13 Sep 2020 12:60:40 GMT", "Sun, 32 Sep 2020 12:26:40 GMT",
        "Sun, 13 Foo 2020 12:26:40 GMT", "Sun, 00 Sep 2020 12:26:40 GMT", "Sun, 13 Sep 99999 12:26:40 GMT",
        "Sun, 13 Sep -001 12:26:40 GMT", "2020-09-13T12:26:40Z", "9" * 4000, "\xff" * 50,
        "Sun, 13 Sep 2020 12:26:39 GMT", "Thu, 01 Jan 1970 00:00:00 GMT", "Sun, 13 Sep 0000 12:26:40 GMT",
        "Sun, 13 Sep 2020 12:26:40 GMT, Mon, 14 Sep 2020 12:26:40 GMT", "*", '"x"',
    ]),
    *(("If-Modified-Since", value, 304) for value in [
        "Sun, 13 Sep 2020 12:26:40 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "Sun, 13 Sep 2020 12:26:41 GMT",
    ]),
    *(("If-Unmodified-Since", value, 200) for value in [
        "", "0", "never", "Sun, 13 Sep 2020 12:26:40 GMT", "Fri, 31 Dec 9999 23:59:59 GMT",
        "Sun, 99 Sep 2020 12:26:40 GMT",
    ]),
    *(("If-Unmodified-Since", value, 412) for value in [
        "Sun, 13 Sep 2020 12:26:39 GMT", "Thu, 01 Jan 1970 00:00:00 GMT",
    ]),
    *(("If-None-Match", value, 200) for value in [
        "", ",", '"', '""', "W/", 'w/"x"', 'W/"x', "x", '"x" "y"', '"' * 4001,
        '"x",' * 1000 + '"y"', "W/" * 2000, "\xff", '"\xff\xfe"', '"a,b"', '"a"b"', "'x'",
        "W/*", '"*"', "**", "*, *x",
    ]),
    *(("If-None-Match", value, 304) for value in ["*", " * ", "\t*"]),
    *(("If-Match", value, 412) for value in [
        '""', 'W/"x"', "x", '"x",' * 1000 + '"y"', '"\xff\xfe"', '"a,b"', "W/*", '"*"',
    ]),
    *(("If-Match", value, 200) for value in ["*", " * "]),
]  # fmt: skip
