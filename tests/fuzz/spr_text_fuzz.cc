// The reader of Swift Profile Recorder text: any bytes end in a Recording or an error.
#include <cstddef>
#include <cstdint>
#include <span>

#include "cli/import/spr_text.h"
#include "tests/fuzz/check_recording.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  swipr::importers::SprTextReader reader;
  const std::size_t split = size == 0 ? 0 : data[size / 2] % size;  // a byte of the input decides
  reader.feed(bytes.first(split));
  reader.feed(bytes.subspan(split));
  const auto result = reader.finish();
  if (result) swipr::fuzz::check_recording(*result);
  return 0;
}
