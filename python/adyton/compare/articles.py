"""The articles that the pages from a database or a template show."""

from __future__ import annotations

ARTICLES = [
    (
        number,
        f"Lyre & plectrum no. {number}",
        100 + 7 * number,
        f"Strung by hand, tuned in mode {number}. " * 3,
    )
    for number in range(1, 43)
]
"""42 articles: they make a page of 7 KB."""
NAMES = ("number", "name", "price", "text")
"""Parts of each article."""
