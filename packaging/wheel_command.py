#!python
# SPDX-License-Identifier: Apache-2.0
"""The plat command of a wheel, which lies inside of the package plat."""
import importlib.util
import os
import pathlib
import sys

# Found without being imported: the command needs none of it.
home = pathlib.Path(importlib.util.find_spec("plat").origin).parent
os.execv(home / "bin/plat", ["plat", *sys.argv[1:]])
