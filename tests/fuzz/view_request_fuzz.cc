// Arbitrary requests to `swipr view`.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "cli/serve/http_request.h"

using namespace swipr::serve;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Request whole;
  const RequestState state = parse_request(bytes, whole);
  if (state != RequestState::kComplete) return 0;
  // Bytes after the empty line have no effect.
  Request head;
  const std::string_view up_to_end = bytes.substr(0, bytes.find("\r\n\r\n") + 4);
  if (parse_request(up_to_end, head) != state || head.path != whole.path ||
      head.host != whole.host || !whole.path.starts_with('/')) {
    std::abort();
  }
  return 0;
}
