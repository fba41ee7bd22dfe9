#include "preload/agent/modules/files/table_files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <span>

#include "preload/agent/base/libc_calls.h"
#include "preload/agent/base/mapped_memory.h"
#include "preload/agent/base/text/fixed_text.h"

namespace swipr::agent {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{256} << 20;

constinit char folder[512] = {};

// Build-id and first address in hexadecimal, and a suffix.
using FileName = FixedText<192>;

void append_key(FileName& name, const unwind::TableKey& key) noexcept {
  for (const std::byte byte : std::span(key.build_id).first(key.build_id_bytes)) {
    name.append_hex(std::to_integer<std::uint64_t>(byte), 2);
  }
  name.append("-").append_hex(key.text_begin, 1);
}

bool is_ours(const struct stat& status) noexcept {
  return status.st_uid == ::geteuid() && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// The size; 0: not trusted.
std::size_t usable_bytes(int file) noexcept {
  struct stat status;
  if (libc::fstat(file, &status) != 0 || !S_ISREG(status.st_mode) || !is_ours(status)) return 0;
  const auto bytes = static_cast<std::uint64_t>(status.st_size);
  return bytes <= kMaxFileBytes ? static_cast<std::size_t>(bytes) : 0;
}

bool read_all(int file, std::span<std::byte> out) noexcept {
  while (!out.empty()) {
    const ssize_t count = ::read(file, out.data(), out.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    out = out.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

// In one call: a write that a signal or a full disk makes short is not continued.
bool write_all(int file, const unwind::TableImage& image) noexcept {
  std::array<iovec, 1 + unwind::kTablePartCount> parts;
  std::size_t bytes = 0;
  const auto part = [&bytes](std::span<const std::byte> from) {
    bytes += from.size();
    return iovec{const_cast<std::byte*>(from.data()), from.size()};
  };
  parts[0] = part(std::as_bytes(std::span(&image.header, 1)));
  std::transform(image.parts.begin(), image.parts.end(), parts.begin() + 1, part);
  return ::writev(file, parts.data(), parts.size()) == static_cast<ssize_t>(bytes);
}

const unwind::UnwindTable* read_table(int file, const unwind::TableKey& key) noexcept {
  const std::size_t bytes = usable_bytes(file);
  if (bytes == 0) return nullptr;
  const std::size_t mapped = round_to_pages(unwind::kTableImageAt + bytes);
  void* const memory = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const image = static_cast<std::byte*>(memory) + unwind::kTableImageAt;
  const unwind::UnwindTable* const table =
      read_all(file, {image, bytes}) ? unwind::open_table_image({memory, mapped}, bytes, key)
                                     : nullptr;
  if (table == nullptr) ::munmap(memory, mapped);
  return table;
}

}  // namespace

void TableFiles::set_place(std::string_view cache_home, std::string_view home) noexcept {
  TextWriter path(folder);
  if (cache_home.starts_with('/')) {
    path.append(cache_home).append("/swipr/tables");
  } else if (home.starts_with('/')) {
    path.append(home).append("/.cache/swipr/tables");
  }
  if (path.overflowed()) path.clear();
}

void TableFiles::open() noexcept {
  if (directory_ >= 0 || folder[0] == '\0') return;
  directory_ = ::open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  struct stat status;
  if (directory_ >= 0 && (libc::fstat(directory_, &status) != 0 || !is_ours(status))) close();
}

void TableFiles::close() noexcept {
  if (directory_ >= 0) ::close(directory_);
  directory_ = -1;
}

const unwind::UnwindTable* TableFiles::load(const unwind::TableKey& key) const noexcept {
  if (directory_ < 0 || !key.is_usable()) return nullptr;
  FileName name;
  append_key(name, key);
  const int file =
      ::openat(directory_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return nullptr;
  const unwind::UnwindTable* const table = read_table(file, key);
  ::close(file);
  return table;
}

void TableFiles::store(const unwind::UnwindTable& table,
                       const unwind::TableKey& key) const noexcept {
  if (directory_ < 0 || !key.is_usable()) return;
  FileName name;
  append_key(name, key);
  FileName temporary;
  temporary.append(".")
      .append(name.view())
      .append(".")
      .append_number(static_cast<std::uint64_t>(::getpid()));
  const int file = ::openat(directory_, temporary.c_str(),
                            O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return;
  const bool written = write_all(file, unwind::image_of(table, key));
  ::close(file);
  if (!written || ::renameat(directory_, temporary.c_str(), directory_, name.c_str()) != 0) {
    ::unlinkat(directory_, temporary.c_str(), 0);
  }
}

}  // namespace swipr::agent
