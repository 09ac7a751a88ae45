# SPDX-License-Identifier: Apache-2.0
"""An installed tree serves clients in every way in which they look for one."""
import os
import pathlib
import pty
import select
import shutil
import stat
import subprocess
import time

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
    return run(shell, "-c", f". '{tree}/set_env.sh' && {script}", **extra)


def test_the_tree_is_laid_out_as_ascend_users_know_it(tree):
    for path in ("include/acl/acl.h", "include/acl/acl_rt.h", "lib64/libascendcl.so", "lib64/libacl_rt.so",
                 "lib64/libacl_dvpp.so", "lib64/libms_tools_ext.so", "lib64/libplat_pool.so", "include/plat/pool.h", "include/plat/pool.hpp",
                 "lib64/pkgconfig/plat-pool.pc", "include/mstx/ms_tools_ext.h", "bin/plat", "python/site-packages", "set_env.sh",
                 "lib64/cmake/Plat/PlatConfig.cmake", "lib64/pkgconfig/ascendcl.pc"):
        assert (tree / path).exists(), path


def dynamic(path, tag):
    """The values of one kind of entry in a program's or library's dynamic section."""
    lines = run("readelf", "-dW", path).splitlines()
    return [line.split("[")[1].rstrip("]") for line in lines if f"({tag})" in line]


@pytest.mark.parametrize("name, soname", [("ascendcl", "libascendcl.so"), ("ms_tools_ext", "libms_tools_ext.so"), ("acl_rt", "libacl_rt.so"),
                                          ("acl_dvpp", "libacl_dvpp.so"), ("plat_pool", "libplat_pool.so.0")])
def test_only_our_own_names_carry_a_version(tree, name, soname):
    assert dynamic(tree / f"lib64/lib{name}.so", "SONAME") == [soname]
    assert (tree / "lib64" / soname).exists()


# What every Linux has, whichever distribution: the C and C++ runtimes.
SYSTEM = {"libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}


@pytest.mark.parametrize("name, others", [("ascendcl", set()), ("ms_tools_ext", set()), ("plat_inspect", set()), ("plat_pool", {"libascendcl.so"}),
                                          ("acl_rt", set()), ("acl_dvpp", set())])
def test_the_libraries_need_nothing_but_the_runtimes(tree, name, others):
    needed = set(dynamic(tree / f"lib64/lib{name}.so", "NEEDED"))
    assert others <= needed <= SYSTEM | others


def test_the_command_starts_without_libraries_that_only_some_of_it_needs(tree):
    assert set(dynamic(tree / "bin/plat", "NEEDED")) <= SYSTEM | {"libdw.so.1", "libz.so.1"}


def test_names_that_the_vendor_has_bear_no_version(tree):
    for name in "ascendcl", "ms_tools_ext", "acl_rt":
        exported = run("nm", "-D", "--defined-only", tree / f"lib64/lib{name}.so")
        assert exported and "@" not in exported


@pytest.fixture(scope="session")
def foreign(tmp_path_factory):
    """Libraries of the vendor's names that have nothing to do with ours."""
    folder = tmp_path_factory.mktemp("foreign")
    for name in "ascendcl", "acl_rt":
        run("cc", "-shared", "-fPIC", f"-Wl,-soname,lib{name}.so", HERE / "foreign/ascendcl.c", "-o", folder / f"lib{name}.so")
    return folder


@pytest.mark.parametrize("library", ["ascendcl", "acl_rt"])
def test_a_program_linked_here_starts_over_a_foreign_library(tree, foreign, tmp_path, library):
    run("cc", HERE / "client.c", f"-I{tree}/include", f"-L{tree}/lib64", f"-l{library}", "-o", tmp_path / "client")
    assert f"lib{library}.so" in dynamic(tmp_path / "client", "NEEDED")
    done = subprocess.run([tmp_path / "client"], text=True, capture_output=True, env=CLEAN | {"LD_LIBRARY_PATH": str(foreign)})
    assert (done.returncode, done.stdout, done.stderr) == (0, "client ran on a foreign device\n", "")


def test_both_names_reach_one_device(tree, tmp_path):
    """Half of a program is linked with one name and half with the other: what one initialises, the other finds."""
    (tmp_path / "half.c").write_text("#include <acl/acl.h>\nint half(void) { return aclrtSetDevice(0); }\n")
    (tmp_path / "whole.c").write_text("#include <acl/acl.h>\nint half(void);\n"
                                      "int main(void) { return aclInit(0) || half() || aclInit(0) != ACL_ERROR_REPEAT_INITIALIZE; }\n")
    paths = f"-I{tree}/include", f"-L{tree}/lib64"
    run("cc", "-shared", "-fPIC", tmp_path / "half.c", *paths, "-lacl_rt", "-o", tmp_path / "libhalf.so")
    run("cc", tmp_path / "whole.c", *paths, "-lascendcl", f"-L{tmp_path}", "-lhalf", "-o", tmp_path / "whole")
    run(tmp_path / "whole", env={"LD_LIBRARY_PATH": f"{tmp_path}:{tree}/lib64"})


def test_the_places_in_which_vendor_builds_look(tree, tmp_path):
    machine = os.uname().machine
    for root in ".", "latest":
        for part in ".", "runtime", "acllib", f"{machine}-linux":
            assert (tree / root / part / "include/acl/acl.h").exists()
            assert (tree / root / part / "lib64/stub/libascendcl.so").exists()
    assert "Version=" in (tree / "version.info").read_text()
    for root in ".", "latest":
        assert "Version=" in (tree / root / "share/info/runtime/version.info").read_text()
    # As the samples say it in their CMakeLists.txt and run scripts.
    script = (f'. "$ASCEND_HOME_PATH/bin/setenv.bash" && cc {HERE}/client.c -I"$DDK_PATH/runtime/include" -L"$NPU_HOST_LIB" -lascendcl'
              f" -o {tmp_path}/client && {tmp_path}/client")
    assert "client ran on" in run("bash", "-c", script, env={"ASCEND_HOME_PATH": str(tree / "latest")})


def test_no_link_of_the_tree_leads_back_into_itself(tree):
    for path in tree.rglob("*"):
        if path.is_symlink():
            assert path.exists(), f"{path} leads nowhere"
            assert path.resolve() not in path.parents and path.resolve().is_relative_to(tree.resolve()), path


def test_the_command_is_documented_where_only_the_tree_is(tree):
    commands = {path.name for path in (tree / "share/man/man1").iterdir()}
    assert {"plat.1", "plat-run.1", "plat-check.1", "plat-rules.1"} <= commands
    text = (tree / "share/man/man1/plat-run.1").read_text()
    assert "\\-\\-capacity" in text and ".SH EXAMPLES" in text
    assert (tree / "share/doc/plat/LICENSE").exists() and (tree / "share/doc/plat/docs/howto/errors.md").exists()
    assert "VMM-Map-offset-zero" in run(tree / "bin/plat", "rules", "VMM-Map-offset-zero", cwd="/")


COMPLETIONS = pytest.mark.parametrize("words, wanted", [
    ("plat re", {"record", "report", "replay"}), ("plat run --dev", {"--devices", "--device-numbers"}), ("plat rules VMM-Map-off", {"VMM-Map-offset-zero"}),
    ("plat fabric st", {"start", "stop", "status"}), ("plat fabric --json sta", {"start", "status"}), ("plat export per", {"perfetto"}),
    ("plat export --of all", {"allocated"}), ("plat export -o x --of peak fold", {"folded"})])


@COMPLETIONS
def test_bash_completes(tree, words, wanted):
    script = (f'PATH="{tree}/bin:$PATH"; . "{tree}/share/bash-completion/completions/plat"; COMP_WORDS=({words}); '
              'COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _plat_complete plat; printf "%s\\n" "${COMPREPLY[@]}"')
    assert set(run("bash", "-c", script).split()) == wanted


def test_bash_offers_a_word_below_a_subcommand_once(tree):
    script = (f'PATH="{tree}/bin:$PATH"; . "{tree}/share/bash-completion/completions/plat"; COMP_WORDS=(plat fabric stop st); COMP_CWORD=3; '
              '_plat_complete plat; printf "%s" "${COMPREPLY[@]}"')
    assert run("bash", "-c", script) == ""


# Loads the completion as a user's shell does, and writes down what the completion system is given when the tab is pressed.
ZSH = """
autoload -Uz compinit; compinit -u -D
compadd() {
  if [[ " $* " == *" -"[OAD]" "* ]]; then builtin compadd "$@"; return; fi
  local -a hits
  builtin compadd -O hits "$@"
  if (( $#hits )); then print -rl -- $hits >>"$HITS"; fi
  builtin compadd "$@"
}
pressed() { zle complete-word; print . >>"$HITS.end" }
zle -N pressed; bindkey '^I' pressed
"""


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
@COMPLETIONS
def test_zsh_completes(tree, tmp_path, words, wanted):
    (tmp_path / ".zshrc").write_text(f"PATH='{tree}/bin':$PATH; fpath=('{tree}/share/zsh/site-functions' $fpath)\n" + ZSH)
    hits, end = tmp_path / "hits", tmp_path / "hits.end"
    hits.touch()
    ours, its = pty.openpty()
    shell = subprocess.Popen(["zsh", "-d", "-i"], stdin=its, stdout=its, stderr=its, start_new_session=True, cwd=tmp_path,
                             env=CLEAN | {"ZDOTDIR": str(tmp_path), "HITS": str(hits), "TERM": "dumb"})
    os.close(its)
    try:
        os.write(ours, f"{words}\t".encode())
        deadline = time.monotonic() + 60
        said = b""
        while not end.exists() and time.monotonic() < deadline:
            if select.select([ours], [], [], 0.05)[0]:
                said += os.read(ours, 4096)  # a terminal that nobody reads from fills up
        assert end.exists(), said.decode(errors="replace")
    finally:
        shell.kill()
        shell.wait()
        os.close(ours)
    assert set(hits.read_text().split()) == wanted


def test_the_inspector_alone_brings_no_device_and_names_the_package_that_does(tmp_path):
    run("cmake", "--install", BUILD, "--prefix", tmp_path, "--component", "inspector")
    optional = {"libplat_live.so"}  # where cpp-httplib is
    assert {path.name for path in tmp_path.rglob("*.so*")} - optional == {"libplat_inspect.so", "libascend_kernel_hook.so"}
    assert "VMM-Map-offset-zero" in run(tmp_path / "bin/plat", "rules", "VMM-Map-offset-zero")
    done = subprocess.run([tmp_path / "bin/plat", "run", "--", "true"], text=True, capture_output=True, env=CLEAN)
    assert done.returncode == 2 and "The package 'plat' has it" in done.stderr


def test_make_install_strips_and_uninstall_leaves_nothing(tmp_path):
    scripts, prefix = HERE.parents[1] / "scripts", tmp_path / "pre fix"
    run(scripts / "install.sh", BUILD, prefix)
    run(scripts / "install.sh", BUILD, prefix)
    for path in "bin/plat", "lib64/libascendcl.so", "lib64/libplat_inspect.so":
        debug = (prefix / path).parent / ".debug" / f"{(prefix / path).name}.debug"
        assert ".debug_info" in run("readelf", "-SW", debug)
        assert ".debug_info" not in run("readelf", "-SW", prefix / path)
        assert os.fsencode(BUILD) not in (prefix / path).read_bytes()
    assert "plat" in run(prefix / "bin/plat", "--version")
    (prefix / "lib64/mine").write_text("not theirs")
    run(scripts / "uninstall.sh", prefix)
    assert [path.name for path in prefix.rglob("*") if path.is_file()] == ["mine"]


def test_an_installation_that_is_removed_takes_its_folders_along(tmp_path):
    scripts, prefix = HERE.parents[1] / "scripts", tmp_path / "deep/prefix"
    run(scripts / "install.sh", BUILD, prefix)
    (prefix / "share/mine").write_text("in the way of the next")
    run(scripts / "install.sh", BUILD, prefix)
    (prefix / "share/mine").unlink()
    run(scripts / "uninstall.sh", prefix)
    assert not prefix.exists() and prefix.parent.exists()


def test_folders_that_were_there_keep_their_modes_and_stay(tmp_path):
    scripts, prefix = HERE.parents[1] / "scripts", tmp_path / "home"
    modes = {".": 0o700, "bin": 0o2775, "share": 0o750, "share/doc": 0o711, "elsewhere": 0o1777}
    for folder, mode in modes.items():
        (prefix / folder).mkdir(parents=True)
        (prefix / folder).chmod(mode)  # not by mkdir, from which the umask takes
    (prefix / "lib64").symlink_to("elsewhere")

    def check():
        assert {folder: stat.S_IMODE((prefix / folder).stat().st_mode) for folder in modes} == modes
        assert (prefix / "lib64").readlink() == pathlib.Path("elsewhere")

    run(scripts / "install.sh", BUILD, prefix)
    check()
    assert "plat" in run(prefix / "bin/plat", "--version") and (prefix / "elsewhere/libascendcl.so").exists()
    run(scripts / "uninstall.sh", prefix)
    check()
    assert {str(path.relative_to(prefix)) for path in prefix.rglob("*")} == modes.keys() - {"."} | {"lib64"}


def test_nothing_in_the_tree_has_a_run_path(tree):
    for path in "bin/plat", "lib64/libascendcl.so", "lib64/libms_tools_ext.so", "lib64/libplat_pool.so":  # the aliases have $ORIGIN
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
    # Weak ones of ThreadSanitizer are there in programs that are built with it, and needed in none.
    needed = {line.split()[-1] for line in lines if not line.split()[0] == "w" or "__tsan_" not in line}
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
    return [shell for shell in ("bash", "zsh", "dash") if shutil.which(shell)]


@pytest.mark.parametrize("shell", shells())
def test_set_env_works_from_any_directory_and_twice(tree, shell, tmp_path):
    show = 'printf "%s\\n" "$ASCEND_HOME_PATH" "$ASCEND_TOOLKIT_HOME" "$LD_LIBRARY_PATH" "$PYTHONPATH" "$PATH"'
    before = {"LD_LIBRARY_PATH": "/opt/other/lib", "PATH": os.environ["PATH"]}
    once = sourced(tree, show, shell, cwd=tmp_path, env=before)
    twice = run(shell, "-c", f"cd '{tree}'; . ./set_env.sh; cd ..; . './{tree.name}/set_env.sh'; (. '{tree}/set_env.sh'; {show})", env=before)
    assert once == twice
    home = str(tree.resolve())
    assert once.splitlines() == [home, home, f"{home}/lib64:/opt/other/lib", f"{home}/python/site-packages",
                                 f"{home}/bin:{os.environ['PATH']}"]


@pytest.mark.parametrize("shell", shells())
def test_set_env_is_safe_under_strict_settings_and_leaves_nothing_behind(tree, shell):
    left = run(shell, "-c", f"set -eu; unset LD_LIBRARY_PATH PYTHONPATH; . '{tree}/set_env.sh'; set; (typeset -f) 2>/dev/null || :")
    assert "_plat_" not in left.replace("_plat_/", "")


def test_the_unit_of_the_daemon_names_the_place_it_is_installed_for(tmp_path):
    script = HERE.parents[1] / "cmake/install/unit.cmake"
    place = tmp_path / "100% mine"
    for settings, home in (({}, str(place)), ({"PLAT_HOME": "/usr/lib/plat"}, "/usr/lib/plat")):
        run("cmake", f"-DCMAKE_INSTALL_PREFIX={place}", "-P", script, env=settings)
        unit = (place / "share/systemd/user/plat-fabric@.service").read_text().splitlines()
        assert f'ExecStart="{home.replace("%", "%%")}/bin/plat-fabricd" serve' in unit
    run("cmake", "-DCMAKE_INSTALL_PREFIX=/usr", "-P", script, env={"DESTDIR": str(tmp_path / "stage")})
    assert '="/usr/bin/plat-fabricd"' in (tmp_path / "stage/usr/share/systemd/user/plat-fabric@.service").read_text()
