"""Metrics in Prometheus' text format."""

from __future__ import annotations

import re

LABEL = r'[a-z]+="[^"]*"'
LINE = re.compile(
    r"# (HELP|TYPE) [a-z_]+ .+"
    rf"|[a-z_]+(\{{{LABEL}(,{LABEL})*\}})? [0-9.]+"
)


def assert_is_prometheus(text: str) -> None:
    """Check each line, that no family or series occurs twice, and that histograms are cumulative."""
    assert text.endswith("\n")
    names = []
    for line in text.splitlines():
        assert LINE.fullmatch(line), line
        if line.startswith("# TYPE"):
            names.append(line.split()[2])
    assert len(names) == len(set(names))
    series = [line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(series) == len(set(series))
    for name in re.findall(r"# TYPE ([a-z_]+) histogram", text):
        buckets = [
            int(count) for count in re.findall(rf"^{name}_bucket\{{[^}}]*\}} (\d+)$", text, re.MULTILINE)
        ]

        assert buckets == sorted(buckets)
        assert f"{name}_count {buckets[-1]}\n" in text
