# SPDX-License-Identifier: Apache-2.0
"""The module mstx and its types agree."""
import ast
import pathlib
import re

import mstx

STUB = ast.parse((pathlib.Path(mstx.__file__).parent / "mstx.pyi").read_text())


def parameters(node):
    first = len(node.args.args) - len(node.args.defaults)
    return [(argument.arg, index >= first) for index, argument in enumerate(node.args.args)]


def told(function):
    inside = re.match(r"\w+\((.*)\) ->", function.__doc__).group(1)
    return [(name, bool(default)) for name, default in re.findall(r"(\w+): [^,=\[]+(?:\[(?:[^\[\]]|\[[^\]]*\])*\])?( = [^,]+)?(?:, |$)", inside)]


def test_functions():
    in_stub = {node.name: parameters(node) for node in STUB.body if isinstance(node, ast.FunctionDef)}
    functions = {name: value for name, value in vars(mstx).items()
                 if callable(value) and not isinstance(value, type) and not name.startswith("_")}
    assert {name: told(value) for name, value in functions.items()} == in_stub


def test_classes_and_constants():
    classes = {node.name: {part.name for part in node.body if isinstance(part, ast.FunctionDef)}
               for node in STUB.body if isinstance(node, ast.ClassDef)}
    assert set(classes) == {name for name, value in vars(mstx).items() if isinstance(value, type)}
    for name, methods in classes.items():
        assert methods <= set(dir(getattr(mstx, name)))
    constants = {node.target.id for node in STUB.body if isinstance(node, ast.AnnAssign)}
    assert constants == {name for name, value in vars(mstx).items() if isinstance(value, int)}
