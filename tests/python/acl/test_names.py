# SPDX-License-Identifier: Apache-2.0
"""The module, its types and the documented names agree."""
import ast
import pathlib
import re
import subprocess

import acl
import pytest

STUBS = pathlib.Path(acl.__file__).parent / "acl-stubs"
DOCUMENTED = {
    "rt": """malloc malloc_align32 malloc_cached malloc_with_cfg malloc_for_task_scheduler free malloc_host malloc_host_with_cfg
        free_host get_mem_info mem_flush mem_invalidate memcpy memcpy_async memcpy_async_with_condition memcpy2d memcpy2d_async
        memset memset_async get_memcpy_desc_size set_memcpy_desc memcpy_async_with_desc reserve_mem_address release_mem_address
        malloc_physical free_physical map_mem unmap_mem mem_get_allocation_granularity mem_export_to_shareable_handle
        mem_set_pid_to_shareable_handle mem_import_from_shareable_handle device_get_bare_tgid pointer_get_attributes host_register
        host_register_v2 host_get_device_pointer host_unregister ipc_mem_get_export_key ipc_mem_set_import_pid ipc_mem_close
        ipc_mem_import_by_key value_write value_wait cmo_async device_can_access_peer device_enable_peer_access
        device_disable_peer_access set_device reset_device get_device get_device_count get_run_mode create_context create_stream
        create_event stream_query destroy_stream synchronize_stream record_event stream_wait_event synchronize_event""",
    "media": "dvpp_malloc dvpp_malloc_with_cfg dvpp_free",
    "himpi": "dvpp_malloc dvpp_free",
    "util": "bytes_to_ptr ptr_to_bytes numpy_to_ptr ptr_to_numpy",
}
BEYOND = """free_with_dev_sync mem_set_access mem_get_access mem_map_no_access mem_retain_allocation_handle
    mem_get_allocation_properties_from_handle mem_get_address_range mem_export_to_shareable_handle_v2
    mem_set_pid_to_shareable_handle_v2 mem_import_from_shareable_handle_v2 reserve_mem_address_no_uc_memory mem_pool_create
    mem_pool_destroy mem_pool_set_attr mem_pool_get_attr mem_pool_malloc_async mem_pool_free_async mem_pool_trim_to""".split()


GROUPS = ["rt", "media", "himpi", "util", "prof", "mdl"]
ROOT = pathlib.Path(__file__).parents[3]


def functions(module):
    return {name for name in vars(module) if callable(getattr(module, name)) and not name.startswith("_")}


def in_stub(name):
    """{function: [(parameter, whether it has a default)]}"""
    tree = ast.parse((STUBS / f"{name}.pyi").read_text())
    return {node.name: [(argument.arg, index >= len(node.args.args) - len(node.args.defaults))
                        for index, argument in enumerate(node.args.args)]
            for node in tree.body if isinstance(node, ast.FunctionDef)}


def in_module(module):
    """The same, as pybind11 tells it."""
    def parameters(function):
        inside = re.match(r"\w+\((.*)\) ->", function.__doc__).group(1)
        return [(name, bool(default)) for name, default in re.findall(r"(\w+): [^,=]+(?:\[[^=]*?\])?( = [^,]+)?(?:, |$)", inside)]
    return {name: parameters(getattr(module, name)) for name in functions(module)}


@pytest.mark.parametrize("group", DOCUMENTED)
def test_every_documented_name_is_there(group):
    assert set(DOCUMENTED[group].split()) <= functions(getattr(acl, group))


def test_so_are_the_calls_that_pyacl_never_bound():
    assert set(BEYOND) <= functions(acl.rt)


@pytest.mark.parametrize("group", GROUPS)
def test_module_and_types_agree(group):
    assert in_module(getattr(acl, group)) == in_stub(group)


def test_the_types_of_the_top_level():
    assert in_module(acl) == in_stub("__init__")
    constants = set(re.findall(r"^(ACL_\w+): int", (STUBS / "__init__.pyi").read_text(), re.M))
    assert constants == {name for name in vars(acl) if name.startswith("ACL_")}


@pytest.mark.parametrize("group", GROUPS)
def test_every_function_says_what_it_does(group):
    for name in functions(getattr(acl, group)):
        signature, _, text = getattr(getattr(acl, group), name).__doc__.partition("\n\n")
        assert text.strip(), name
        parameters = re.findall(r"\((.*)\) ->", signature)[0]
        assert "arg0" not in parameters, name


def test_constants_have_the_values_of_c():
    assert (acl.ACL_SUCCESS, acl.ACL_MEMCPY_HOST_TO_DEVICE, acl.ACL_HBM_MEM_HUGE) == (0, 1, 4)
    assert (acl.ACL_ERROR_RT_PARAM_INVALID, acl.ACL_ERROR_RT_MEMORY_ALLOCATION) == (107000, 207001)
    assert acl.ACL_HOST_REG_PINNED == 0x10000000


def test_every_call_is_bound():
    calls = set(re.findall(r"^\| `(\w+)`", (ROOT / "docs/calls.md").read_text(), re.M))
    needed = subprocess.run(["nm", "-D", "--undefined-only", acl.__file__], text=True, capture_output=True, check=True).stdout
    assert calls - set(re.findall(r" U (\w+)", needed)) == set() and len(calls) > 150


def calls_in(*files):
    """group.function of every call that tests make, whatever they call the group."""
    text = "".join((pathlib.Path(__file__).parent / file).read_text() for file in files)
    return {(group, name) for group, name in re.findall(r"\b(rt|media|himpi|util)\.(\w+)\b", text)}


def test_every_documented_call_is_made_rightly_and_wrongly():
    documented = {(group, name) for group in DOCUMENTED for name in DOCUMENTED[group].split()}
    assert documented - calls_in("test_rows.py", "test_share.py", "test_util.py", "conftest.py") == set()
    cannot_be_wrong = {name for name in functions(acl.rt) if in_module(acl.rt)[name] == []}
    in_general = {("rt", name) for name in cannot_be_wrong} | {("util", "bytes_to_ptr")}  # no argument, or every bytes object is right
    assert documented - in_general - calls_in("test_wrong.py", "test_util.py") == set()
