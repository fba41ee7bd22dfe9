// Maps stack ids of the stream to stacks of the Recording. Writers count ids from 1, so nearly
// all are in an array, because a hash table would miss the CPU cache for most samples. Other ids
// go into a map.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "cli/profile/recording/recording.h"

namespace swipr::importers {

class StackIds {
 public:
  // kNone: not defined.
  std::uint32_t find(std::uint64_t id) const {
    if (id < dense_.size() && dense_[id] != profile::kNone) return dense_[id];
    const auto place = sparse_.find(id);
    return place == sparse_.end() ? profile::kNone : place->second;
  }

  // Defines or redefines an id.
  void define(std::uint64_t id, std::uint32_t stack) {
    ++definitions_;
    if (id >= kAlwaysDense + 2 * definitions_) {
      sparse_[id] = stack;
      return;
    }
    if (id >= dense_.size()) dense_.resize(id + 1, profile::kNone);
    dense_[id] = stack;
  }

  void clear() { *this = {}; }

 private:
  // The size of the array is bounded by the number of definitions, not by the largest id.
  static constexpr std::uint64_t kAlwaysDense = 1024;

  std::vector<std::uint32_t> dense_;
  std::unordered_map<std::uint64_t, std::uint32_t> sparse_;
  std::uint64_t definitions_ = 0;
};

}  // namespace swipr::importers
