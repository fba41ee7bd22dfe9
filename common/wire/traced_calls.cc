#include "common/wire/traced_calls.h"

#include <charconv>
#include <cstring>

namespace swipr::wire {

namespace {

using namespace std::string_view_literals;

// −1: none.
int hex_digit(char digit) noexcept {
  if (digit >= '0' && digit <= '9') return digit - '0';
  const char lower = static_cast<char>(digit | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

bool is_hex(std::string_view text) noexcept {
  for (const char digit : text) {
    if (hex_digit(digit) < 0) return false;
  }
  return true;
}

std::string_view behind(std::string_view text, std::size_t size) noexcept {
  return {text.data() + size, text.size() - size};
}

// Without string_view's functions, which may throw.
bool begins_with(std::string_view text, std::string_view begin) noexcept {
  return text.size() >= begin.size() && std::memcmp(text.data(), begin.data(), begin.size()) == 0;
}

bool read_probe(std::string_view line, ProbeRequest& out) noexcept {
  if (!begins_with(line, "0x"sv)) return false;
  line = behind(line, 2);
  const char* const end = line.data() + line.size();
  const auto number = std::from_chars(line.data(), end, out.image_address, 16);
  if (number.ec != std::errc()) return false;
  line = {number.ptr, static_cast<std::size_t>(end - number.ptr)};
  constexpr std::string_view kBuildId = " build-id ";
  constexpr std::string_view kPath = " path ";
  if (begins_with(line, kPath)) {
    out.path = behind(line, kPath.size());
    return !out.path.empty();
  }
  if (!begins_with(line, kBuildId)) return false;
  out.build_id = behind(line, kBuildId.size());
  return !out.build_id.empty() && out.build_id.size() % 2 == 0 &&
         out.build_id.size() <= 2 * kMostBuildIdBytes && is_hex(out.build_id);
}

}  // namespace

bool take_probe(std::string_view& text, ProbeRequest& out) noexcept {
  while (!text.empty() && text.front() == '\n') text.remove_prefix(1);
  if (text.empty()) return false;
  std::size_t size = text.find('\n');
  if (size == text.npos) size = text.size();
  out = {};
  if (!read_probe({text.data(), size}, out)) return false;
  text.remove_prefix(size);
  return true;
}

bool is_build_id(std::string_view digits, std::span<const std::byte> build_id) noexcept {
  if (build_id.empty() || digits.size() != 2 * build_id.size()) return false;
  for (std::size_t at = 0; at < build_id.size(); ++at) {
    const int high = hex_digit(digits[2 * at]);
    const int low = hex_digit(digits[2 * at + 1]);
    if (high < 0 || low < 0 || 16 * high + low != static_cast<int>(build_id[at])) return false;
  }
  return true;
}

void encode(Encoder& out, const ProbeRecord& record) noexcept {
  const std::size_t mark = out.begin_record(RecordType::kProbe);
  out.put_varint(record.probe);
  out.put_varint(static_cast<std::uint64_t>(record.state));
  out.put_varint(static_cast<std::uint64_t>(record.reason));
  out.put_varint(record.time_ns);
  out.put_varint(record.address);
  out.put_varint(record.size_bytes);
  out.put_string(record.text);
  out.end_record(mark);
}

std::optional<ProbeRecord> decode_probe(std::span<const std::byte> payload) noexcept {
  Decoder in(payload);
  ProbeRecord record;
  record.probe = in.take_varint();
  const std::uint64_t state = in.take_varint();
  const std::uint64_t reason = in.take_varint();
  record.time_ns = in.take_varint();
  record.address = in.take_varint();
  record.size_bytes = in.take_varint();
  record.text = in.take_string();
  record.state = static_cast<ProbeState>(state);
  record.reason =
      reason < kProbeReasonCount ? static_cast<ProbeReason>(reason) : ProbeReason::kProcess;
  const bool possible = state <= static_cast<std::uint64_t>(ProbeState::kDetached) &&
                        record.probe < kMostProbes && record.size_bytes <= ~record.address;
  return in.ok() && possible ? std::optional(record) : std::nullopt;
}

LatencyEncoder::LatencyEncoder(Encoder& out, const LatencyRecord& record) noexcept
    : out_(out), mark_(out.begin_record(RecordType::kLatency)) {
  out_.put_varint(record.probe);
  out_.put_varint(record.tid);
  out_.put_varint(record.call_site);
  out_.put_varint(record.begin_ns);
  out_.put_varint(record.end_ns - record.begin_ns);
  out_.put_varint(record.sum_ns);
  out_.put_varint(record.max_ns);
  out_.put_varint(record.unwound);
  out_.put_varint(record.untraced);
  out_.put_varint(record.open);
}

void LatencyEncoder::put(const BucketCount& bucket) noexcept {
  out_.put_varint(bucket.bucket - next_);
  out_.put_varint(bucket.count);
  next_ = bucket.bucket + 1;
}

LatencyDecoder::LatencyDecoder(std::span<const std::byte> payload) noexcept : in_(payload) {
  record_.probe = in_.take_varint();
  record_.tid = in_.take_varint();
  record_.call_site = in_.take_varint();
  record_.begin_ns = in_.take_varint();
  const std::uint64_t stretch_ns = in_.take_varint();
  record_.sum_ns = in_.take_varint();
  record_.max_ns = in_.take_varint();
  record_.unwound = in_.take_varint();
  record_.untraced = in_.take_varint();
  record_.open = in_.take_varint();
  ok_ = record_.probe < kMostProbes && stretch_ns <= ~record_.begin_ns;
  record_.end_ns = record_.begin_ns + stretch_ns;
}

bool LatencyDecoder::take(BucketCount& out) noexcept {
  if (!ok() || in_.at_end()) return false;
  const std::uint64_t skipped = in_.take_varint();
  out.count = in_.take_varint();
  ok_ = skipped < kBucketCount - next_ && out.count != 0 && out.count <= ~calls_;
  if (!ok()) return false;
  out.bucket = next_ + skipped;
  next_ = out.bucket + 1;
  calls_ += out.count;
  return true;
}

}  // namespace swipr::wire
