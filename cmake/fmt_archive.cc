// fmt's functions that are not in its headers, for programs that are linked statically: Debian has
// fmt as a shared library only. The declarations are in fmt/format.h.
#include <fmt/format-inl.h>

namespace fmt::detail {
template thousands_sep_result<char> thousands_sep_impl(locale_ref);
template char decimal_point_impl(locale_ref);
}  // namespace fmt::detail
