// Linked into the static program only. A library that a static program loads brings the system's C
// library with it, of whatever version, beside the program's own: nothing is loaded.
#include <dlfcn.h>
#include <nss.h>

extern "C" void* dlopen(const char*, int) { return nullptr; }

namespace {

// The C library would load the services that nsswitch.conf(5) names; these are built in.
[[gnu::constructor]] void use_built_in_services() {
  __nss_configure_lookup("passwd", "files");
  __nss_configure_lookup("hosts", "files dns");
}

}  // namespace
