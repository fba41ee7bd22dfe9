#include "symbolize/text/text_pool.h"

#include <algorithm>
#include <functional>
#include <string_view>

namespace swipr::symbolize {
namespace {

constexpr std::size_t kBlockBytes = std::size_t{64} << 10;
constexpr std::size_t kFirstSlots = 64;

}  // namespace

std::string_view TextPool::intern(std::string_view text) {
  if (text.empty()) return {};
  const std::size_t hash = std::hash<std::string_view>()(text);
  return shards_[hash % shards_.size()].intern(text, hash / shards_.size());
}

std::string_view TextPool::Shard::intern(std::string_view text, std::size_t hash) {
  const std::lock_guard lock(mutex_);
  if (count_ * 2 >= slots_.size()) grow();
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  for (; !slots_[at].text.empty(); at = (at + 1) & mask) {
    if (slots_[at].hash == hash && slots_[at].text == text) return slots_[at].text;
  }
  slots_[at] = {hash, keep(text)};
  ++count_;
  return slots_[at].text;
}

std::string_view TextPool::Shard::keep(std::string_view text) {
  if (text.size() > left_) {
    const std::size_t bytes = std::max(kBlockBytes, text.size());
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(bytes));
    left_ = bytes;
  }
  // From the block's end downwards: what is left is known without its size.
  left_ -= text.size();
  char* copy = blocks_.back().get() + left_;
  std::copy(text.begin(), text.end(), copy);
  return {copy, text.size()};
}

void TextPool::Shard::grow() {
  std::vector<Slot> old(std::max(kFirstSlots, slots_.size() * 2));
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (slot.text.empty()) continue;
    std::size_t at = slot.hash & mask;
    while (!slots_[at].text.empty()) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

}  // namespace swipr::symbolize
