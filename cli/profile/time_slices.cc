#include "cli/profile/time_slices.h"

#include <algorithm>
#include <unordered_map>

namespace swipr::profile {

namespace {

class Slicer {
 public:
  // Gives up once there are more than `max_rows`: then longer slices are tried.
  Slicer(const Recording& recording, Extent extent, std::uint32_t slices, std::size_t max_rows)
      : begin_(extent.begin), duration_(extent.end - extent.begin), slices_(slices) {
    last_row_.resize(recording.threads.size());
    for (const Sample& sample : recording.samples) {
      if (rows_.size() > max_rows) break;
      add(sample);
    }
  }
  std::vector<SlicedRow> take() { return std::move(rows_); }

 private:
  std::uint32_t slice_at(std::chrono::nanoseconds time) const {
    if (duration_.count() <= 0) return 0;
    const double share = std::chrono::duration<double>(time - begin_) / duration_;
    const auto slice = static_cast<std::int64_t>(share * slices_);
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(slice, 0, slices_ - 1));
  }

  // Equal samples of a thread that touch the same slices are one row: nobody could tell them apart.
  void add(const Sample& sample) {
    const std::uint32_t first = slice_at(sample.time - sample.wall);
    // A sample that ends where a slice begins is not in that slice.
    const std::uint32_t last =
        std::max(first, slice_at(sample.time - std::min(sample.wall, std::chrono::nanoseconds(1))));
    auto& known = last_row_[sample.thread];
    const Key key{sample.stack, sample.state};
    const auto [place, is_new] = known.try_emplace(key, rows_.size());
    const auto in_same_slices = [&](const SlicedRow& row) {
      return row.first_slice == first && row.last_slice == last;
    };
    if (is_new || !in_same_slices(rows_[place->second])) {
      place->second = rows_.size();
      rows_.push_back({sample.thread, sample.stack, sample.state, first, last, {}});
    }
    SlicedRow& row = rows_[place->second];
    for (std::size_t index = 0; index < kWeightCount; ++index) {
      row.weights[index] += weight_of(sample, static_cast<Weight>(index));
    }
  }

  struct Key {
    std::uint32_t stack;
    State state;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return (std::uint64_t{key.stack} * 4 + static_cast<std::uint64_t>(key.state)) *
                 0x9E3779B97F4A7C15u >>
             16;
    }
  };

  std::chrono::nanoseconds begin_;
  std::chrono::nanoseconds duration_;
  std::uint32_t slices_;
  std::vector<SlicedRow> rows_;
  std::vector<std::unordered_map<Key, std::size_t, KeyHash>> last_row_;  // by thread
};

}  // namespace

Extent extent_of(const Recording& recording) {
  if (recording.samples.empty()) return {};
  Extent extent{recording.samples.front().time, recording.samples.front().time};
  for (const Sample& sample : recording.samples) {
    extent.begin = std::min(extent.begin, sample.time - sample.wall);
    extent.end = std::max(extent.end, sample.time);
  }
  return extent;
}

SlicedSamples slice_samples(const Recording& recording, std::uint32_t max_slices,
                            std::size_t max_rows) {
  const Extent extent = extent_of(recording);
  for (std::uint32_t slices = max_slices;; slices /= 2) {
    slices = std::max(slices, 1u);
    const std::size_t limit = slices == 1 ? recording.samples.size() : max_rows;
    auto rows = Slicer(recording, extent, slices, limit).take();
    if (rows.size() <= limit) {
      return {extent.begin, extent.end - extent.begin, slices, std::move(rows)};
    }
  }
}

}  // namespace swipr::profile
