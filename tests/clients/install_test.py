"""An installed tree serves clients in every way in which they look for one."""
import os
import pathlib
import shutil
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent
BUILD = os.environ["PLAT_BUILD"]
NODE = f"test-clients-{os.getpid()}"
CLEAN = {k: v for k, v in os.environ.items()
         if not k.startswith(("PLAT_", "ASCEND_")) and k not in ("LD_LIBRARY_PATH", "PYTHONPATH", "PKG_CONFIG_PATH")}
CLEAN |= {"PLAT_NODE": NODE, "PLAT_QUIET": "1"}


def run(*command, **extra):
    done = subprocess.run([str(c) for c in command], text=True, capture_output=True, timeout=240,
                          env=CLEAN | extra.pop("env", {}), **extra)
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def tree(tmp_path_factory):
    """Installed, and then moved: nothing in it may hold the path it was installed to."""
    first = tmp_path_factory.mktemp("install") / "first"
    run("cmake", "--install", BUILD, "--prefix", first)
    moved = first.with_name("a tree with spaces")
    first.rename(moved)
    yield moved
    run(moved / "bin/plat", "clean", "--node", NODE)


@pytest.fixture(scope="session")
def plain_tree(tree):
    """For tools that cannot cope with spaces."""
    plain = tree.with_name("plain")
    plain.symlink_to(tree.name)
    return plain


def sourced(tree, script, shell="bash", **extra):
    return run(shell, "-c", f"source '{tree}/set_env.sh' && {script}", **extra)


def test_the_tree_is_laid_out_as_ascend_users_know_it(tree):
    for path in ("include/acl/acl.h", "include/acl/acl_rt.h", "lib64/libascendcl.so", "lib64/libacl_rt.so",
                 "lib64/libacl_dvpp.so", "lib64/libms_tools_ext.so", "lib64/libplat_pool.so", "include/plat/pool.h", "include/plat/pool.hpp",
                 "lib64/pkgconfig/plat-pool.pc", "include/mstx/ms_tools_ext.h", "bin/plat", "python/site-packages", "set_env.sh",
                 "lib64/cmake/Plat/PlatConfig.cmake", "lib64/pkgconfig/ascendcl.pc"):
        assert (tree / path).exists(), path
    assert os.readlink(tree / "lib64/libacl_rt.so") == "libascendcl.so"


def test_nothing_in_the_tree_has_a_run_path(tree):
    for path in "bin/plat", "lib64/libascendcl.so", "lib64/libms_tools_ext.so", "lib64/libplat_pool.so":
        assert "PATH)" not in run("readelf", "-d", tree / path)


def test_text_files_name_no_place_of_the_build(tree):
    for path in tree.rglob("*"):
        if path.suffix in (".cmake", ".pc", ".sh", ".h"):
            text = path.read_text()
            assert BUILD not in text and "/first" not in text, path


@pytest.mark.parametrize("found_by", ["prefix", "set_env"])
def test_find_package(tree, tmp_path, found_by):
    configure = f"cmake -G Ninja -S '{HERE}/find_package' -B {tmp_path}"
    if found_by == "prefix":
        run("bash", "-c", f"{configure} -DCMAKE_PREFIX_PATH='{tree}'")
    else:
        sourced(tree, configure)  # CMake looks beside the directories of PATH
    run("cmake", "--build", tmp_path)
    for name in "client_c", "client_cpp":
        assert "client ran on Ascend910B3" in run(tmp_path / name)
    # It opens the library by its name too, which needs a path to look in.
    assert "pool client ran on" in run(tmp_path / "client_pool", env={"LD_LIBRARY_PATH": str(tree / "lib64")})


@pytest.mark.parametrize("compiler, source", [("cc", "client.c"), ("c++", "client.cpp")])
@pytest.mark.parametrize("library", ["ascendcl", "acl_rt"])
def test_the_vendors_variables_alone(tree, tmp_path, compiler, source, library):
    script = (f'{compiler} {HERE}/{source} -I"$ASCEND_HOME_PATH/include" -L"$ASCEND_HOME_PATH/lib64" -l{library}'
              f" -o {tmp_path}/client && {tmp_path}/client")
    assert "client ran on Ascend910B3" in sourced(tree, script)


@pytest.mark.parametrize("compiler, source", [("cc", "client.c"), ("c++", "client.cpp")])
def test_pkg_config(plain_tree, tmp_path, compiler, source):
    found = {"PKG_CONFIG_PATH": f"{plain_tree}/lib64/pkgconfig"}
    flags = run("pkg-config", "--cflags", "--libs", "ascendcl", env=found).split()
    run(compiler, HERE / source, *flags, "-o", tmp_path / "client")
    assert "client ran on" in run(tmp_path / "client", env={"LD_LIBRARY_PATH": f"{plain_tree}/lib64"})
    assert run("pkg-config", "--modversion", "plat", env=found).strip()


def test_the_pool_by_pkg_config(plain_tree, tmp_path):
    flags = run("pkg-config", "--cflags", "--libs", "plat-pool",
                env={"PKG_CONFIG_PATH": f"{plain_tree}/lib64/pkgconfig"}).split()
    run("cc", "-Wall", "-Wextra", "-Werror", HERE / "client_pool.c", *flags, "-ldl", "-o", tmp_path / "client")
    assert "pool client ran on" in sourced(plain_tree, tmp_path / "client")


def test_the_pool_needs_only_public_calls(tree):
    """Whatever is not from a system library (those have versions, and ours must not) must be a call that the vendor has too."""
    lines = run("nm", "-D", "--undefined-only", tree / "lib64/libplat_pool.so").splitlines()
    needed = {line.split()[-1] for line in lines}
    own = {name for name in needed if "@" not in name and not name.startswith(("_ZN3fmt", "_ZNK3fmt", "_ZTIN3fmt"))}
    own -= {"__cxa_finalize", "__gmon_start__", "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable"}
    assert "aclrtMapMem" in own and all(name.startswith(("acl", "mstx")) for name in own), own
    exported = run("nm", "-D", "--defined-only", tree / "lib64/libplat_pool.so").split()[2::3]
    assert all(name.startswith(("plat_pool_", "plat_arena_", "plat_kv_")) for name in exported), exported


def test_dlopen(tree, tmp_path):
    run("cc", HERE / "client_dlopen.c", "-o", tmp_path / "client", "-ldl")
    assert "client ran on" in sourced(tree, f"{tmp_path}/client")
    assert "client ran on" in run(tree / "bin/plat", "run", "--", tmp_path / "client")


def shells():
    return [shell for shell in ("bash", "zsh") if shutil.which(shell)]


@pytest.mark.parametrize("shell", shells())
def test_set_env_works_from_any_directory_and_twice(tree, shell, tmp_path):
    show = 'printf "%s\\n" "$ASCEND_HOME_PATH" "$ASCEND_TOOLKIT_HOME" "$LD_LIBRARY_PATH" "$PYTHONPATH" "$PATH"'
    before = {"LD_LIBRARY_PATH": "/opt/other/lib", "PATH": os.environ["PATH"]}
    once = sourced(tree, show, shell, cwd=tmp_path, env=before)
    twice = run(shell, "-c", f"cd '{tree}'; source ./set_env.sh; cd ..; source '{tree.name}/set_env.sh'; {show}", env=before)
    assert once == twice
    home = str(tree.resolve())
    assert once.splitlines() == [home, home, f"{home}/lib64:/opt/other/lib", f"{home}/python/site-packages",
                                 f"{home}/bin:{os.environ['PATH']}"]


@pytest.mark.parametrize("shell", shells())
def test_set_env_is_safe_under_strict_settings_and_leaves_nothing_behind(tree, shell):
    left = run(shell, "-c", f"set -eu; unset LD_LIBRARY_PATH PYTHONPATH; source '{tree}/set_env.sh'; set; typeset -f")
    assert "_plat_" not in left.replace("_plat_/", "")


PYTHON_SCRIPT = HERE.parents[1] / "examples/python/seven_steps.py"


def test_a_python_script_runs_after_set_env(tree):
    assert "memory came back: True" in sourced(tree, f"/usr/bin/python3 -B {PYTHON_SCRIPT}")


def test_a_wheel_needs_nothing_but_itself(tree, tmp_path):
    wheel = run("/usr/bin/python3", "-B", HERE.parents[1] / "scripts/wheel.py", tree, tmp_path).strip()
    site = tmp_path / "site"
    shutil.unpack_archive(wheel, site, "zip")
    assert "memory came back: True" in run("/usr/bin/python3", "-B", PYTHON_SCRIPT, env={"PYTHONPATH": str(site)})
