// Any bytes as a module: every lookup ends without a crash.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "common/host/unique_fd.h"
#include "symbolize/symbolizer.h"

namespace {

constexpr std::size_t kMaxBytes = 1 << 16;
constexpr std::uint64_t kStep = 13;  // reaches every function of small files

bool write_all(int fd, const std::uint8_t* data, std::size_t size) {
  while (size > 0) {
    const ssize_t written = ::write(fd, data, size);
    if (written <= 0) return false;
    data += written;
    size -= static_cast<std::size_t>(written);
  }
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > kMaxBytes) return 0;
  const swipr::host::UniqueFd file(::memfd_create("module", MFD_CLOEXEC));
  if (!file || !write_all(file.value(), data, size)) return 0;
  swipr::symbolize::Options options;
  options.debug_directories = {};
  swipr::symbolize::Symbolizer symbolizer(options);
  const auto module =
      symbolizer.open_module({"/proc/self/fd/" + std::to_string(file.value()), "", 0});
  for (std::uint64_t offset = 0; offset <= size; offset += kStep) {
    const auto address = symbolizer.image_address(module, {offset});
    for (const auto& function : symbolizer.find_functions(module, {offset})) {
      symbolizer.find_signature(module, {address.value - function.offset});
    }
  }
  return symbolizer.note(module).size() > kMaxBytes ? -1 : 0;
}
