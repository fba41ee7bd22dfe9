#include "preload/unwind/image/frame_search.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

namespace swipr::unwind {
namespace {

struct Entry {
  std::int32_t start;
  std::int32_t fde;
};
static_assert(sizeof(Entry) == FrameSearch::kEntryBytes);

constexpr std::uint64_t kWindow = 512;  // entries that are read at once: a page

class SearchTable {
 public:
  SearchTable(const BuildResult& image, ImageReader reader) noexcept
      : image_(image), reader_(reader) {}

  BuildStatus find(Range<std::uint64_t> part, FdeList& fdes) const noexcept {
    std::uint64_t next = 0;
    if (!find_window(part.begin, next)) return BuildStatus::kUnreadable;
    std::array<Entry, kWindow> window;
    while (next < image_.search.count) {
      const std::span<Entry> entries =
          std::span(window).first(std::min(kWindow, image_.search.count - next));
      if (!read(next, entries)) return BuildStatus::kUnreadable;
      next += entries.size();
      for (const Entry entry : entries) {
        const std::uint64_t start = address_of(entry.start);
        if (start >= part.end) return BuildStatus::kOk;
        if (start <= part.begin) fdes.truncate(0);
        if (!add(start, address_of(entry.fde), fdes)) return BuildStatus::kNoMemory;
      }
    }
    return BuildStatus::kOk;
  }

 private:
  // An entry not far before the last one that begins at `address` or before.
  bool find_window(std::uint64_t address, std::uint64_t& first) const noexcept {
    std::uint64_t low = 0;
    std::uint64_t high = image_.search.count;
    while (high - low > kWindow / 2) {
      const std::uint64_t middle = low + (high - low) / 2;
      Entry entry;
      if (!read(middle, std::span(&entry, 1))) return false;
      (address_of(entry.start) <= address ? low : high) = middle;
    }
    first = low;
    return true;
  }

  bool read(std::uint64_t index, std::span<Entry> out) const noexcept {
    const std::uint64_t address = image_.load_bias + image_.search.header +
                                  FrameSearch::kEntriesAt + index * FrameSearch::kEntryBytes;
    return reader_.read(reader_.state, address, std::as_writable_bytes(out));
  }

  std::uint64_t address_of(std::int32_t distance) const noexcept {
    return image_.search.header + static_cast<std::uint64_t>(std::int64_t{distance});
  }

  // False: no memory.
  bool add(std::uint64_t start, std::uint64_t fde, FdeList& fdes) const noexcept {
    const std::uint64_t code = start - image_.text.begin;
    const std::uint64_t position = fde - image_.eh_frame.begin;
    const bool is_inside = code < image_.text.end - image_.text.begin &&
                           position < image_.eh_frame.end - image_.eh_frame.begin;
    return !is_inside || fdes.push_back({code, position});
  }

  const BuildResult& image_;
  ImageReader reader_;
};

}  // namespace

BuildStatus find_fdes(const BuildResult& image, Range<std::uint64_t> part, ImageReader reader,
                      FdeList& fdes) noexcept {
  // FdeIndex has 32 bits of each.
  if (image.text.end - image.text.begin > UINT32_MAX ||
      image.eh_frame.end - image.eh_frame.begin > UINT32_MAX) {
    return BuildStatus::kTooLarge;
  }
  return SearchTable(image, reader).find(part, fdes);
}

}  // namespace swipr::unwind
