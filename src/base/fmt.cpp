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
// Templates that fmt promises to have compiled, and that files with formatters of their own (fmt::join) refer
// to.
[[gnu::used]] auto* const kept_thousands_sep = &fmt::detail::thousands_sep_impl<char>;
[[gnu::used]] auto* const kept_decimal_point = &fmt::detail::decimal_point_impl<char>;

}  // namespace plat
