"""The gallery: pictures that make_images.py has drawn, sent by Adyton as static files."""

from wsgiref.types import WSGIEnvironment

from pages import Reply, page, template

# File, title, and a description for people who cannot see the picture.
PICTURES = [
    (
        "temple.svg",
        "The temple",
        "The front of a Doric temple at night, a warm light between its columns.",
    ),
    ("parnassus.svg", "Parnassus", "Ridges of mountains, paler the farther away, below a low sun."),
    ("laurel.svg", "Laurel", "A wreath of laurel leaves with red berries, open at the top."),
    ("amphora.svg", "Amphora", "A black-figure amphora with two handles and bands of ornament."),
    ("meander.svg", "Meander", "Greek keys in nested square bands, terracotta on black."),
    ("lyre.svg", "Lyre", "Curves of two swinging pendulums, dying away towards the middle."),
    (
        "sunflower.svg",
        "Sunflower",
        "Dots in the spirals of a sunflower head, small within and large without.",
    ),
    ("vapour.png", "Vapour", "A Julia set: branching wisps of light, rising from the dark."),
]


def show(_environ: WSGIEnvironment) -> Reply:
    """Show all pictures; a script opens them large, and without the script they are plain links."""
    figures = "".join(template("picture", file=file, title=title, alt=alt) for file, title, alt in PICTURES)
    return page("/gallery", "Gallery", template("gallery", raw={"pictures": figures}))
