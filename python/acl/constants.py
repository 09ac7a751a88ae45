# SPDX-License-Identifier: Apache-2.0
"""Makes what Python knows of ACL's constants from its headers: constants.py include/acl constants.cpp stub.pyi made.pyi

A C++ file with a row for each enumerator, macro and constant of C, which the compiler gives its value, and the types of the module's
top level: the functions of stub.pyi, and the constants behind them."""
import pathlib
import re
import sys
from typing import List

_ENUM = re.compile(r"^typedef enum\b[^{]*\{(.*?)^\}", re.S | re.M)
_ENUMERATOR = re.compile(r"^\s*([A-Z]\w+)(?:\s*=[^,\n]*)?,?\s*(?://.*)?$", re.M)
_CONSTANT = re.compile(r"^static const int (ACL_\w+) =", re.M)
_MACRO = re.compile(r"^#define (ACL_\w+) \(?(?:0[xX])?[0-9A-Fa-f]+[UL]*\)?\s*(?://.*)?$", re.M)


def names_in(text: str) -> List[str]:
    """The constants of a header, in its order of kinds."""
    return [name for body in _ENUM.findall(text) for name in _ENUMERATOR.findall(body)] + _CONSTANT.findall(text) + _MACRO.findall(text)


def write(path: str, text: str) -> None:
    """Leaves a file alone that is as it should be, so that nobody compiles it again."""
    file = pathlib.Path(path)
    if not file.exists() or file.read_text() != text:
        file.write_text(text)


def main(folder: str, source: str, stub: str, made_stub: str) -> None:
    headers = sorted(pathlib.Path(folder).rglob("*.h"))
    names = sorted({name for header in headers for name in names_in(header.read_text())})
    includes = "\n".join(f'#include "acl/{header.relative_to(folder)}"' for header in headers)
    rows = "\n".join(f'    {{"{name}", static_cast<int64_t>({name})}},' for name in names)
    write(source, f'{includes}\n#include "groups.h"\n\nnamespace plat::acl_python {{\n\nnamespace {{\n\nconstexpr struct {{\n'
                  f"  const char* name;\n  int64_t value;\n}} kConstants[] = {{\n{rows}\n}};\n\n}}  // namespace\n\n"
                  "void add_constants(Group& acl) {\n  for (const auto& [name, value] : kConstants) acl.attr(name) = value;\n}\n\n"
                  "}  // namespace plat::acl_python\n")
    write(made_stub, pathlib.Path(stub).read_text() + "\n" + "".join(f"{name}: int\n" for name in names))


if __name__ == "__main__":
    main(*sys.argv[1:])
