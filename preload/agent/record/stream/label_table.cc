#include "preload/agent/record/stream/label_table.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "common/wire/labels.h"

namespace swipr::agent {

namespace {

using labels::kMostLabels;
using labels::Label;

constexpr std::size_t kIndexEntries = std::size_t{2} * LabelTable::kMostSets;
constexpr std::size_t kMostSetBytes = kMostLabels * sizeof(Label);
constexpr std::size_t kRecordBytes = 32;  // of varints of both records

// In the order of keys, so that equal sets have equal bytes. Returns their number.
std::size_t write_sorted(const labels::LabelSet& set, char* out) noexcept {
  const Label* sorted[kMostLabels] = {};
  const std::uint32_t count = std::min(set.count, kMostLabels);
  for (std::uint32_t at = 0; at < count; ++at) sorted[at] = &set.labels[at];
  std::sort(sorted, sorted + count,
            [](const Label* left, const Label* right) { return left->key() < right->key(); });
  char* end = out;
  for (std::uint32_t at = 0; at < count; ++at) {
    const std::size_t size = 2 + sorted[at]->key().size() + sorted[at]->value().size();
    std::memcpy(end, sorted[at], size);
    end += size;
  }
  return static_cast<std::size_t>(end - out);
}

// FNV-1a.
std::uint64_t hash_of(const char* bytes, std::size_t size) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (std::size_t at = 0; at < size; ++at) {
    hash = (hash ^ static_cast<unsigned char>(bytes[at])) * 0x100000001b3u;
  }
  return hash;
}

}  // namespace

bool LabelTable::intern(const labels::LabelSet* set, std::uint32_t& id) noexcept {
  id = 0;
  if (set == nullptr || set->count == 0) return true;
  char bytes[kMostSetBytes];
  const std::size_t size = write_sorted(*set, bytes);
  const std::uint64_t hash = hash_of(bytes, size);
  if (index_.empty() && !index_.resize(kIndexEntries)) return false;
  std::size_t entry = hash % kIndexEntries;
  for (; index_[entry] != 0; entry = (entry + 1) % kIndexEntries) {
    const Stored& stored = sets_[index_[entry] - 1];
    const bool is_same = stored.hash == hash && stored.size == size &&
                         std::memcmp(bytes_.data() + stored.begin, bytes, size) == 0;
    if (!is_same) continue;
    id = index_[entry];
    return true;
  }
  if (!store(bytes, size, hash)) return false;
  index_[entry] = id = static_cast<std::uint32_t>(sets_.size());
  return true;
}

bool LabelTable::store(const char* bytes, std::size_t size, std::uint64_t hash) noexcept {
  const std::size_t begin = bytes_.size();
  if (sets_.size() == kMostSets || size > kMostBytes - begin) return false;
  if (!bytes_.reserve(begin + size) || !sets_.push_back({.hash = hash,
                                                         .begin = static_cast<std::uint32_t>(begin),
                                                         .size = static_cast<std::uint16_t>(size),
                                                         .defined = false,
                                                         .defining = false})) {
    return false;
  }
  std::memcpy(bytes_.data() + begin, bytes, size);
  bytes_.add_written(size);
  return true;
}

void LabelTable::start_generation() noexcept {
  for (std::uint32_t& entry : index_) entry = 0;
  sets_.clear();
  bytes_.clear();
}

void LabelTable::release() noexcept {
  sets_.release();
  bytes_.release();
  index_.release();
}

void LabelTable::define(wire::Encoder& out, std::uint32_t stack, std::uint32_t id) noexcept {
  if (id == 0) return;
  Stored& stored = sets_[id - 1];
  wire::LabelText texts[kMostLabels];
  std::size_t count = 0;
  const char* const begin = bytes_.data() + stored.begin;
  for (const char* at = begin; at < begin + stored.size && count < kMostLabels;) {
    const auto key_bytes = static_cast<unsigned char>(at[0]);
    const auto value_bytes = static_cast<unsigned char>(at[1]);
    texts[count++] = {{at + 2, key_bytes}, {at + 2 + key_bytes, value_bytes}};
    at += 2 + key_bytes + value_bytes;
  }
  if (!stored.defined && !stored.defining) wire::encode_labels(out, id, {texts, count});
  if (!stored.defined) stored.defining = true;
  wire::encode(out, wire::StackLabelsRecord{.stack_id = stack, .set = id});
}

void LabelTable::settle(std::uint32_t id, bool written) noexcept {
  if (id == 0) return;
  Stored& stored = sets_[id - 1];
  if (stored.defining && written) stored.defined = true;
  stored.defining = false;
}

std::size_t LabelTable::definition_bytes(std::uint32_t id) const noexcept {
  if (id == 0) return 0;
  return kRecordBytes + (sets_[id - 1].defined ? 0 : sets_[id - 1].size);
}

}  // namespace swipr::agent
