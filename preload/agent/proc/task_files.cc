#include "preload/agent/proc/task_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>

#include "preload/agent/proc/proc_files.h"

namespace swipr::agent {

namespace {

constexpr std::uint8_t kMaxUses = 8;

void close_file(int& descriptor) noexcept {
  if (descriptor >= 0) ::close(descriptor);
  descriptor = -1;
}

}  // namespace

std::string_view TaskFiles::read(int task_directory, Tid tid, Kind kind,
                                 std::span<char> buffer) noexcept {
  const std::string_view name = kind == Kind::kSyscall ? "syscall" : "schedstat";
  File& file =
      files_[static_cast<std::uint32_t>(tid.value) % kPlaces][static_cast<std::size_t>(kind)];
  if (file.owner.value != tid.value) {
    make_room(file, tid);
    return read_task_file(task_directory, tid, name, buffer);
  }
  file.uses = std::min<std::uint8_t>(file.uses + 1, kMaxUses);
  if (file.descriptor < 0) file.descriptor = open_task_file(task_directory, tid, name);
  if (file.descriptor < 0) return {};
  const ssize_t size = ::pread(file.descriptor, buffer.data(), buffer.size(), 0);
  if (size > 0) return {buffer.data(), static_cast<std::size_t>(size)};
  // The file of a thread that has ended; this may be another thread with its id.
  close_file(file.descriptor);
  return read_task_file(task_directory, tid, name, buffer);
}

// A thread that is read twice before any other that shares its entry keeps its file open, until
// others have been read as often.
void TaskFiles::make_room(File& file, Tid tid) noexcept {
  if (file.uses != 0) {
    --file.uses;
    return;
  }
  close_file(file.descriptor);
  file.owner = tid;
}

void TaskFiles::close_all() noexcept {
  for (auto& place : files_) {
    for (File& file : place) {
      close_file(file.descriptor);
      file = {};
    }
  }
}

}  // namespace swipr::agent
