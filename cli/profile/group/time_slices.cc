#include "cli/profile/group/time_slices.h"

#include <algorithm>

#include "cli/profile/group/sample_kinds.h"

namespace swipr::profile {

namespace {

class Slicer {
 public:
  Slicer(const Recording& recording, Extent extent, std::span<const std::uint32_t> marks)
      : recording_(recording),
        marks_(marks),
        begin_(extent.begin),
        duration_(extent.end - extent.begin) {
    // Independent of the number of slices, so computed once.
    kind_of_.resize(recording.samples.size());
    for_each_by_kind(recording, {.marks = marks},
                     [this](std::uint32_t sample, std::uint32_t kind, bool is_new) {
                       kind_of_[sample] = kind;
                       if (is_new) ++kind_count_;
                     });
  }

  // Returns false if there would be more rows.
  bool fits(std::uint32_t slices, std::size_t max_rows) const {
    std::size_t rows = 0;
    for_each_row(slices, [&](std::uint32_t, Slices, bool is_new) {
      if (is_new) ++rows;
      return rows <= max_rows;
    });
    return rows <= max_rows;
  }

  std::vector<SlicedRow> rows(std::uint32_t slices) const {
    std::vector<SlicedRow> rows;
    std::vector<std::size_t> row_of_kind(kind_count_);
    for_each_row(slices, [&](std::uint32_t at, Slices touched, bool is_new) {
      const Sample& sample = recording_.samples[at];
      const std::uint32_t kind = kind_of_[at];
      if (is_new) {
        row_of_kind[kind] = rows.size();
        rows.push_back({sample.thread, sample.stack, sample.state,
                        marks_.empty() ? kNone : marks_[at], touched.first, touched.last});
        rows.back().offset = sample.begin() - begin_of_slice(touched.first, slices);
      }
      SlicedRow& row = rows[row_of_kind[kind]];
      row.credited += sample.credited;
      for (std::size_t index = 0; index < kWeightCount; ++index) {
        row.weights[index] += weight_of(sample, static_cast<Weight>(index));
      }
      return true;
    });
    return rows;
  }

 private:
  struct Slices {
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
    friend bool operator==(const Slices&, const Slices&) = default;
  };

  // Equal samples of a thread in the same slices are merged into one row. `visit` gets the index
  // of each sample and whether it starts a row. It returns false to end the loop.
  template <typename Visit>
  void for_each_row(std::uint32_t slices, const Visit& visit) const {
    std::vector<Slices> last_of_kind(kind_count_);
    for (std::uint32_t index = 0; index < kind_of_.size(); ++index) {
      const Sample& sample = recording_.samples[index];
      Slices touched;
      const auto own_wall = sample.time - sample.begin();
      touched.first = slice_at(sample.begin(), slices);
      // A sample that ends at the start of a slice is not in that slice.
      touched.last =
          std::max(touched.first,
                   slice_at(sample.time - std::min(own_wall, std::chrono::nanoseconds(1)), slices));
      Slices& last = last_of_kind[kind_of_[index]];
      const bool is_new = last != touched;
      last = touched;
      if (!visit(index, touched, is_new)) return;
    }
  }

  std::uint32_t slice_at(std::chrono::nanoseconds time, std::uint32_t slices) const {
    if (duration_.count() <= 0) return 0;
    const double share = std::chrono::duration<double>(time - begin_) / duration_;
    const auto slice = static_cast<std::int64_t>(share * slices);
    return static_cast<std::uint32_t>(std::clamp<std::int64_t>(slice, 0, std::int64_t{slices} - 1));
  }

  std::chrono::nanoseconds begin_of_slice(std::uint32_t slice, std::uint32_t slices) const {
    return begin_ + std::chrono::nanoseconds(static_cast<std::int64_t>(
                        static_cast<double>(duration_.count()) * slice / slices));
  }

  const Recording& recording_;
  std::span<const std::uint32_t> marks_;
  std::chrono::nanoseconds begin_;
  std::chrono::nanoseconds duration_;
  std::vector<std::uint32_t> kind_of_;  // by sample
  std::size_t kind_count_ = 0;
};

}  // namespace

Extent extent_of(const Recording& recording) {
  if (recording.samples.empty()) return {};
  Extent extent{recording.samples.front().begin(), recording.samples.front().time};
  for (const Sample& sample : recording.samples) {
    extent.begin = std::min(extent.begin, sample.begin());
    extent.end = std::max(extent.end, sample.time);
  }
  return extent;
}

SlicedSamples slice_samples(const Recording& recording, std::uint32_t max_slices,
                            std::size_t max_rows, std::span<const std::uint32_t> marks) {
  const Extent extent = extent_of(recording);
  const Slicer slicer(recording, extent, marks);
  std::uint32_t slices = std::max(max_slices, 1u);
  while (slices > 1 && !slicer.fits(slices, max_rows)) slices /= 2;
  return {extent.begin, extent.end - extent.begin, slices, slicer.rows(slices)};
}

}  // namespace swipr::profile
