// Runs a fuzz target on its corpus and on deterministic mutations of it, for builds without
// libFuzzer (GCC). The mutations depend only on SWIPR_SAMPLE_SEED (tests/support/sampling.py), so
// that a failure can be repeated and each commit gets different ones. usage: NAME_fuzz FOLDER…
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;
#ifndef SWIPR_MUTATIONS
#define SWIPR_MUTATIONS 4000
#endif
constexpr int kMutations = SWIPR_MUTATIONS;
constexpr std::size_t kMaxMutatedBytes = 1 << 16;  // large samples are replayed, but not mutated
constexpr std::uint8_t kTelling[] = {0x00, 0x01, 0x0a, 0x0d, 0x20, 0x22, 0x2f,
                                     0x3a, 0x5c, 0x7b, 0x7d, 0x7f, 0x80, 0xff};

std::vector<Bytes> read_corpus(int count, char** folders) {
  std::vector<std::filesystem::path> paths;
  for (int i = 0; i < count; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(folders[i])) {
      if (entry.is_regular_file()) paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());  // directory order differs between systems
  std::vector<Bytes> corpus;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return corpus;
}

// An allocation of the exact size, so that a sanitizer detects a read of the first byte past the
// end.
void run(const Bytes& input) {
  const Bytes exact(input.begin(), input.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

unsigned sample_seed() {
  constexpr unsigned kByHand = 20;
  const char* text = std::getenv("SWIPR_SAMPLE_SEED");
  return text == nullptr || *text == '\0' ? kByHand
                                          : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  Bytes mutate(Bytes bytes, const Bytes& other) {
    for (std::size_t left = 1 + pick(4); left > 0; --left) change(bytes, other);
    return bytes;
  }
  std::size_t pick(std::size_t below) { return below == 0 ? 0 : random_() % below; }

 private:
  void change(Bytes& bytes, const Bytes& other) {
    const std::size_t at = pick(bytes.size() + 1);
    const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    switch (pick(6)) {
      case 0:
        if (at < bytes.size()) bytes[at] ^= static_cast<std::uint8_t>(1u << pick(8));
        break;
      case 1:
        if (at < bytes.size()) bytes[at] = kTelling[pick(std::size(kTelling))];
        break;
      case 2:
        bytes.insert(place, kTelling[pick(std::size(kTelling))]);
        break;
      case 3:
        bytes.erase(place,
                    place + static_cast<std::ptrdiff_t>(std::min(pick(16), bytes.size() - at)));
        break;
      case 4:
        bytes.resize(at);
        break;
      default: {  // a piece of another sample
        const std::size_t from = pick(other.size() + 1);
        const std::size_t length = std::min(pick(64), other.size() - from);
        bytes.insert(place, other.begin() + static_cast<std::ptrdiff_t>(from),
                     other.begin() + static_cast<std::ptrdiff_t>(from + length));
      }
    }
  }

  std::mt19937 random_;
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<Bytes> corpus = read_corpus(argc - 1, argv + 1);
  if (corpus.empty()) {
    std::fprintf(stderr, "no corpus; usage: %s FOLDER…\n", argv[0]);
    return 1;
  }
  for (const Bytes& input : corpus) run(input);
  run({});
  std::erase_if(corpus, [](const Bytes& input) { return input.size() > kMaxMutatedBytes; });
  corpus.emplace_back();
  const unsigned seed = sample_seed();
  std::printf("%zu samples and %d mutations of them, SWIPR_SAMPLE_SEED=%u\n", corpus.size(),
              kMutations, seed);
  std::fflush(stdout);  // even if a mutation ends the program
  Mutator mutator(seed);
  for (int i = 0; i < kMutations; ++i) {
    const Bytes& base = corpus[mutator.pick(corpus.size())];
    run(mutator.mutate(base, corpus[mutator.pick(corpus.size())]));
  }
  return 0;
}
