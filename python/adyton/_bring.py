"""Runs the server in the Python of a group of applications, which may be another Python than the server's.

The supervisor has the group's Python run this file as a script. The script makes this package importable, but
nothing else that is installed in the server's Python. If this package was built for another version of
Python, the ``adyton`` that is installed in the group's Python is taken instead.
"""

import importlib.util
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

HERE = Path(__file__).parent


def bring() -> None:
    """Makes the package ``adyton`` importable."""
    if any((HERE / f"_core{suffix}").exists() for suffix in EXTENSION_SUFFIXES):
        spec = importlib.util.spec_from_file_location(
            "adyton", HERE / "__init__.py", submodule_search_locations=[str(HERE)]
        )
        if spec is None or spec.loader is None:
            sys.exit(f"adyton: the package in {HERE} cannot be read")
        package = importlib.util.module_from_spec(spec)
        sys.modules["adyton"] = package
        spec.loader.exec_module(package)
        return
    try:
        import adyton  # noqa: F401, PLC0415
    except ImportError:
        version = ".".join(map(str, sys.version_info[:2]))
        sys.exit(
            f"adyton: the server was built for another Python than {version}, which this group has "
            f"({sys.executable}): install adyton there, too"
        )


if __name__ == "__main__":
    # Python has put the folder of this script on the path: modules in it would hide the application's.
    sys.path[:] = [place for place in sys.path if Path(place) != HERE]
    bring()
    # All other processes of the server have this name, too.
    sys.argv[0] = str(HERE / "__main__.py")
    from adyton.__main__ import main

    sys.exit(main())
