#!/usr/bin/env python3
"""wheel.py TREE OUTPUT: packs the Python side of an installed tree, with the libraries it needs, into a wheel. Needs nothing but the
standard library; run it with the Python that the modules were built for."""
import base64
import hashlib
import pathlib
import re
import sys
import sysconfig
import zipfile

LIBRARIES = ("libascendcl.so", "libms_tools_ext.so", "libplat_pool.so", "libplat_inspect.so")
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same tree makes the same wheel


def version(tree):
    config = (tree / "lib64/cmake/Plat/PlatConfigVersion.cmake").read_text()
    return re.search(r'set\(PACKAGE_VERSION "([\d.]+)"\)', config).group(1)


def contents(tree):
    """(name in the wheel, bytes) of every file."""
    site = tree / "python/site-packages"
    for path in sorted(site.rglob("*")):
        if path.is_file() and path.suffix != ".pyc":
            yield path.relative_to(site).as_posix(), path.read_bytes()
    for name in LIBRARIES:
        if (tree / "lib64" / name).exists():
            yield f"plat/lib64/{name}", (tree / "lib64" / name).read_bytes()


def main(tree, output):
    tree, output = pathlib.Path(tree), pathlib.Path(output)
    interpreter = f"cp{sys.version_info.major}{sys.version_info.minor}"
    tag = f"{interpreter}-{interpreter}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    if not (tree / f"python/site-packages/acl{suffix}").exists():
        sys.exit(f"wheel.py: {tree} has no module acl for this Python ({suffix})")
    name = f"plat-{version(tree)}"
    info = f"{name}.dist-info"
    files = list(contents(tree)) + [
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
    info.external_attr = (0o755 if ".so" in path else 0o644) << 16
    return info


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
