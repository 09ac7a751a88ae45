#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A header of src/ includes what it uses, so that it means the same whatever was included before it.

  - Of the language: a name of STANDARD stands only where one of its headers is included.
  - Of the house: `folder::` stands only where a header of that folder is included, or declares what is meant.

What is not in the table is not looked at: it has the names that are used most, and those that other headers of the library happen to bring.

check_used.py [ROOT]: prints what is missing and where, and exits with 1 if anything is.
"""
import pathlib
import re
import sys

from check_includes import COMMENTS_AND_TEXTS, INCLUDE, blank, order

# Header of the language: its names. A name that several headers have counts for each of them.
STANDARD = {
    "algorithm": "min max clamp sort stable_sort find find_if find_if_not any_of all_of none_of copy copy_n copy_if fill fill_n remove_if "
                 "lower_bound upper_bound equal_range min_element max_element count_if reverse unique rotate binary_search partition_point",
    "array": "array to_array",
    "atomic": "atomic atomic_ref atomic_flag atomic_thread_fence atomic_signal_fence memory_order memory_order_relaxed memory_order_acquire "
              "memory_order_release memory_order_acq_rel memory_order_seq_cst",
    "bit": "bit_cast bit_ceil bit_floor bit_width countr_zero countl_zero countr_one has_single_bit popcount endian",
    "chrono": "chrono",
    "condition_variable": "condition_variable condition_variable_any cv_status",
    "cstddef": "byte nullptr_t ptrdiff_t max_align_t",
    "cstdlib": "free malloc calloc realloc abort exit getenv strtoull",
    "cstring": "memcpy memmove memset memcmp strlen strcmp strncmp strchr",
    "deque": "deque",
    "exception": "exception exception_ptr current_exception rethrow_exception uncaught_exceptions terminate",
    "filesystem": "filesystem",
    "fstream": "ifstream ofstream fstream filebuf",
    "functional": "function hash less greater invoke reference_wrapper ref cref",
    "initializer_list": "initializer_list",
    "limits": "numeric_limits",
    "list": "list",
    "map": "map multimap",
    "memory": "unique_ptr shared_ptr weak_ptr make_unique make_shared make_unique_for_overwrite enable_shared_from_this addressof destroy_at "
              "construct_at default_delete allocator",
    "mutex": "mutex recursive_mutex timed_mutex lock_guard unique_lock scoped_lock once_flag call_once adopt_lock defer_lock try_to_lock",
    "new": "bad_alloc nothrow launder align_val_t",
    "optional": "optional nullopt nullopt_t make_optional",
    "queue": "queue priority_queue",
    "random": "mt19937 mt19937_64 random_device",
    "set": "set multiset",
    "shared_mutex": "shared_mutex shared_lock",
    "span": "span as_bytes as_writable_bytes",
    "sstream": "ostringstream istringstream stringstream",
    "stdexcept": "runtime_error logic_error invalid_argument out_of_range length_error",
    "string": "string basic_string to_string stoi stoull char_traits",
    "string_view": "string_view basic_string_view",
    "system_error": "system_error error_code generic_category errc",
    "thread": "thread jthread this_thread",
    "tuple": "tuple tie make_tuple apply tuple_size tuple_element forward_as_tuple",
    "type_traits": "is_same_v decay_t remove_cvref_t remove_const_t remove_pointer_t remove_reference_t conditional_t enable_if_t "
                   "invoke_result_t is_void_v is_trivially_copyable_v is_standard_layout_v is_pointer_v is_convertible_v is_invocable_r_v "
                   "is_invocable_v is_nothrow_move_constructible_v is_enum_v underlying_type_t is_integral_v is_unsigned_v is_signed_v "
                   "is_const_v is_base_of_v is_constructible_v true_type false_type integral_constant void_t",
    "unordered_map": "unordered_map unordered_multimap",
    "unordered_set": "unordered_set unordered_multiset",
    "utility": "move forward swap exchange pair make_pair declval as_const in_place index_sequence make_index_sequence integer_sequence "
               "index_sequence_for to_underlying tuple_size tuple_element",
    "variant": "variant visit holds_alternative get_if monostate",
    "vector": "vector",
}
HEADERS = {}
for header, names in STANDARD.items():
    for name in names.split():
        HEADERS.setdefault(name, []).append(header)

USED = re.compile(r"(?<![\w:])std::(\w+)")


def missing(text, folder, folders):
    """What a header of this folder uses and does not include: (line, what is used, where it would come from)."""
    included = {found.group(1) for line in text.splitlines() if (found := INCLUDE.match(line))}
    code = COMMENTS_AND_TEXTS.sub(blank, text)
    uses = {}
    for found in USED.finditer(code):
        headers = HEADERS.get(found.group(1), ())
        if headers and not included.intersection(headers):
            uses.setdefault(f"<{headers[0]}>", (found.start(), f"std::{found.group(1)}"))
    for other in folders:
        if other == folder or any(name.startswith(f"{other}/") for name in included):
            continue
        if re.search(rf"^namespace plat::{other}\b", code, re.MULTILINE):
            continue
        if found := re.search(rf"(?<![\w:])(?:plat::)?{other}::\w+", code):
            uses[f"a header of {other}/"] = found.start(), found.group(0)
    return sorted((code.count("\n", 0, at) + 1, name, source) for source, (at, name) in uses.items())


def check(root):
    folders = order(root)
    wrong = []
    for path in sorted((root / "src").rglob("*.h")):
        below = path.relative_to(root / "src")
        for line, name, source in missing(path.read_text(), below.parts[0], folders):
            wrong.append(f"src/{below}:{line}: uses {name} and does not include {source}")
    return wrong


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    wrong = check(root)
    print("\n".join(wrong) if wrong else "what headers use: ok")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
