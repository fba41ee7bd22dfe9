// Writes a recording of any size with the project's own encoder, to measure its readers. usage:
// make_recording FILE SAMPLES STACKS DEPTH LIBRARY… The libraries are loaded; stacks are made of
// random addresses in their code.
#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/wire/encoder.h"
#include "common/wire/format.h"

namespace {

using namespace swipr;

constexpr std::uint64_t kThreads = 16;
constexpr std::uint64_t kIntervalNs = 1'000'000;

struct Code {
  std::uint64_t start = 0;
  std::uint64_t size = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t load_bias = 0;
  std::vector<std::byte> build_id;
  std::string path;
};

void read_build_id(const char* begin, const char* end, std::vector<std::byte>& id) {
  for (const char* at = begin; end - at >= static_cast<std::ptrdiff_t>(sizeof(ElfW(Nhdr)));) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    const char* name = at + sizeof note;
    const char* content = name + (note.n_namesz + 3) / 4 * 4;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4) {
      const auto bytes = std::as_bytes(std::span(content, note.n_descsz));
      id.assign(bytes.begin(), bytes.end());
    }
    at = content + (note.n_descsz + 3) / 4 * 4;
  }
}

int add_code(dl_phdr_info* info, std::size_t, void* all) {
  auto& codes = *static_cast<std::map<std::string, Code>*>(all);
  const auto place = codes.find(info->dlpi_name);
  if (place == codes.end()) return 0;
  Code& code = place->second;
  code.path = info->dlpi_name;
  code.load_bias = info->dlpi_addr;
  for (const ElfW(Phdr) & header : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
    const std::uint64_t address = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD && (header.p_flags & PF_X) != 0) {
      code.start = address;
      code.size = header.p_memsz;
      code.file_offset = header.p_offset;
    } else if (header.p_type == PT_NOTE) {
      const auto* notes = reinterpret_cast<const char*>(address);
      read_build_id(notes, notes + header.p_memsz, code.build_id);
    }
  }
  return 0;
}

class Writer {
 public:
  explicit Writer(const char* path)
      : file_(std::fopen(path, "wb")), payload_(wire::kMaxBlockPayloadBytes) {
    if (file_ == nullptr) std::exit(1);
    std::byte header[64];
    wire::Encoder out(header);
    wire::encode_file_header(out);
    put(out.bytes());
  }
  ~Writer() {
    flush();
    std::fclose(file_);
  }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // `encode(out)` writes one record.
  template <typename Encode>
  void record(Encode encode) {
    const std::size_t mark = out_.size();
    encode(out_);
    if (!out_.overflowed()) return;
    out_.roll_back(mark);
    flush();
    encode(out_);
  }

 private:
  void flush() {
    std::byte header[64];
    wire::Encoder block(header);
    wire::encode_block_header(block, 0, out_.bytes());
    put(block.bytes());
    put(out_.bytes());
    out_.roll_back(0);
  }
  void put(std::span<const std::byte> bytes) { std::fwrite(bytes.data(), 1, bytes.size(), file_); }

  std::FILE* file_;
  std::vector<std::byte> payload_;
  wire::Encoder out_{payload_};
};

void write_head(Writer& file, const std::map<std::string, Code>& codes) {
  wire::SourceRecord source;
  source.pid = 4711;
  source.start_realtime_ns = 1'700'000'000'000'000'000;
  source.interval_ns = kIntervalNs;
  source.machine = 62;
  source.agent_version = SWIPR_VERSION;
  source.command_name = "generated";
  file.record([&](wire::Encoder& out) { encode(out, source); });
  std::uint64_t id = 0;
  for (const auto& [name, code] : codes) {
    wire::ModuleRecord module;
    module.module_id = ++id;
    module.start = code.start;
    module.size_bytes = code.size;
    module.file_offset = code.file_offset;
    module.load_bias = code.load_bias;
    module.build_id = code.build_id;
    module.path = code.path;
    file.record([&](wire::Encoder& out) { encode(out, module); });
  }
  for (std::uint64_t thread = 0; thread < kThreads; ++thread) {
    const std::string name = "worker " + std::to_string(thread);
    file.record([&](wire::Encoder& out) {
      encode(out, wire::ThreadRecord{thread, 5000 + thread, 0, name});
    });
  }
}

// Stacks have common outer halves, as those of real programs do.
void write_stacks(Writer& file, const std::map<std::string, Code>& codes, std::uint64_t count,
                  std::uint64_t depth) {
  std::mt19937_64 random(1);
  std::vector<const Code*> all;
  for (const auto& [name, code] : codes) all.push_back(&code);
  std::vector<std::uint64_t> places;  // few enough that functions repeat
  for (int place = 0; place < 20'000; ++place) {
    const Code& code = *all[random() % all.size()];
    places.push_back(code.start + random() % code.size);
  }
  std::vector<wire::FrameEntry> frames(depth);
  for (std::uint64_t id = 1; id <= count; ++id) {
    for (std::uint64_t frame = 0; frame < depth; ++frame) {
      const bool keeps = id > 1 && frame >= depth / 2 && id % 100 != 0;
      if (keeps) continue;
      frames[frame] = {places[random() % places.size()], wire::FrameSource::kCfi, frame == 0};
    }
    wire::StackRecord stack;
    stack.stack_id = id;
    stack.flags = wire::kStackRootReached;
    file.record([&](wire::Encoder& out) { encode(out, stack, frames); });
  }
}

void write_ticks(Writer& file, std::uint64_t samples, std::uint64_t stacks) {
  std::mt19937_64 random(2);
  for (std::uint64_t done = 0; done < samples; done += kThreads) {
    std::uint64_t chosen[kThreads];
    for (std::uint64_t& stack : chosen) stack = 1 + random() % stacks;
    file.record([&](wire::Encoder& out) {
      wire::TickEncoder tick(out, kIntervalNs);
      for (std::uint64_t thread = 0; thread < std::min(kThreads, samples - done); ++thread) {
        wire::SampleEntry sample;
        sample.thread_index = thread;
        sample.state = wire::ThreadState::kRunning;
        sample.stack_id = chosen[thread];
        sample.cpu_ns = kIntervalNs - chosen[thread] % 1000;
        tick.put(sample, false, true);
      }
      tick.end();
    });
  }
  file.record([&](wire::Encoder& out) {
    encode(out, wire::EndRecord{wire::EndReason::kComplete, kIntervalNs * samples / kThreads, ""});
  });
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 6) return 2;
  std::map<std::string, Code> codes;
  for (int library = 5; library < count; ++library) {
    if (dlopen(arguments[library], RTLD_NOW) == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    codes[arguments[library]] = {};
  }
  dl_iterate_phdr(add_code, &codes);
  Writer file(arguments[1]);
  const std::uint64_t samples = std::strtoull(arguments[2], nullptr, 10);
  const std::uint64_t stacks = std::strtoull(arguments[3], nullptr, 10);
  write_head(file, codes);
  write_stacks(file, codes, stacks, std::strtoull(arguments[4], nullptr, 10));
  write_ticks(file, samples, stacks);
  return 0;
}
