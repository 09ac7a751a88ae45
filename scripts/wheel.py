#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""wheel.py TREE OUTPUT: packs an installed tree into a wheel: the Python modules, and inside of the package plat, which stands in for the
tree there, the libraries, the headers and the command. Needs nothing but the standard library; for which Python and which machine it
is, the names of the modules say."""
import base64
import hashlib
import pathlib
import re
import sys
import zipfile

SOURCE = pathlib.Path(__file__).resolve().parents[1]
LIBRARIES = ("libascendcl.so", "libacl_rt.so", "libacl_dvpp.so", "libms_tools_ext.so", "libplat_pool.so", "libplat_pool.so.0",
             "libplat_inspect.so", "plat/libascend_kernel_hook.so")
OPTIONAL = ("plat/libplat_live.so",)  # built where cpp-httplib is
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same tree makes the same wheel


def version(tree):
    config = (tree / "lib64/cmake/Plat/PlatConfigVersion.cmake").read_text()
    return re.search(r'set\(PACKAGE_VERSION "([\d.]+)"\)', config).group(1)


def tag_of(tree):
    modules = [path.name for path in (tree / "python/site-packages").glob("acl.cpython-*.so")]
    if len(modules) != 1:
        sys.exit(f"wheel.py: {tree} has {' and '.join(modules) or 'no module acl'}; a wheel is for one Python on one kind of machine")
    named = re.fullmatch(r"acl\.cpython-(\d+)(t?)-(\w+)-linux-gnu\.so", modules[0])  # t: an interpreter without the global lock
    if not named:
        sys.exit(f"wheel.py: {modules[0]} does not say for which Python and which machine it is")
    version, threads, machine = named.groups()
    return f"cp{version}-cp{version}{threads}-linux_{machine}"


def metadata(text):
    """What the tree says of itself, with what an index of packages wants to know, and the README as description."""
    extras = "".join(f"Provides-Extra: {name}\nRequires-Dist: {name} ; extra == '{name}'\n" for name in ("numpy", "pytest"))
    return (f"{text.rstrip()}\n{extras}License-File: LICENSE\nDescription-Content-Type: text/markdown\n\n"
            f"{(SOURCE / 'README.md').read_text()}")


def contents(tree, name):
    """(name in the wheel, bytes) of every file."""
    site = tree / "python/site-packages"
    for path in sorted(site.rglob("*")):
        if path.is_file() and path.suffix != ".pyc" and ".debug" not in path.parts:
            data = path.read_bytes()
            yield path.relative_to(site).as_posix(), metadata(data.decode()).encode() if path.name == "METADATA" else data
    for library in LIBRARIES + tuple(name for name in OPTIONAL if (tree / "lib64" / name).exists()):
        yield f"plat/lib64/{library}", (tree / "lib64" / library).read_bytes()
    for path in sorted((tree / "include").rglob("*")):
        if path.is_file():
            yield f"plat/{path.relative_to(tree).as_posix()}", path.read_bytes()
    yield "plat/bin/plat", (tree / "bin/plat").read_bytes()
    yield f"{name}.data/scripts/plat", (SOURCE / "packaging/wheel_command.py").read_bytes()
    yield f"{name}.dist-info/LICENSE", (SOURCE / "LICENSE").read_bytes()


def main(tree, output):
    tree, output = pathlib.Path(tree), pathlib.Path(output)
    tag = tag_of(tree)
    name = f"plat-{version(tree)}"
    info = f"{name}.dist-info"
    files = list(contents(tree, name)) + [
        (f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: plat\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())]
    output.mkdir(parents=True, exist_ok=True)
    target = output / f"{name}-{tag}.whl"
    record = ""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path, data in files:
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record += f"{path},sha256={digest},{len(data)}\n"
            wheel.writestr(entry(path), data)
        wheel.writestr(entry(f"{info}/RECORD"), record + f"{info}/RECORD,,\n")
    print(target)


def entry(path):
    info = zipfile.ZipInfo(path, EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = (0o100755 if ".so" in path or path.endswith(("bin/plat", "scripts/plat")) else 0o100644) << 16
    return info


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
