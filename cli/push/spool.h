// Requests that wait on the disk until a store takes them. Each is a file of its own in a private
// folder; several processes may add, send and remove requests at the same time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/push/requests/request.h"
#include "common/host/result.h"

namespace swipr::push {

class Spool {
 public:
  // Creates the folder and its parents if they do not exist, with mode 0700.
  // Errors: the folder cannot be written, or others can write to it.
  static host::Result<Spool> open(const std::string& folder, std::uint64_t max_bytes);

  // Removes requests that were being sent when their sender ended: they may be stored, so they are
  // not sent again. Returns their number. Only while nobody else uses the folder.
  std::size_t remove_interrupted();

  // Drops the oldest requests if there is no room. `begin`: of the profile, since the epoch.
  // Errors: the disk is full; the request alone, or with those that are being sent, is too large.
  host::Result<void> add(std::chrono::nanoseconds begin, const Request& request);
  // How many requests were dropped or could not be added.
  std::size_t dropped() const { return dropped_; }

  struct Entry {
    std::string name;
    std::chrono::nanoseconds begin{0};
    std::uint64_t bytes = 0;
  };
  std::vector<Entry> waiting() const;  // oldest first
  std::uint64_t bytes() const;         // of those that wait or are being sent

  // Marks the request as being sent and reads it. The caller calls release() or remove() next.
  // Errors: it is gone, or unreadable, which removes it.
  host::Result<Request> claim(const std::string& name);
  void release(const std::string& name);  // it is to be sent again
  bool remove(const std::string& name);   // claimed or not; false: it is gone

 private:
  Spool(std::string folder, std::uint64_t max_bytes)
      : folder_(std::move(folder)), max_bytes_(max_bytes) {}
  host::Result<void> make_room(std::uint64_t wanted);
  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
  std::uint64_t max_bytes_;
  unsigned added_ = 0;
  std::size_t dropped_ = 0;
};

}  // namespace swipr::push
