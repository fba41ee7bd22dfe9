#include <algorithm>
#include <string_view>

#include "preload/runtimes/ruby/ruby_collector.h"
#include "preload/runtimes/ruby/ruby_frames.h"
#include "preload/runtimes/ruby/ruby_names.h"
#include "preload/unwind/image/frame_search.h"

namespace swipr::runtimes {
namespace {

constexpr std::uint64_t kMaxModules = 64;
constexpr std::uint64_t kMaxTlsBytes = 4096;

constexpr std::uint32_t kLoad = 1;  // PT_LOAD
constexpr std::uint32_t kTls = 7;   // PT_TLS
constexpr std::uint32_t kWritable = 2;

// The first fields of Elf64_Phdr.
struct Segment {
  std::uint32_t type;
  std::uint32_t flags;
  std::uint64_t offset;
  std::uint64_t begin;
  std::uint64_t physical;
  std::uint64_t file_bytes;
  std::uint64_t bytes;
};

// The first segment of that type from number `next` on; then `next` is the one behind it.
bool find_segment(std::uint64_t header, ObjectPieces& reader, std::uint32_t type,
                  std::uint32_t flags, std::uint64_t& next, Segment& out) noexcept {
  constexpr std::uint64_t kOffset = 32;  // Elf64_Ehdr: e_phoff, e_phnum
  constexpr std::uint64_t kCount = 56;
  constexpr std::uint64_t kEntry = 56;
  constexpr std::uint16_t kMost = 64;
  std::uint64_t offset = 0;
  std::uint16_t count = 0;
  if (!reader.read_value(header + kOffset, offset) || !reader.read_value(header + kCount, count)) {
    return false;
  }
  while (next < std::min(count, kMost)) {
    if (!reader.read_value(header + offset + next++ * kEntry, out)) return false;
    if (out.type == type && (out.flags & flags) == flags) return true;
  }
  return false;
}

class Starter {
 public:
  Starter(RubyRuntime& ruby, std::uint64_t header, unwind::ImageReader reader) noexcept
      : ruby_(ruby), header_(header), image_reader_(reader), reader_(reader) {}

  bool run(std::uint64_t thread_pointer) noexcept {
    if (!find_context(thread_pointer)) return false;
    find_names();
    find_ruby_collector(ruby_, reader_, context_);
    return true;
  }

 private:
  bool find_context(std::uint64_t thread_pointer) noexcept {
    if (ruby_.machine != 0) {
      return try_context(find_listed_ruby_context(ruby_, reader_, thread_pointer));
    }
    Segment variables;
    std::uint64_t next = 0;
    std::uint64_t table = 0;  // two words for each module; their number is before it
    std::uint64_t count = 0;
    if (!find_segment(header_, reader_, kTls, 0, next, variables) ||
        !reader_.read_value(thread_pointer + unwind::kTlsVectorAt, table) ||
        !reader_.read_value(table - 16, count)) {
      return false;
    }
    const std::uint64_t bytes = std::min(variables.bytes, kMaxTlsBytes);
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
      if (frame.pc == 0 || frame.code == 0) continue;
      context_ = address;
      return try_code(frame.code);
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
    load_bias_ = image.load_bias;
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

  // A variable of the image leads to the table, in which operators have the number of their
  // character.
  void find_names() noexcept {
    constexpr std::uint64_t kMaxBytes = 1 << 20;
    Segment segment;
    for (std::uint64_t next = 0; find_segment(header_, reader_, kLoad, kWritable, next, segment);) {
      const std::uint64_t begin = (load_bias_ + segment.begin + 7) & -std::uint64_t{8};
      const std::uint64_t bytes = std::min(segment.bytes, kMaxBytes);
      for (std::uint64_t at = begin; at + 8 <= begin + bytes; at += 8) {
        std::uint64_t names = 0;
        if (!reader_.read_value(at, names)) break;
        const bool is_own = names - begin < bytes;
        if (names % 8 != 0 || names < kMaxBytes || is_own) continue;
        if (!is_name(names, '+') || !is_name(names, '-')) continue;
        ruby_.names = at;
        return;
      }
    }
  }
  bool is_name(std::uint64_t names, char name) noexcept {
    text_.name.clear();
    return append_ruby_name(ruby_.layout, reader_, names, static_cast<unsigned char>(name),
                            text_.name) &&
           text_.name.view() == std::string_view(&name, 1);
  }

  RubyRuntime& ruby_;
  std::uint64_t header_;
  std::uint64_t load_bias_ = 0;
  std::uint64_t context_ = 0;  // of the main thread
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
