// Any bytes as a jitdump file and as a perf map: reading and lookups end without a crash.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "symbolize/generated/jit_symbols.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  swipr::symbolize::JitSymbols symbols;
  symbols.add_jitdump(std::as_bytes(std::span(data, size)));
  symbols.add_perf_map({reinterpret_cast<const char*>(data), size});
  symbols.finish();
  std::size_t named = 0;
  for (std::uint64_t address = 0x1000; address < 0x3000; address += 0x10) {
    for (const std::int64_t time : {0, 100, 150, 300}) {
      const auto place = symbols.find({address}, std::chrono::nanoseconds(time));
      if (place) named += symbols.name_of(place->symbol).size() + place->file.size();
    }
  }
  return named > (std::size_t{1} << 40) ? -1 : 0;
}
