// Unwind tables of everything that is mapped in this process.
#pragma once

#include <ucontext.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "preload/unwind/image/table_builder.h"
#include "preload/unwind/table/code_map.h"
#include "preload/unwind/walk/loop/rule_cache.h"
#include "preload/unwind/walk/walk.h"

namespace swipr::unwind {

// Reads the own process through /proc/self/mem, as the agent does.
class SelfReader {
 public:
  SelfReader();
  ~SelfReader();
  SelfReader(const SelfReader&) = delete;
  SelfReader& operator=(const SelfReader&) = delete;
  ImageReader image_reader() { return {&read, this}; }

 private:
  static bool read(void* state, std::uint64_t address, std::span<std::byte> out) noexcept;
  int fd_;
};

class SelfMap {
 public:
  struct Image {
    std::string path;
    std::uint64_t elf_header = 0;
    BuildResult built;
  };

  SelfMap();
  ~SelfMap();
  SelfMap(const SelfMap&) = delete;
  SelfMap& operator=(const SelfMap&) = delete;

  CodeMap code_map() const { return CodeMap(ranges_); }
  // One at a time: they share the cache.
  CodeMap cached_code_map() { return CodeMap(ranges_, cache_.get()); }
  const std::vector<Image>& images() const { return images_; }

 private:
  const Image* find_or_build(const std::string& path, std::uint64_t elf_header);

  SelfReader reader_;
  std::vector<Image> images_;
  std::vector<CodeRange> ranges_;
  std::unique_ptr<RuleCache> cache_ = std::make_unique<RuleCache>();
};

// All of a context's registers.
Registers registers_of(const ucontext_t& context);

}  // namespace swipr::unwind
