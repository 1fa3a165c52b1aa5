"""Draws the pictures of the gallery: `python examples/site/make_images.py [FOLDER]`.

It uses only the standard library, and nothing random: it always draws the same pictures.
"""

import math
import random
import struct
import sys
import zlib
from collections.abc import Iterable
from pathlib import Path

WIDTH, HEIGHT = 720, 540
ESCAPE_RADIUS = 2  # In a Julia set, a point beyond this radius never returns.
NIGHT, INK, CLAY, SAND, BONE, GOLD, LEAF, WINE = (
    "#141a2b", "#1b1512", "#c8623a", "#e0b58a", "#f3e7d3", "#f2b84b", "#4f7a4a", "#8d2f3b",
)  # fmt: skip


def main() -> None:
    """Write every picture into the folder named on the command line, or beside the site."""
    folder = (
        Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent / "static" / "gallery"
    )
    for name, picture in draw().items():
        (folder / name).write_bytes(picture)


def draw() -> dict[str, bytes]:
    """Draw all pictures, by the name of their file."""
    drawings = {
        "temple": temple(),
        "parnassus": parnassus(),
        "laurel": laurel(),
        "amphora": amphora(),
        "meander": meander(),
        "lyre": lyre(),
        "sunflower": sunflower(),
    }
    return {f"{name}.svg": text.encode() for name, text in drawings.items()} | {"vapour.png": vapour()}


def svg(background: str, parts: Iterable[str]) -> str:
    """Put parts together to a drawing of the common size."""
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n'
        f'<rect width="100%" height="100%" fill="{background}"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def path(points: Iterable[tuple[float, float]], style: str, *, closed: bool = False) -> str:
    """Draw a line through the points."""
    data = "L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    return f'<path d="M{data}{"Z" if closed else ""}" {style}/>'


def rect(x: float, y: float, width: float, height: float, fill: str) -> str:
    """Draw a filled rectangle."""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"/>'


def circle(x: float, y: float, radius: float, fill: str) -> str:
    """Draw a filled circle."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{fill}"/>'


def gradient(kind: str, attributes: str, stops: dict[float, str]) -> str:
    """Define a gradient to fill with."""
    listed = "".join(f'<stop offset="{at}" stop-color="{tone}"/>' for at, tone in stops.items())
    return f"<defs><{kind}Gradient {attributes}>{listed}</{kind}Gradient></defs>"


def temple() -> str:
    """Draw six columns, a pediment, three steps, stars above and a light within."""
    stars = random.Random(4)  # noqa: S311 - stars, not secrets.
    parts = [
        gradient("radial", 'id="glow" cy="75%"', {0: "#ffdf9a", 0.55: CLAY, 1: WINE}),
        gradient("linear", 'id="sky" x2="0" y2="1"', {0: "#0b1020", 1: "#38365c"}),
        rect(0, 0, WIDTH, HEIGHT, "url(#sky)"),
    ]
    for _ in range(140):
        x, y, size = stars.uniform(0, WIDTH), stars.uniform(0, 330), stars.uniform(0.4, 1.7)
        parts.append(circle(x, y, size, BONE))
    parts += [circle(598, 92, 34, BONE), circle(584, 84, 31, "#161a31")]
    parts += [rect(0, 458, WIDTH, 82, "#0d0f1c"), rect(150, 236, 420, 200, "url(#glow)")]
    for column in range(6):
        centre = 172 + column * 75.2
        shaft = [(centre - 15, 250), (centre + 15, 250), (centre + 19, 428), (centre - 19, 428)]
        parts.append(path(shaft, f'fill="{SAND}"', closed=True))
        for flute in (-9, -3, 3, 9):
            ends = [(centre + flute, 252), (centre + flute * 1.25, 427)]
            parts.append(path(ends, 'stroke="#a97f5c" stroke-width="1.6"'))
        parts += [rect(centre - 23, 240, 46, 10, BONE), rect(centre - 22, 428, 44, 8, BONE)]
    parts += [rect(128, 216, 464, 24, SAND), rect(128, 212, 464, 5, BONE)]
    parts += [rect(134 + i * 22.2, 221, 9, 14, "#a97f5c") for i in range(21)]
    parts.append(path([(116, 212), (360, 128), (604, 212)], f'fill="{BONE}"', closed=True))
    parts.append(path([(166, 205), (360, 139), (554, 205)], f'fill="{CLAY}"', closed=True))
    parts += [circle(360, 180, 15, GOLD), circle(360, 120, 7, GOLD)]
    parts += [
        rect(128 - i * 18, 436 + i * 12, 464 + i * 36, 12, tone)
        for i, tone in enumerate((BONE, SAND, "#b98f69"))
    ]
    return svg(NIGHT, parts)


def parnassus() -> str:
    """Draw seven ridges, each nearer and darker than the one behind it."""
    parts = [
        gradient("linear", 'id="dusk" x2="0" y2="1"', {0: "#3d3a6b", 0.45: "#c76b5b", 0.8: "#ffd28a"}),
        rect(0, 0, WIDTH, HEIGHT, "url(#dusk)"),
        circle(470, 236, 46, "#fff0c2"),
    ]
    for ridge in range(7):
        near = ridge / 6
        tone = mix((214, 140, 120), (24, 22, 44), near)
        base, height = 250 + 42 * ridge, 78 - 5 * ridge
        line = [(x, base - height * relief(x / WIDTH, ridge)) for x in range(0, WIDTH + 1, 5)]
        parts.append(path([(0, HEIGHT), *line, (WIDTH, HEIGHT)], f'fill="{tone}"', closed=True))
    return svg(NIGHT, parts)


def relief(x: float, seed: int) -> float:
    """Return the height of a skyline, from about -1 to 1: folded waves make sharp peaks."""
    total, size = 0.0, 1.0
    for octave in range(6):
        wave = math.sin(x * 2.1 * 2**octave * (1 + 0.07 * seed) + seed * 1.9 + octave * 1.3)
        total, size = total + size * (1 - 2 * abs(wave)), size * 0.47
    return total / 1.8


def laurel() -> str:
    """Draw two branches of leaves, mirrored."""
    parts = []
    for side in (-1, 1):
        stem = [(360 + side * 170 * math.sin(a), 280 + 170 * math.cos(a)) for a in steps(0.06, 2.62, 50)]
        parts.append(path(stem, f'fill="none" stroke="{LEAF}" stroke-width="5" stroke-linecap="round"'))
        for index in range(17):
            angle = 0.16 + index * 0.152
            x, y = 360 + side * 170 * math.sin(angle), 280 + 170 * math.cos(angle)
            along = math.atan2(-math.sin(angle), side * math.cos(angle))
            for turn, length in ((0.55, 62), (-0.55, 54), (0.0, 40)):
                tone = mix((64, 104, 62), (152, 178, 104), 0.5 + turn * side * 0.8)
                parts.append(leaf((x, y), along + turn, length, tone))
            if index % 3 == 1:
                parts.append(circle(x + 9 * math.sin(angle) * side, y + 9 * math.cos(angle), 6.5, WINE))
    parts.append(path([(340, 462), (360, 446), (380, 462)], f'fill="none" stroke="{CLAY}" stroke-width="8"'))
    return svg(BONE, parts)


def leaf(root: tuple[float, float], direction: float, length: float, fill: str) -> str:
    """Draw a pointed leaf with a rib."""
    (x, y), (c, s) = root, (math.cos(direction), math.sin(direction))
    spots = [(0.35, -0.24), (0.7, -0.16), (1.0, 0.0), (0.35, 0.24), (0.7, 0.16), (0.85, 0.0)]
    (a, b, tip, d, e, rib) = (
        f"{x + length * (u * c - v * s):.1f} {y + length * (u * s + v * c):.1f}" for u, v in spots
    )
    start = f"{x:.1f} {y:.1f}"
    return (
        f'<path d="M{start}C{a} {b} {tip}C{e} {d} {start}" fill="{fill}"/>'
        f'<path d="M{start}L{rib}" stroke="#2f4a30" stroke-width=".8"/>'
    )


def amphora() -> str:
    """Draw a silhouette turned on a wheel, with bands on it."""
    profile = [
        (52, 60), (58, 70), (50, 82), (40, 92), (38, 150), (44, 176), (92, 208), (120, 252),
        (122, 300), (104, 356), (72, 406), (44, 444), (36, 462), (66, 478), (70, 492),
    ]  # fmt: skip
    right = smooth([(360.0 + radius, float(y)) for radius, y in profile])
    outline = right + [(720 - x, y) for x, y in reversed(right)]
    parts = [
        f'<ellipse cx="360" cy="496" rx="150" ry="14" fill="{INK}" opacity=".25"/>',
        f'<clipPath id="body">{path(outline, "", closed=True)}</clipPath>',
    ]
    for side in (-1, 1):
        top, bow, low, foot = (360 + side * across for across in (44, 128, 130, 84))
        handle = f"M{top} 100C{bow} 84 {low} 190 {foot} 214"
        style = f'fill="none" stroke="{INK}" stroke-width="15" stroke-linecap="round"'
        parts.append(f'<path d="{handle}" {style}/>')
    bands = [
        rect(200, 40, 320, 460, INK),
        rect(200, 216, 320, 118, CLAY),
        rect(200, 108, 320, 34, CLAY),
    ]
    bands += [
        rect(200, 440, 320, 10, CLAY),
        rect(200, 338, 320, 4, CLAY),
        rect(200, 208, 320, 4, CLAY),
    ]
    bands += [key(232 + i * 26.0, 128.0, 4.6, INK) for i in range(11)]
    bands += [
        path([(225 + i * 18, 438), (234 + i * 18, 372), (243 + i * 18, 438)], f'fill="{CLAY}"')
        for i in range(16)
    ]
    for i in range(5):
        x = 248 + i * 56
        style = f'fill="none" stroke="{INK}" stroke-width="6"'
        bands.append(f'<path d="M{x - 20} 304a20 20 0 1 1 24 -19.6" {style}/>')
        bands += [circle(x, 276, 7, INK), leaf((x + 26, 322), -math.pi / 2, 92, INK)]
    parts.append(f'<g clip-path="url(#body)">{"".join(bands)}</g>')
    return svg(SAND, parts)


def smooth(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return a Catmull-Rom curve through the points, in ten steps from each to the next."""
    line = []
    padded = [points[0], *points, points[-1]]
    for p, q, r, s in zip(padded, padded[1:], padded[2:], padded[3:], strict=False):
        for t in steps(0.0, 1.0, 10):
            weights = (
                -t + 2 * t**2 - t**3,
                2 - 5 * t**2 + 3 * t**3,
                t + 4 * t**2 - 3 * t**3,
                t**3 - t**2,
            )
            near = list(zip(weights, (p, q, r, s), strict=True))
            line.append((sum(w * v[0] for w, v in near) / 2, sum(w * v[1] for w, v in near) / 2))
    return line


def meander() -> str:
    """Draw nested square bands of Greek keys."""
    parts = []
    for ring in range(4):
        half, unit = 246 - ring * 58, 5.6
        count = round(2 * half / (unit * 6.1))
        style = f'fill="none" stroke="{CLAY}" stroke-width="3"'
        square = [
            (-half - 4, -half - 4),
            (half + 4, -half - 4),
            (half + 4, half + 4),
            (-half - 4, half + 4),
        ]
        parts.append(path([(360 + x, 270 + y) for x, y in square], style, closed=True))
        side = 2 * half - 44
        gap = side / max(count - 1, 1)
        keys = "".join(
            key(-side / 2 + i * gap - 8, -half + 26, unit, SAND if ring % 2 else CLAY) for i in range(count)
        )
        parts += [f'<g transform="translate(360 270) rotate({90 * turn})">{keys}</g>' for turn in range(4)]
    parts.append(circle(360, 270, 20, GOLD))
    return svg(INK, parts)


def key(x: float, y: float, unit: float, stroke: str) -> str:
    """Draw one Greek key: a line that winds in on itself, four units high."""
    corners = [(-1, 0), (0, 0), (0, -4), (4, -4), (4, -1), (2, -1), (2, -2.5)]
    style = f'fill="none" stroke="{stroke}" stroke-width="{unit * 0.75:.1f}"'
    return path([(x + unit * u, y + unit * v) for u, v in corners], style)


def lyre() -> str:
    """Draw a harmonograph: two pendulums on each axis, almost in tune, slowly coming to rest."""
    parts = []
    for tone, shift in ((CLAY, 0.0), (GOLD, 0.09), (BONE, 0.18)):
        line = []
        for t in steps(0.0, 75.0, 1100):
            fade = math.exp(-0.022 * t)
            x = 170 * math.sin(2.004 * t + shift) + 120 * math.sin(3.0 * t + 0.6)
            y = 150 * math.sin(3.002 * t + 1.57 + shift) + 90 * math.sin(2.0 * t)
            line.append((360 + x * fade, 270 + y * fade))
        parts.append(path(line, f'fill="none" stroke="{tone}" stroke-width=".8" opacity=".75"'))
    return svg(NIGHT, parts)


def sunflower() -> str:
    """Draw Vogel's spiral: each seed is turned by the golden angle from the last."""
    golden, parts = math.pi * (3 - math.sqrt(5)), []
    for seed in range(1, 620):
        radius, angle = 10.2 * math.sqrt(seed), seed * golden
        tone = mix((242, 184, 75), (141, 47, 59), radius / 254)
        parts.append(
            circle(
                360 + radius * math.cos(angle),
                270 + radius * math.sin(angle),
                1.6 + radius / 62,
                tone,
            )
        )
    return svg("#10261f", parts)


def vapour() -> bytes:
    """Draw a Julia set as a PNG with a palette of sixteen colours (RFC 2083)."""
    width, height = 480, 360
    anchors = [
        (12, 14, 28),
        (40, 34, 84),
        (141, 47, 90),
        (226, 112, 70),
        (250, 204, 120),
        (255, 246, 222),
    ]
    palette = []
    for index in range(16):
        place, part = divmod(index / 3, 1)
        low, high = anchors[int(place)], anchors[min(int(place) + 1, 5)]
        palette += [round(a + (b - a) * part) for a, b in zip(low, high, strict=True)]
    rows = bytearray()
    for y in range(height):
        shades = [shade(complex((x - 239.5) / 150, (y - 179.5) / 150)) for x in range(width)]
        rows.append(0)  # No filter.
        rows += bytes(a << 4 | b for a, b in zip(shades[::2], shades[1::2], strict=True))
    header = struct.pack(">IIBBBBB", width, height, 4, 3, 0, 0, 0)
    chunks = [
        (b"IHDR", header),
        (b"PLTE", bytes(palette)),
        (b"IDAT", zlib.compress(bytes(rows), 9)),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunk(kind, data) for kind, data in chunks)


def shade(z: complex) -> int:
    """Count how slowly a point leaves the set, from 0 (at once) to 15 (never)."""
    for turn in range(90):
        if abs(z) > ESCAPE_RADIUS:
            return min(15, round(3.55 * math.log1p(turn)))
        z = z * z + complex(-0.79, 0.156)
    return 15


def chunk(kind: bytes, data: bytes) -> bytes:
    """Pack one chunk of a PNG: length, kind, data, checksum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def mix(low: tuple[int, int, int], high: tuple[int, int, int], part: float) -> str:
    """Mix a colour from two others."""
    return "#" + "".join(
        f"{round(a + (b - a) * min(max(part, 0), 1)):02x}" for a, b in zip(low, high, strict=True)
    )


def steps(start: float, end: float, count: int) -> list[float]:
    """Evenly spaced numbers from `start` to `end`, both included."""
    return [start + (end - start) * i / count for i in range(count + 1)]


if __name__ == "__main__":
    main()
