# SPDX-License-Identifier: Apache-2.0
"""Where the libraries are: beside the package in an installed tree or a wheel, or wherever the loader looks."""
import pathlib


def find(name: str) -> str:
    here = pathlib.Path(__file__).resolve().parent
    for place in here.parents[2] / "lib64", here / "lib64":
        if (place / name).exists():
            return str(place / name)
    return name
