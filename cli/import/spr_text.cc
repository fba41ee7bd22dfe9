#include "cli/import/spr_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/import/recording_builder.h"
#include "cli/import/spr_json.h"
#include "common/host/text/count_text.h"

namespace swipr::importers {

namespace {
constexpr std::size_t kMaxLineBytes = std::size_t{1} << 20;
constexpr std::uint64_t kMaxSeconds = std::uint64_t{1}
                                      << 32;  // sums of two such times fit 63 bits of ns

std::chrono::nanoseconds time_of(std::uint64_t seconds, std::uint64_t nanoseconds) {
  const std::uint64_t total = std::min(seconds, kMaxSeconds) * 1'000'000'000 +
                              std::min<std::uint64_t>(nanoseconds, 999'999'999);
  return std::chrono::nanoseconds(static_cast<std::int64_t>(total));
}
}  // namespace

class SprTextReader::Impl {
 public:
  void feed(std::span<const std::byte> bytes) {
    std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      keep(text.substr(0, end));
      if (end == std::string_view::npos) return;
      end_line();
      text.remove_prefix(end + 1);
    }
  }

  host::Result<profile::Recording> finish() {
    end_line();
    end_sample();
    end_part();
    if (error_) return *error_;
    if (!format_seen_) return host::Error("not a recording (no line begins with \"[SWIPR] \")");
    if (lines_skipped_ != 0) {
      builder_.warn(
          fmt::format("{} could not be read: skipped", host::counted(lines_skipped_, "line")));
    }
    builder_.warn(
        "text of Swift Profile Recorder has no CPU times: wall time is the interval, the "
        "state of the threads is unknown");
    return builder_.take();
  }

 private:
  struct Segment {
    std::uint64_t start;
    std::uint64_t end;
    std::uint64_t slide;
    std::string path;
  };
  struct OpenSample {
    profile::Sample sample;
    profile::Stack stack;
    bool first_frame_dropped = false;
  };

  void keep(std::string_view part) {
    if (line_.size() + part.size() > kMaxLineBytes) {
      line_too_long_ = true;
    } else {
      line_ += part;
    }
  }

  void end_line() {
    const std::string line = std::exchange(line_, std::string());
    if (std::exchange(line_too_long_, false)) {
      ++lines_skipped_;
      return;
    }
    if (error_ || !line.starts_with(kSprMarker)) return;
    const std::string_view rest = std::string_view(line).substr(kSprMarker.size());
    const std::size_t tag_end = std::min(rest.find_first_of(" \r"), rest.size());
    if (!on_line(rest.substr(0, tag_end), rest.substr(tag_end))) ++lines_skipped_;
  }

  // Returns false if the line is damaged. Unknown tags are skipped.
  bool on_line(std::string_view tag, std::string_view text) {
    if (tag == "DONE") {
      format_seen_ = true;
      end_sample();
      return true;
    }
    const bool known = tag == "VERS" || tag == "VMAP" || tag == "CONF" || tag == "SMPL" ||
                       tag == "STCK" || tag == "MESG";
    if (!known) return true;
    format_seen_ = true;
    const auto object = SprObject::parse(text);
    if (!object) return false;
    if (tag == "VERS") return on_version(*object);
    if (tag == "VMAP") return on_segment(*object);
    if (tag == "CONF") return on_configuration(*object);
    if (tag == "SMPL") return on_sample(*object);
    if (tag == "STCK") return on_frame(*object);
    return on_message(*object);
  }

  bool on_version(const SprObject& object) {
    const auto version = object.find_unsigned("version");
    if (version == 1u) return true;
    error_ =
        host::Error(fmt::format("Swift Profile Recorder text of version {}: this swipr reads 1",
                                version ? fmt::format("{}", *version) : std::string("unknown")));
    return true;
  }

  bool on_segment(const SprObject& object) {
    const auto start = object.find_unsigned("segmentStartAddress");
    const auto end = object.find_unsigned("segmentEndAddress");
    const auto slide = object.find_unsigned("segmentSlide");
    const auto path = object.find_text("path");
    if (!start || !end || !slide || !path || *start >= *end) return false;
    end_sample();
    // A mapping after samples starts another recording in the same file.
    if (part_has_samples_) end_part();
    segments_[*start] = {*start, *end, *slide, *path};
    return true;
  }

  bool on_configuration(const SprObject& object) {
    end_sample();
    if (part_has_samples_) end_part();
    constexpr std::uint64_t kHour = 3'600'000'000;  // in microseconds
    const std::uint64_t interval = object.find_unsigned("microSecondsBetweenSamples").value_or(0);
    interval_ = std::chrono::microseconds(std::min(interval, kHour));
    start_realtime_ = time_of(object.find_unsigned("currentTimeSeconds").value_or(0),
                              object.find_unsigned("currentTimeNanoseconds").value_or(0));
    return true;
  }

  bool on_sample(const SprObject& object) {
    end_sample();
    const auto pid = object.find_unsigned("pid");
    const auto tid = object.find_unsigned("tid");
    const auto seconds = object.find_unsigned("timeSec");
    const auto nanoseconds = object.find_unsigned("timeNSec");
    if (!pid || !tid || !seconds || !nanoseconds) return false;
    part_has_samples_ = true;
    OpenSample open;
    open.sample.time = time_of(*seconds, *nanoseconds);
    open.sample.wall = interval_;
    open.sample.has_clocks = false;
    const std::uint32_t process = process_of(Pid{kernel_id(*pid)}, open.sample.time);
    open.sample.thread =
        thread_of(process, Tid{kernel_id(*tid)}, object.find_text("name").value_or(""));
    open_ = std::move(open);
    return true;
  }

  bool on_frame(const SprObject& object) {
    const auto pc = object.find_unsigned("ip");
    if (!open_ || !pc) return false;
    // The recorder writes the innermost pc twice.
    if (!std::exchange(open_->first_frame_dropped, true)) return true;
    profile::Frame frame;
    frame.process = builder_.thread(open_->sample.thread).process;
    frame.pc = RuntimeAddr{*pc};
    frame.kind = open_->stack.frames.empty() ? PcKind::kExact : PcKind::kReturnAddress;
    frame.module = module_of(frame);
    open_->stack.frames.push_back(builder_.intern_frame(frame));
    return true;
  }

  bool on_message(const SprObject& object) {
    const std::string text = object.find_text("message").value_or("no reason given");
    if (object.has("exit")) {
      error_ = host::Error(fmt::format("the recording failed: {}", text));
    } else {
      builder_.warn(text);
    }
    return true;
  }

  void end_sample() {
    if (!open_) return;
    if (!open_->stack.frames.empty()) {
      open_->sample.stack = builder_.intern_stack(std::move(open_->stack));
    }
    builder_.samples().push_back(open_->sample);
    profile::Process& process = builder_.process(builder_.thread(open_->sample.thread).process);
    process.duration = std::max(process.duration, open_->sample.time - process.start_monotonic);
    open_.reset();
  }

  void end_part() {
    segments_.clear();
    processes_.clear();
    threads_.clear();
    part_has_samples_ = false;
  }

  std::uint32_t process_of(Pid pid, std::chrono::nanoseconds first_sample) {
    const auto known = processes_.find(pid);
    if (known != processes_.end()) return known->second;
    profile::Process process;
    process.pid = pid;
    process.interval = interval_;
    process.start_realtime = start_realtime_;
    process.start_monotonic = first_sample - std::min(interval_, first_sample);
    process.complete = true;  // the format has no end record
    return processes_[pid] = builder_.add_process(std::move(process));
  }

  std::uint32_t thread_of(std::uint32_t process, Tid tid, const std::string& name) {
    const auto [place, is_new] = threads_.try_emplace({process, tid}, 0);
    if (is_new) place->second = builder_.add_thread({process, tid, name});
    if (!name.empty()) builder_.thread(place->second).name = name;
    return place->second;
  }

  std::uint32_t module_of(const profile::Frame& frame) {
    const std::uint64_t address = lookup_address(frame.pc.value, frame.kind);
    auto place = segments_.upper_bound(address);
    if (place == segments_.begin() || (--place)->second.end <= address) return profile::kNone;
    const Segment& segment = place->second;
    profile::Module module;
    module.process = frame.process;
    module.start = RuntimeAddr{segment.start};
    module.size_bytes = segment.end - segment.start;
    module.file_offset = FileOffset{segment.start - segment.slide};
    module.has_file_offset = false;
    module.load_bias = segment.slide;
    module.path = segment.path;
    return builder_.intern_module(std::move(module));
  }

  RecordingBuilder builder_;
  std::string line_;
  bool line_too_long_ = false;
  bool format_seen_ = false;
  std::uint64_t lines_skipped_ = 0;
  std::optional<host::Error> error_;
  // State of the current recording in the file.
  std::map<std::uint64_t, Segment> segments_;  // by start address
  std::map<Pid, std::uint32_t> processes_;
  std::map<std::pair<std::uint32_t, Tid>, std::uint32_t> threads_;
  std::chrono::nanoseconds interval_{0};
  std::chrono::nanoseconds start_realtime_{0};
  bool part_has_samples_ = false;
  std::optional<OpenSample> open_;
};

SprTextReader::SprTextReader() : impl_(std::make_unique<Impl>()) {}
SprTextReader::~SprTextReader() = default;
SprTextReader::SprTextReader(SprTextReader&&) noexcept = default;
SprTextReader& SprTextReader::operator=(SprTextReader&&) noexcept = default;
void SprTextReader::feed(std::span<const std::byte> bytes) { impl_->feed(bytes); }
host::Result<profile::Recording> SprTextReader::finish() { return impl_->finish(); }

}  // namespace swipr::importers
