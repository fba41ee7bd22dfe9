// The open streams of all recorded processes, which fill one recording.
#pragma once

#include <poll.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/import/swipr_reader.h"
#include "cli/session/stream/live_stream.h"
#include "common/host/unique_fd.h"

namespace swipr::commands {

class StreamPool {
 public:
  explicit StreamPool(const session::StreamRequest& request);
  ~StreamPool();

  // Begins a recording. Returns the number of the stream, which is the source of its processes.
  std::uint32_t open(host::UniqueFd connection, unsigned halvings);
  // Appends the descriptors of open streams, in order of their numbers.
  void add_descriptors(std::vector<pollfd>& waits) const;
  struct Ended {
    std::uint32_t stream = 0;
    std::string reason;  // why it failed; empty: the process has ended its recording
  };
  // Reads what has arrived on those descriptors. Returns the streams that are closed since.
  std::vector<Ended> read(const std::vector<pollfd>& waits);
  // Asks the process to end the recording; the rest of its data is still read.
  void request_end(std::uint32_t stream);
  void request_end_of_all();
  void close(std::uint32_t stream);
  bool empty() const { return streams_.empty(); }
  std::size_t size() const { return streams_.size(); }

  // The recording so far, without the samples that were taken.
  profile::Recording& recording() { return reader_->so_far(); }
  std::vector<profile::Sample> take_samples();
  // True if the recording so far needs too much memory: all streams are to be closed, then
  // forget() is to be called.
  bool is_full() const;
  void forget();

 private:
  struct Stream;
  void feed(std::uint32_t source, std::span<const std::byte> payload);

  session::StreamRequest request_;
  std::unique_ptr<importers::SwiprReader> reader_;
  std::map<std::uint32_t, std::unique_ptr<Stream>> streams_;
  std::uint32_t next_ = 1;
  std::size_t fed_bytes_ = 0;
};

}  // namespace swipr::commands
