// Search for a caller with arbitrary code between two FDEs and arbitrary words of a stack. Fails on
// a fault, a hang or a caller that is not a word of the stack.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "preload/agent/sample/callers/caller_search.h"
#include "preload/agent/sample/callers/vfork_caller.h"
#include "tests/unit/preload/unwind/cfi_image.h"

namespace {

using namespace swipr::agent;
using namespace swipr::unwind;

constexpr std::size_t kCodeBytes = 4096;
constexpr std::size_t kWords = 96;
constexpr std::uint64_t kStack = 0x7ffe00000000;
constexpr std::uint64_t kRootBytes = 256;   // without a return address
constexpr std::uint64_t kPlainBytes = 256;  // CFA = rsp + 16
constexpr std::uint64_t kGap = kRootBytes + kPlainBytes;
constexpr std::uint64_t kBehind = 3072;

// The input is the code, and the rest of it the stack.
class Subject {
 public:
  explicit Subject(std::span<const std::uint8_t> input) {
    static_cast<void>(memory_.open());
    const auto code = input.first(std::min(input.size(), kCodeBytes));
    std::copy(code.begin(), code.end(), code_);
    const auto rest = input.subspan(code.size());
    if (!rest.empty()) std::memcpy(words_, rest.data(), std::min(rest.size(), sizeof words_));
    // Half of the words point into the code.
    for (std::size_t at = 0; at < kWords; at += 2) words_[at] = begin() + words_[at] % kCodeBytes;
    CfiImage image;
    const std::size_t cie = image.add_cie();
    image.add_fde(cie, CfiImage::kText, kRootBytes, {0x07, 16});
    image.add_fde(cie, CfiImage::kText + kRootBytes, kPlainBytes, {0x0e, 16});
    image.add_fde(cie, CfiImage::kText + kBehind, 64, {});
    built_ = image.build();
    range_ = {.start = begin(),
              .end = begin() + kCodeBytes,
              .load_bias = begin() - CfiImage::kText,
              .table = built_.table};
  }
  ~Subject() {
    destroy_table(built_.table);
    memory_.close();
  }

  void search() {
    const CodeMap map(std::span(&range_, 1));
    static std::uint64_t kept[swipr::wire::kMaxFrames];
    const std::size_t count = keep_stack_words(map, *this, kStack, std::span(kept));
    const StackWords words(kStack, std::span(kept).first(count));
    Registers callee;
    callee.values[kRsp] = kStack;
    callee.known = 1u << kRsp | 1u << kRbx;
    callee.values[kRbx] = words_[1];
    static const auto searcher = std::make_unique<CallerSearch>();
    searcher->forget();
    for (const std::uint64_t offset : {kGap, kGap + words_[3] % (kBehind - kGap)}) {
      const auto gap = CodeGap::find(map, begin() + offset);
      if (!gap) std::abort();
      const auto caller = searcher->find(memory_, map, *gap, callee, words, {&walk, this});
      if (caller) check(caller->values[kRsp], caller->values[kPc]);
    }
    const auto parent = find_vfork_return(memory_, map, begin() + kRootBytes, words_[0]);
    if (parent && map.find(*parent - 1) == nullptr) std::abort();
  }
  bool read_word(std::uint64_t address, std::uint64_t& out) const {
    const std::uint64_t index = (address - kStack) / sizeof out;
    if (index >= kWords) return false;
    out = words_[index];
    return true;
  }

 private:
  static WalkEnd walk(void* state, Registers& caller, KeptStack& stack) noexcept {
    const auto& self = *static_cast<const Subject*>(state);
    static const auto frames = std::make_unique<FrameBuffer>();
    return walk_on(CodeMap(std::span(&self.range_, 1)), caller, false, stack.reader(), *frames);
  }
  void check(std::uint64_t stack, std::uint64_t pc) const {
    std::uint64_t word = 0;
    if (!read_word(stack - sizeof word, word) || word != pc) std::abort();
  }
  std::uint64_t begin() const { return reinterpret_cast<std::uint64_t>(code_); }

  swipr::agent::ProcMemory memory_;
  alignas(16) std::uint8_t code_[kCodeBytes] = {};
  std::uint64_t words_[kWords] = {};
  BuildResult built_;
  CodeRange range_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  Subject({data, size}).search();
  return 0;
}
