#include "cli/commands/agent/slice_files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <system_error>

#include "cli/session/find/places.h"

namespace swipr::commands {

namespace {

constexpr std::string_view kPrefix = "profile_";
constexpr std::string_view kLinkPrefix = "last_";

// "profile_2026-01-31T12:00:00" of "profile_2026-01-31T12:00:00.pb.gz"; empty: another name.
std::string_view slice_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return {};
  const std::size_t dot = name.find('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view suffix = name.substr(dot);
  const bool is_ours =
      suffix == ".col" || suffix == ".html" || suffix == ".pb.gz" || suffix == ".json";
  const std::string_view time = name.substr(kPrefix.size(), dot - kPrefix.size());
  const bool is_time = time.find_first_not_of("0123456789-:T") == std::string_view::npos;
  return is_ours && is_time && time.size() >= 19 ? name.substr(0, dot) : std::string_view();
}

}  // namespace

host::Result<void> make_output_folder(const std::string& folder) {
  for (std::size_t end = folder.find('/', 1); end != std::string::npos;
       end = folder.find('/', end + 1)) {
    ::mkdir(folder.substr(0, end).c_str(), 0755);
  }
  ::mkdir(folder.c_str(), 0755);
  struct stat info {};
  const bool is_folder = ::stat(folder.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  if (!is_folder || ::access(folder.c_str(), W_OK | X_OK) != 0) {
    return host::system_error(fmt::format("cannot write to the folder {}", folder),
                              is_folder ? errno : ENOTDIR);
  }
  return {};
}

std::string find_slice_name(const std::string& folder, std::string_view end_time) {
  std::set<std::string_view> taken;
  const std::vector<std::string> names = session::entries_of(folder);
  for (const std::string& name : names) taken.insert(slice_of(name));
  std::string name = fmt::format("{}{}", kPrefix, end_time);
  for (unsigned number = 2; taken.contains(name); ++number) {
    name = fmt::format("{}{}-{}", kPrefix, end_time, number);
  }
  return name;
}

host::Result<void> replace_link(const std::string& folder, const std::string& name,
                                const std::string& file) {
  const std::string link = fmt::format("{}/{}", folder, name);
  const std::string temporary = fmt::format("{}/.{}.{}", folder, name, ::getpid());
  ::unlink(temporary.c_str());
  if (::symlink(file.c_str(), temporary.c_str()) == 0 &&
      ::rename(temporary.c_str(), link.c_str()) == 0) {
    return {};
  }
  const int error = errno;
  ::unlink(temporary.c_str());
  return host::system_error(fmt::format("cannot write {}", link), error);
}

std::vector<std::string> old_slice_files(std::vector<std::string> names, std::size_t keep) {
  std::set<std::string_view, std::greater<>> slices;
  for (const std::string& name : names) {
    if (const std::string_view slice = slice_of(name); !slice.empty()) slices.insert(slice);
  }
  std::set<std::string> old;
  for (const std::string_view slice : slices) {
    if (keep > 0) {
      --keep;
    } else {
      old.emplace(slice);
    }
  }
  std::erase_if(names, [&old](const std::string& name) {
    return !old.contains(std::string(slice_of(name)));
  });
  return names;
}

std::size_t remove_old_slices(const std::string& folder, std::size_t keep) {
  std::size_t removed = 0;
  const std::vector<std::string> names = session::entries_of(folder);
  const std::vector<std::string> old = old_slice_files(names, keep);
  for (const std::string& name : names) {
    if (!name.starts_with(kLinkPrefix)) continue;
    const std::string link = fmt::format("{}/{}", folder, name);
    std::error_code none;
    const std::string target = std::filesystem::read_symlink(link, none);
    if (std::ranges::find(old, target) != old.end()) ::unlink(link.c_str());
  }
  for (const std::string& name : old) {
    if (::unlink(fmt::format("{}/{}", folder, name).c_str()) == 0) ++removed;
  }
  return removed;
}

}  // namespace swipr::commands
