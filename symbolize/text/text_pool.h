// Interned texts. Profiles name the same few thousand functions and files millions of times, and
// debug builds have some hundred thousand long names.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace swipr::symbolize {

class TextPool {
 public:
  // Thread: any. Lifetime: of the result, the pool's.
  std::string_view intern(std::string_view text);

 private:
  struct Slot {
    std::size_t hash = 0;
    std::string_view text;  // empty: free
  };
  // A part of all texts, by hash: threads seldom contend for one.
  class Shard {
   public:
    std::string_view intern(std::string_view text, std::size_t hash);

   private:
    std::string_view keep(std::string_view text);
    void grow();

    std::mutex mutex_;
    std::vector<Slot> slots_;  // a power of two of them, at most half of them taken
    std::size_t count_ = 0;
    std::vector<std::unique_ptr<char[]>> blocks_;
    std::size_t left_ = 0;  // bytes in the last block
  };

  std::array<Shard, 16> shards_;
};

}  // namespace swipr::symbolize
