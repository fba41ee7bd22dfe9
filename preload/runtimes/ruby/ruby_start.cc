#include <algorithm>

#include "preload/runtimes/ruby/ruby_frames.h"
#include "preload/runtimes/ruby/ruby_names.h"
#include "preload/unwind/image/frame_search.h"

namespace swipr::runtimes {
namespace {

constexpr std::uint64_t kMaxModules = 64;
constexpr std::uint64_t kMaxTlsBytes = 4096;

// The size of the image's PT_TLS; 0: it has none.
std::uint64_t find_tls_bytes(std::uint64_t header, ObjectPieces& reader) noexcept {
  constexpr std::uint64_t kOffset = 32;  // Elf64_Ehdr: e_phoff, e_phnum
  constexpr std::uint64_t kCount = 56;
  constexpr std::uint64_t kSize = 40;  // Elf64_Phdr: p_memsz
  constexpr std::uint64_t kEntry = 56;
  constexpr std::uint32_t kTls = 7;
  std::uint64_t offset = 0;
  std::uint16_t count = 0;
  if (!reader.read_value(header + kOffset, offset) || !reader.read_value(header + kCount, count)) {
    return 0;
  }
  for (std::uint64_t at = 0; at < std::min<std::uint64_t>(count, kMaxModules); ++at) {
    const std::uint64_t entry = header + offset + at * kEntry;
    std::uint32_t type = 0;
    std::uint64_t bytes = 0;
    if (!reader.read_value(entry, type)) return 0;
    if (type == kTls) return reader.read_value(entry + kSize, bytes) ? bytes : 0;
  }
  return 0;
}

class Starter {
 public:
  Starter(RubyRuntime& ruby, std::uint64_t header, unwind::ImageReader reader) noexcept
      : ruby_(ruby), header_(header), image_reader_(reader), reader_(reader) {}

  bool run(std::uint64_t thread_pointer) noexcept {
    if (ruby_.machine != 0) {
      return try_context(find_listed_ruby_context(ruby_, reader_, thread_pointer));
    }
    constexpr std::uint64_t kModuleTable = 8;  // glibc, tcbhead_t.dtv; its size is before it
    const std::uint64_t bytes = std::min(find_tls_bytes(header_, reader_), kMaxTlsBytes);
    std::uint64_t table = 0;
    std::uint64_t count = 0;
    if (bytes == 0 || !reader_.read_value(thread_pointer + kModuleTable, table) ||
        !reader_.read_value(table - 16, count)) {
      return false;
    }
    for (std::uint64_t module = 1; module <= std::min(count, kMaxModules); ++module) {
      std::uint64_t block = 0;
      if (!reader_.read_value(table + 16 * module, block)) return false;
      for (std::uint64_t offset = 0; offset + 8 <= bytes; offset += 8) {
        std::uint64_t context = 0;
        if (block % 8 != 0 || !reader_.read_value(block + offset, context)) break;
        if (!try_context(context)) continue;
        ruby_.tls_module = static_cast<std::uint32_t>(module);
        ruby_.tls_offset = static_cast<std::uint32_t>(offset);
        return true;
      }
    }
    return false;
  }

 private:
  // Whether its outermost frame is one, whose function can be named; then the loop is known.
  bool try_context(std::uint64_t address) noexcept {
    constexpr unsigned kMaxSteps = 16;  // outer frames without code of Ruby
    const std::uint64_t frame_bytes = ruby_.layout.frame_bytes;
    RubyContext context;
    if (address == 0 || address % 8 != 0 || !reader_.read_value(address, context) ||
        !is_ruby_context(context, frame_bytes)) {
      return false;
    }
    RubyFrame frame;
    std::uint64_t at = root_of(context, frame_bytes);
    for (unsigned step = 0; step < kMaxSteps && at > context.frame; ++step) {
      at -= frame_bytes;
      if (!reader_.read_value(at, frame)) return false;
      if (frame.pc != 0 && frame.code != 0) return try_code(frame.code);
    }
    return false;
  }

  bool try_code(std::uint64_t code) noexcept {
    RubyCodeBody body;
    if (!read_ruby_code(reader_, code, body)) return false;
    const Token token{.code = code, .fingerprint = fingerprint_of(body), .kind = TokenKind::kRuby};
    return read_ruby_function(ruby_, reader_, token, text_) && find_loop(body.instructions);
  }

  // Each instruction is the address of its code in the loop's function.
  bool find_loop(std::uint64_t instructions) noexcept {
    constexpr std::uint64_t kLargest = 1 << 18;  // of that function
    std::uint64_t address = 0;
    if (!reader_.read_value(instructions, address)) return false;
    const unwind::BuildResult image = unwind::describe_image(header_, image_reader_);
    unwind::FdeList fdes;
    const std::uint64_t at = address - image.load_bias;
    const bool is_found = image.search.count != 0 && image.text.contains(at) &&
                          unwind::find_fdes(image, {at, at + kLargest}, image_reader_, fdes) ==
                              unwind::BuildStatus::kOk &&
                          fdes.size() > 1;
    if (is_found) {
      const std::uint64_t bias = image.load_bias + image.text.begin;
      ruby_.loop = {bias + fdes[0].start(), bias + fdes[1].start()};
    }
    return is_found && ruby_.loop.contains(address);
  }

  RubyRuntime& ruby_;
  std::uint64_t header_;
  unwind::ImageReader image_reader_;
  ObjectPieces reader_;
  FunctionText text_;
};

}  // namespace

bool start_ruby(RubyRuntime& ruby, std::uint64_t header, std::uint64_t thread_pointer,
                unwind::ImageReader reader) noexcept {
  return Starter(ruby, header, reader).run(thread_pointer);
}

}  // namespace swipr::runtimes
