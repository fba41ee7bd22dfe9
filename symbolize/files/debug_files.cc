#include "symbolize/files/debug_files.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>
#include <vector>

#include "common/host/text/hex.h"
#include "symbolize/files/debuginfod.h"
#include "symbolize/files/fetched_modules.h"
#include "symbolize/files/process_files.h"

namespace swipr::symbolize {
namespace {

constexpr std::string_view kDeleted = " (deleted)";

std::string without_deleted(std::string_view path) {
  if (path.ends_with(kDeleted)) path.remove_suffix(kDeleted.size());
  return std::string(path);
}

host::Result<ElfFile> open_image_in_root(const std::string& root, const std::string& path) {
  auto fd = open_in_root(root, path);
  if (!fd) return fd.error();
  auto file = ElfFile::from_descriptor(std::move(*fd));
  if (!file) return file.error().with_context(root + path);
  file->set_origin(root + path);
  return file;
}

// DIRECTORY/.build-id/xx/yyyy + suffix
std::string build_id_path(const std::string& directory, std::string_view id, const char* suffix) {
  std::string path = directory + "/.build-id/";
  path.append(id.substr(0, 2)).append("/").append(id.substr(2)).append(suffix);
  return path;
}

// Build-ids come from recordings and files: nothing but hex digits may become part of a path.
bool is_usable_build_id(std::string_view id) {
  return id.size() > 2 && id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::optional<ElfFile> open_with_build_id(const std::string& path, std::string_view id) {
  auto file = ElfFile::open(path);
  if (!file || file->build_id() != id) return std::nullopt;
  return std::move(*file);
}

std::optional<ElfFile> find_by_build_id(std::string_view id, const Options& options,
                                        const char* suffix) {
  if (!is_usable_build_id(id)) return std::nullopt;
  for (const std::string& directory : options.debug_directories) {
    auto file = open_with_build_id(build_id_path(directory, id, suffix), id);
    if (file) return file;
  }
  return std::nullopt;
}

// Tries candidates in turn and keeps the most specific error.
class Candidates {
 public:
  explicit Candidates(std::string build_id) : build_id_(std::move(build_id)) {}

  bool offer(host::Result<ElfFile> file, const std::string& path) {
    if (!file) {
      if (note_.empty()) note_ = file.error().message();
      return false;
    }
    if (!build_id_.empty() && file->build_id() != build_id_) {
      const std::string& other = file->build_id();
      note_ = path + ": build-id " + (other.empty() ? "missing" : other) + ", recorded " +
              build_id_ + ": another file";
      return false;
    }
    files_.image = std::move(*file);
    files_.path = path;
    return true;
  }

  const std::string& note() const { return note_; }
  void set_note(std::string note) { note_ = std::move(note); }
  ModuleFiles accepted() && { return std::move(files_); }
  ModuleFiles refused() && {
    files_.note = std::move(note_);
    return std::move(files_);
  }

 private:
  std::string build_id_;
  std::string note_;
  ModuleFiles files_;
};

// Of an unstripped debug file only those that kept the file offsets can stand for the module.
bool offer_by_build_id(const ModuleSpec& spec, const Options& options, ModuleFiles* files) {
  for (const char* suffix : {"", ".debug"}) {
    auto file = find_by_build_id(spec.build_id, options, suffix);
    if (!file || !file->has_file_offsets()) continue;
    files->image = std::move(*file);
    return true;
  }
  return false;
}

// Files that were fetched from the process.
bool offer_fetched(const ModuleSpec& spec, const Options& options, ModuleFiles* files) {
  if (options.cache_folder.empty() || !is_usable_build_id(spec.build_id)) return false;
  const FetchedModules fetched(options.cache_folder + "/modules");
  files->image = fetched.find(spec.build_id);
  if (!files->image && options.fetch_module && spec.pid > 0) {
    fetched.fetch(spec.build_id,
                  [&](int fd) { return options.fetch_module(spec.pid, spec.build_id, fd); });
    files->image = fetched.find(spec.build_id);
  }
  return files->image.has_value();
}

std::string directory_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string(".") : std::string(path.substr(0, slash));
}

// A replaced or deleted file is still there while the program runs. Only root may follow these
// links to what is mapped; the program itself can be opened by its owner.
bool offer_mapped_file(const ModuleSpec& spec, Candidates* candidates) {
  const std::string process = "/proc/" + std::to_string(spec.pid);
  char range[64];
  std::snprintf(range, sizeof range, "/map_files/%lx-%lx", spec.start.value,
                spec.start.value + spec.size_bytes);
  for (const std::string& place : {process + range, process + "/exe"}) {
    char target[4096];
    const ssize_t length = ::readlink(place.c_str(), target, sizeof target);
    // Without a build-id the name must be the same: another program may have the pid by now.
    const bool same_name =
        length > 0 && std::string_view(target, static_cast<std::size_t>(length)) == spec.path;
    if (spec.build_id.empty() && !same_name) continue;
    auto file = ElfFile::open(place);
    if (file && candidates->offer(std::move(file), place)) return true;
  }
  return false;
}

bool offer_local_file(const ModuleSpec& spec, const Options& options, const std::string& path,
                      Candidates* candidates) {
  if (!options.symfs.empty()) {
    if (candidates->offer(open_image_in_root(options.symfs, path), options.symfs + path))
      return true;
    // A file of that name on this system may be another one.
    return !spec.build_id.empty() && candidates->offer(ElfFile::open(path), path);
  }
  if (spec.pid > 0) {
    const std::string root = "/proc/" + std::to_string(spec.pid) + "/root";
    if (candidates->offer(open_image_in_root(root, path), path)) return true;
  }
  return candidates->offer(ElfFile::open(path), path) ||
         (spec.pid > 0 && offer_mapped_file(spec, candidates));
}

// Several containers have a process 1; the build-id identifies the file.
bool offer_file_of_namesake(const ModuleSpec& spec, const std::string& path,
                            Candidates* candidates) {
  if (spec.pid <= 0 || spec.build_id.empty()) return false;
  for (const Pid namesake : find_namesakes(spec.pid)) {
    const std::string note = candidates->note();
    const std::string root = "/proc/" + std::to_string(namesake.value) + "/root";
    if (candidates->offer(open_image_in_root(root, path), path)) return true;
    candidates->set_note(note);
  }
  return false;
}

struct DebugLink {
  std::string name;
  std::uint32_t crc = 0;
};

// Source: gdb's manual, "Debugging Information in Separate Files": a name, padding to 4 bytes, CRC.
std::optional<DebugLink> find_debug_link(const ElfFile& image) {
  const std::string_view bytes = image.section(".gnu_debuglink").bytes;
  const std::size_t end = bytes.find('\0');
  if (end == std::string_view::npos || end == 0 || bytes.find('/') < end) return std::nullopt;
  DebugLink link{.name = std::string(bytes.substr(0, end))};
  const std::size_t crc_at = (end + 4) & ~std::size_t{3};
  if (crc_at + sizeof link.crc > bytes.size()) return std::nullopt;
  std::memcpy(&link.crc, bytes.data() + crc_at, sizeof link.crc);
  return link;
}

std::optional<std::uint32_t> read_crc(const std::string& path) {
  const host::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!fd) return std::nullopt;
  std::vector<unsigned char> buffer(std::size_t{1} << 20);
  uLong crc = 0;
  ssize_t size = 0;
  while ((size = ::read(fd.value(), buffer.data(), buffer.size())) > 0) {
    crc = ::crc32(crc, buffer.data(), static_cast<uInt>(size));
  }
  if (size < 0) return std::nullopt;
  return static_cast<std::uint32_t>(crc);
}

std::optional<ElfFile> open_linked(const std::string& place, const ElfFile& image,
                                   const DebugLink& link) {
  auto file = ElfFile::open(place);
  if (!file) return std::nullopt;
  const bool both_have_ids = !image.build_id().empty() && !file->build_id().empty();
  if (both_have_ids ? file->build_id() != image.build_id() : read_crc(place) != link.crc) {
    return std::nullopt;
  }
  return std::move(*file);
}

std::optional<ElfFile> find_by_link(const ElfFile& image, std::string_view path,
                                    const Options& options) {
  const auto link = find_debug_link(image);
  if (!link || path.empty()) return std::nullopt;
  const std::string directory = directory_of(path);
  std::vector<std::string> places = {directory + "/" + link->name,
                                     directory + "/.debug/" + link->name};
  for (const std::string& below : options.debug_directories) {
    places.push_back(below + directory + "/" + link->name);
  }
  for (const std::string& place : places) {
    if (auto file = open_linked(place, image, *link)) return file;
  }
  return std::nullopt;
}

}  // namespace

ModuleFiles find_module_files(const ModuleSpec& spec, const Options& options) {
  Candidates candidates(spec.build_id);
  if (spec.path == "[vdso]") {
    return candidates.offer(read_own_vdso(), spec.path) ? std::move(candidates).accepted()
                                                        : std::move(candidates).refused();
  }
  const std::string path = without_deleted(spec.path);
  // Names in brackets denote memory without a file: nothing is missing.
  if (path.starts_with('[')) return std::move(candidates).refused();
  if (path.empty() || path.front() != '/' || path.find('\0') != std::string::npos) {
    candidates.set_note(spec.path + ": not a file");
    return std::move(candidates).refused();
  }
  if (offer_local_file(spec, options, path, &candidates) ||
      (options.symfs.empty() && offer_file_of_namesake(spec, path, &candidates))) {
    return std::move(candidates).accepted();
  }
  ModuleFiles files = std::move(candidates).refused();
  if (!offer_by_build_id(spec, options, &files) && !offer_fetched(spec, options, &files) &&
      options.debuginfod) {
    files.image = find_remote_file(RemoteFile::kExecutable, spec.build_id);
  }
  if (files.image) files.note.clear();
  return files;
}

std::optional<ElfFile> find_debug_file(const ElfFile& image, std::string_view path,
                                       const Options& options) {
  auto file = find_by_build_id(image.build_id(), options, ".debug");
  if (!file) file = find_by_link(image, path, options);
  if (!file && options.debuginfod) {
    file = find_remote_file(RemoteFile::kDebugInfo, image.build_id());
  }
  return file;
}

SupplementaryFile find_supplementary_file(Dwarf* dwarf, const Options& options) {
  SupplementaryFile result;
  const char* name = nullptr;
  const void* id = nullptr;
  const ssize_t bytes = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id);
  result.wanted = bytes != 0;
  if (bytes <= 0) return result;
  const std::string hex =
      host::to_hex({static_cast<const std::byte*>(id), static_cast<std::size_t>(bytes)});
  result.file = find_by_build_id(hex, options, ".debug");
  if (!result.file && options.debuginfod) {
    result.file = find_remote_file(RemoteFile::kDebugInfo, hex);
  }
  if (result.file) return result;
  // Debian keeps them in /usr/lib/debug/.dwz/ARCHITECTURE/PACKAGE.debug.
  const std::string_view link(name);
  const std::size_t place = link.rfind("/.dwz/");
  if (place == std::string_view::npos || link.find("/../", place) != std::string_view::npos) {
    return result;
  }
  for (const std::string& directory : options.debug_directories) {
    result.file = open_with_build_id(directory + std::string(link.substr(place)), hex);
    if (result.file) break;
  }
  return result;
}

}  // namespace swipr::symbolize
