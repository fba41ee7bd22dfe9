// CFI of code that is generated at run time: JIT compilers register it with the program's unwinder
// by these functions of libgcc (LLVM's libunwind has two of them). Calls to an unwinder that is
// linked into the caller itself are not seen. The variants for arrays of tables are omitted,
// because no known compiler uses them. Source: GCC, libgcc/unwind-dw2-fde.c.

#include "common/core/errno_saver.h"
#include "preload/agent/base/libc_calls.h"
#include "preload/agent/modules/registered/frame_registrations.h"
#include "preload/interpose/next.h"

namespace {

using Register = void(const void*);
using RegisterInfo = void(const void*, void*);
using RegisterInfoBases = void(const void*, void*, void*, void*);
using Deregister = void(const void*);
using DeregisterInfo = void*(const void*);

// The function that `caller` would have reached without this library: an unwinder can be loaded
// late, with any library, and often only that library can see it.
void* find_next(const char* name, const void* caller) noexcept {
  const swipr::ErrnoSaver errno_saver;
  void* found = swipr::libc::dlsym(RTLD_NEXT, name);
  Dl_info info;
  if (found == nullptr && swipr::libc::dladdr(caller, &info) != 0 && info.dli_fname != nullptr) {
    if (void* const library = swipr::libc::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD)) {
      found = swipr::libc::dlsym(library, name);
      swipr::libc::dlclose(library);
    }
  }
  if (found == nullptr) swipr::libc::dlerror();  // not an error of the program
  return found;
}

template <typename Function, typename... Arguments>
void add(const char* name, const void* caller, const void* table, Arguments... more) noexcept {
  auto* const next = reinterpret_cast<Function*>(find_next(name, caller));
  if (next != nullptr) next(table, more...);
  swipr::agent::frame_registrations::add(table, next != nullptr);
}

// The next function, if it has to be called. The code may be unmapped as soon as it has returned.
template <typename Function>
Function* remove(const char* name, const void* caller, const void* table) noexcept {
  if (!swipr::agent::frame_registrations::remove(table)) return nullptr;
  return reinterpret_cast<Function*>(find_next(name, caller));
}

}  // namespace

#define SWIPR_CALLER __builtin_return_address(0)

SWIPR_EXPORTED void __register_frame(const void* table) {
  add<Register>(__func__, SWIPR_CALLER, table);
}

SWIPR_EXPORTED void __register_frame_info(const void* table, void* object) {
  add<RegisterInfo>(__func__, SWIPR_CALLER, table, object);
}

SWIPR_EXPORTED void __register_frame_info_bases(const void* table, void* object, void* text_base,
                                                void* data_base) {
  add<RegisterInfoBases>(__func__, SWIPR_CALLER, table, object, text_base, data_base);
}

SWIPR_EXPORTED void __deregister_frame(const void* table) {
  if (auto* const next = remove<Deregister>(__func__, SWIPR_CALLER, table)) next(table);
}

SWIPR_EXPORTED void* __deregister_frame_info(const void* table) {
  auto* const next = remove<DeregisterInfo>(__func__, SWIPR_CALLER, table);
  return next != nullptr ? next(table) : nullptr;
}

SWIPR_EXPORTED void* __deregister_frame_info_bases(const void* table) {
  auto* const next = remove<DeregisterInfo>(__func__, SWIPR_CALLER, table);
  return next != nullptr ? next(table) : nullptr;
}
