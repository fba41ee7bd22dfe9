#include "preload/trace/search/forbidden_names.h"

#include <string_view>

#include "preload/unwind/base/architecture.h"
#include "preload/unwind/image/dynamic_symbol.h"

namespace swipr::trace {

namespace {

using namespace std::string_view_literals;

bool exports(const unwind::BuildResult& image, std::string_view name,
             unwind::ImageReader reader) noexcept {
  return unwind::find_exported(image.dynamic, image.load_bias, name, reader) != 0;
}

// Images of which nothing is traced: the loader, unwinders.
constexpr std::string_view kWholeImages[] = {
    "_rtld_global"sv, "_dl_rtld_di_serinfo"sv, "_Unwind_Find_FDE"sv,
    "unw_step"sv,     unwind::kLibunwindStep,
};

constexpr std::string_view kFunctions[] = {
    // return more than once, or to another place than their caller
    "setjmp"sv,
    "_setjmp"sv,
    "__sigsetjmp"sv,
    "sigsetjmp"sv,
    "savectx"sv,
    "getcontext"sv,
    "setcontext"sv,
    "swapcontext"sv,
    "makecontext"sv,
    "vfork"sv,
    "__vfork"sv,
    "clone"sv,
    "__clone"sv,
    "clone3"sv,
    "__clone3"sv,
    // read their caller, or run before thread-local variables exist
    "dlopen"sv,
    "dlmopen"sv,
    "dlclose"sv,
    "dlsym"sv,
    "dlvsym"sv,
    "dladdr"sv,
    "dladdr1"sv,
    "dlinfo"sv,
    "dlerror"sv,
    "dl_iterate_phdr"sv,
    "_dl_find_object"sv,
    "_dl_sym"sv,
    "_dl_vsym"sv,
    "_dl_addr"sv,
    "__tls_get_addr"sv,
    "__libc_start_main"sv,
    "__libc_dlopen_mode"sv,
    "__libc_dlclose"sv,
    "__libc_dlsym"sv,
    // called while exceptions leave frames
    "__gxx_personality_v0"sv,
    "__gcc_personality_v0"sv,
    "__cxa_throw"sv,
    "__cxa_rethrow"sv,
    "__cxa_begin_catch"sv,
    "__cxa_end_catch"sv,
    "__cxa_get_exception_ptr"sv,
    "__cxa_call_unexpected"sv,
    "__cxa_call_terminate"sv,
    "__cxa_begin_cleanup"sv,
    "__cxa_end_cleanup"sv,
    "__cxa_get_globals"sv,
    "__cxa_get_globals_fast"sv,
    "__cxa_allocate_exception"sv,
    "__cxa_free_exception"sv,
    "__cxa_init_primary_exception"sv,
    "__cxa_allocate_dependent_exception"sv,
    "__cxa_free_dependent_exception"sv,
    "__cxa_current_exception_type"sv,
    "_Unwind_RaiseException"sv,
    "_Unwind_Resume"sv,
    "_Unwind_Resume_or_Rethrow"sv,
    "_Unwind_ForcedUnwind"sv,
    "_Unwind_Backtrace"sv,
    "_Unwind_GetIP"sv,
    "_Unwind_GetIPInfo"sv,
    "_Unwind_SetIP"sv,
    "_Unwind_GetGR"sv,
    "_Unwind_SetGR"sv,
    "_Unwind_GetCFA"sv,
    "_Unwind_GetLanguageSpecificData"sv,
    "_Unwind_GetRegionStart"sv,
    "_Unwind_DeleteException"sv,
    "__register_frame"sv,
    "__register_frame_info"sv,
    "__deregister_frame"sv,
    "__deregister_frame_info"sv,
};

struct Hindrance {
  std::string_view name;
  const char* text;
};
// Virtual machines find the frames of their generated code by the return addresses of the C++
// functions that it calls.
constexpr Hindrance kHindrances[] = {
    {"JNI_CreateJavaVM"sv, "the Java virtual machine of this process reads return addresses"},
    {"node_module_register"sv, "the JavaScript engine of this process reads return addresses"},
    {"coreclr_initialize"sv, "the .NET runtime of this process reads return addresses"},
    {"mono_jit_init"sv, "the .NET runtime of this process reads return addresses"},
};
constexpr const char* kOtherUnwinder =
    "the process has a second unwinder (libunwind), whose exceptions cannot pass traced calls";

}  // namespace

bool is_needed_by_unwinding(const unwind::BuildResult& image, std::uint64_t address,
                            unwind::ImageReader reader) noexcept {
  if (image.dynamic.empty()) return false;
  for (const std::string_view name : kWholeImages) {
    if (exports(image, name, reader)) return true;
  }
  for (const std::string_view name : kFunctions) {
    if (unwind::find_exported(image.dynamic, image.load_bias, name, reader) == address) return true;
  }
  return false;
}

const char* find_hindrance(const unwind::BuildResult& image, unwind::ImageReader reader) noexcept {
  if (image.dynamic.empty()) return nullptr;
  for (const Hindrance& hindrance : kHindrances) {
    if (exports(image, hindrance.name, reader)) return hindrance.text;
  }
  // libgcc has functions that others do not.
  const bool throws = exports(image, "_Unwind_RaiseException"sv, reader);
  return throws && !exports(image, "__gcc_personality_v0"sv, reader) ? kOtherUnwinder : nullptr;
}

}  // namespace swipr::trace
