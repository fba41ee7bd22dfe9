#include "preload/runtimes/perl/perl_layout.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "preload/runtimes/perl/perl_frames.h"
#include "preload/runtimes/perl/perl_names.h"
#include "preload/unwind/image/dynamic_symbol.h"

namespace swipr::runtimes {
namespace {

// 5.32, and 5.36 to 5.42; 5.34 is one of them.
constexpr std::array kPerlLayouts = {
    PerlLayout{.main_package = 208, .statement = 224, .context = 240},
    PerlLayout{.main_package = 192, .statement = 208, .context = 224, .has_name_in_body = true}};

// Each version has more operations than the one before (MAXO); their number is the size of a table.
struct PerlVersion {
  std::uint64_t operations;
  const char* name;
};
constexpr std::array kPerlVersions = {PerlVersion{400, "5.32"}, PerlVersion{414, "5.36"},
                                      PerlVersion{422, "5.40"}, PerlVersion{426, "5.42"}};

constexpr const char* kPerlNotRunning = "its main thread runs no Perl";

class PerlStarter {
 public:
  PerlStarter(PerlDetection& perl, unwind::ImageReader reader) noexcept
      : perl_(perl), reader_(reader) {}

  void run(std::uint64_t thread_pointer) noexcept {
    perl_.state = DetectionState::kStarting;
    perl_.reason = kPerlNotRunning;
    if (thread_pointer == 0 ||
        !(has_threads() ? find_interpreter(thread_pointer) : find_variables(thread_pointer))) {
      return;
    }
    perl_.state = DetectionState::kFound;
    perl_.reason = nullptr;
  }

 private:
  // What detect_perl has left.
  bool has_threads() const noexcept { return !perl_.runtime.layout.has_file_globs; }

  bool find_interpreter(std::uint64_t thread_pointer) noexcept {
    return reader_.read_value(perl_.runtime.first_interpreter, interpreter_) && interpreter_ != 0 &&
           interpreter_ % 8 == 0 && find_layout() && find_own(thread_pointer);
  }
  // Without threads all is known but where packages have their names.
  bool find_variables(std::uint64_t thread_pointer) noexcept {
    interpreter_ = perl_.runtime.first_interpreter;
    perl_.runtime.only_thread = thread_pointer;
    PerlLayout& layout = perl_.runtime.layout;
    for (const bool is_in_body : {false, true}) {
      layout.has_name_in_body = is_in_body;
      if (is_main(layout)) return true;
    }
    return false;
  }

  // A variable of the thread, or what pthread_getspecific returns: both lie near its pointer.
  bool find_own(std::uint64_t thread_pointer) noexcept {
    constexpr std::int64_t kFar = 4096;
    for (std::int64_t at = -kFar; at < kFar; at += 8) {
      std::uint64_t value = 0;
      if (!reader_.read_value(thread_pointer + static_cast<std::uint64_t>(at), value)) continue;
      if (value != interpreter_) continue;
      perl_.runtime.interpreter_at = at;
      return true;
    }
    return false;
  }

  bool find_layout() noexcept {
    for (const PerlLayout& layout : kPerlLayouts) {
      if (!is_main(layout)) continue;
      perl_.runtime.layout = layout;
      return true;
    }
    return false;
  }
  // Whether the main package is where it should be.
  bool is_main(const PerlLayout& layout) noexcept {
    BoundedText<1024> name;
    std::uint64_t package = 0;
    return reader_.read_value(interpreter_ + layout.main_package, package) && package != 0 &&
           append_perl_package(layout, reader_, package, name) && name.view() == "main";
  }

  PerlDetection& perl_;
  ObjectPieces reader_;
  std::uint64_t interpreter_ = 0;
};

// Of a Perl without threads. False: they are not in one image.
bool place_variables(std::uint64_t main_package, std::uint64_t statement, std::uint64_t context,
                     PerlRuntime& out) noexcept {
  constexpr std::uint64_t kFar = 1 << 20;
  const auto [first, last] = std::minmax({main_package, statement, context});
  out.first_interpreter = first;
  out.layout = {.main_package = static_cast<std::uint32_t>(main_package - first),
                .statement = static_cast<std::uint32_t>(statement - first),
                .context = static_cast<std::uint32_t>(context - first),
                .has_file_globs = true};
  return first != 0 && last - first < kFar;
}

// The code of the operation that begins a statement; 0: not found.
std::uint64_t find_perl_operation(std::uint64_t names, std::uint64_t count, std::uint64_t code,
                                  unwind::ImageReader reader) noexcept {
  constexpr std::string_view kName = "nextstate";
  for (std::uint64_t at = 0; at < count && code != 0; ++at) {
    std::uint64_t name = 0;
    std::uint64_t found = 0;
    std::array<char, kName.size() + 1> text{};
    if (!reader.read_value(names + at * sizeof name, name) || !reader.read_value(name, text)) break;
    if (std::string_view(text.data(), text.size() - 1) != kName || text.back() != '\0') continue;
    return reader.read_value(code + at * sizeof found, found) ? found : 0;
  }
  return 0;
}

}  // namespace

PerlDetection detect_perl(Range<std::uint64_t> dynamic, std::uint64_t load_bias,
                          unwind::ImageReader reader) noexcept {
  PerlDetection found;
  const Range<std::uint64_t> loop =
      unwind::find_exported_range(dynamic, load_bias, "Perl_runops_standard", reader);
  if (loop.begin == 0) return found;
  const auto find = [&](std::string_view name) {
    return unwind::find_exported(dynamic, load_bias, name, reader);
  };
  const Range<std::uint64_t> names =
      unwind::find_exported_range(dynamic, load_bias, "PL_op_name", reader);
  const std::uint64_t count = (names.end - names.begin) / sizeof(std::uint64_t) - 1;
  for (const PerlVersion& version : kPerlVersions) {
    if (version.operations == count) found.version = version.name;
  }
  found.state = DetectionState::kRefused;
  found.reason = "unsupported version; 5.32 to 5.42 are";
  if (count < kPerlVersions.front().operations || count > kPerlVersions.back().operations)
    return found;
  found.runtime = {
      .first_interpreter = find("PL_curinterp"),
      .next_statement = find_perl_operation(names.begin, count, find("PL_ppaddr"), reader),
      .loop = loop};
  if (find("PL_thr_key") == 0) {
    found.reason = "its variables are not exported";
    if (!place_variables(find("PL_defstash"), find("PL_curcop"), find("PL_curstackinfo"),
                         found.runtime)) {
      return found;
    }
  }
  found.state = DetectionState::kStarting;
  found.reason = kPerlNotRunning;
  return found;
}

void start_perl(PerlDetection& perl, std::uint64_t thread_pointer,
                unwind::ImageReader reader) noexcept {
  PerlStarter(perl, reader).run(thread_pointer);
}

}  // namespace swipr::runtimes
