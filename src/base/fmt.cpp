// SPDX-License-Identifier: Apache-2.0
// The one place where fmt itself is compiled. Everybody else includes its declarations, and finds the
// functions here: without this each file would compile them anew, and each library would need a libfmt.so of
// one version.
#define FMT_HEADER_ONLY
#include <fmt/format.h>

namespace plat {

// Naming a function is what makes the compiler keep it, with all that it needs.
[[gnu::used]] auto* const kept_vformat =
    static_cast<std::string (*)(fmt::string_view, fmt::format_args)>(&fmt::vformat);
[[gnu::used]] auto* const kept_vprint =
    static_cast<void (*)(std::FILE*, fmt::string_view, fmt::format_args)>(&fmt::vprint);
[[gnu::used]] auto* const kept_vprint_out =
    static_cast<void (*)(fmt::string_view, fmt::format_args)>(&fmt::vprint);
// What files with formatters of their own (fmt::join) refer to, where the compiler does not put it in line.
[[gnu::used]] auto* const kept_thousands_sep = &fmt::detail::thousands_sep_impl<char>;
[[gnu::used]] auto* const kept_decimal_point = &fmt::detail::decimal_point_impl<char>;
[[gnu::used]] auto* const kept_is_printable = static_cast<bool (*)(uint32_t)>(&fmt::detail::is_printable);
[[gnu::used]] auto* const kept_assert_fail = &fmt::detail::assert_fail;
#if FMT_VERSION < 110000  // it has another name since
[[gnu::used]] auto* const kept_throw_format_error = &fmt::detail::throw_format_error;
#endif

}  // namespace plat
