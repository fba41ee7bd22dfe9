#include "cli/export/text/sink.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <string>

#include "cli/export/formats/export.h"
#include "common/host/unique_fd.h"
#include "tests/golden/golden_recording.h"
#include "tests/golden/output_file.h"

namespace swipr::exporters {
namespace {

TEST(Sink, WritesEverythingInOrder) {
  golden::OutputFile file;
  std::string expected;
  Sink sink(file.fd(), "output");
  for (int number = 0; number < 100'000; ++number) {
    const std::string line = std::to_string(number) + "\n";
    sink.write(line);
    expected += line;
  }
  const std::string large(1'000'000, 'x');
  sink.write(large);
  ASSERT_TRUE(sink.flush().has_value());
  EXPECT_EQ(file.content(), expected + large);
}

// A signal ends a call that waits for the reader after writing a part.
TEST(Sink, GoesOnWhereAWriteEnded) {
  struct sigaction handler {};
  handler.sa_handler = [](int) {};
  ASSERT_EQ(sigaction(SIGUSR1, &handler, nullptr), 0);
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  const host::UniqueFd read_end(ends[0]);
  host::UniqueFd write_end(ends[1]);
  std::string seen;
  std::thread reader([&, writer = pthread_self()] {
    std::array<char, 4096> buffer{};
    for (ssize_t size = 1; size > 0 && seen.size() < 800'000;) {
      size = read(read_end.value(), buffer.data(), buffer.size());
      if (size > 0) seen.append(buffer.data(), static_cast<std::size_t>(size));
      pthread_kill(writer, SIGUSR1);
    }
  });
  std::string expected;
  Sink sink(write_end.value(), "pipe");
  while (expected.size() < 800'000) {
    const std::string line = std::to_string(expected.size()) + "\n";
    sink.write(line);
    expected += line;
  }
  EXPECT_TRUE(sink.flush().has_value());
  write_end = host::UniqueFd();
  reader.join();
  EXPECT_TRUE(seen == expected.substr(0, seen.size()));
  EXPECT_GE(seen.size(), 800'000u);
  signal(SIGUSR1, SIG_DFL);
}

TEST(Sink, ReportsAFullDisk) {
  const host::UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full);
  Sink sink(full.value(), "out.perf");
  sink.write("x");
  EXPECT_FALSE(sink.failed());
  const auto result = sink.flush();
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message(), "cannot write out.perf: No space left on device");
  EXPECT_FALSE(sink.flush().has_value());
}

TEST(Sink, ReportsAReaderThatIsGone) {
  signal(SIGPIPE, SIG_IGN);
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  close(ends[0]);
  const host::UniqueFd write_end(ends[1]);
  Sink sink(write_end.value(), "standard output");
  for (int count = 0; count < 1'000 && !sink.failed(); ++count) sink.write(std::string(4096, 'x'));
  EXPECT_TRUE(sink.failed());
  EXPECT_EQ(sink.flush().error().message(), "cannot write standard output: Broken pipe");
}

TEST(Exporters, PassTheSinksErrorOn) {
  const golden::Golden input = golden::make_golden();
  for (auto* writer : {write_perf, write_pprof, write_collapsed}) {
    const host::UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
    Sink sink(full.value(), "out");
    EXPECT_FALSE(writer(input.recording, input.names, {}, sink).has_value());
  }
}

}  // namespace
}  // namespace swipr::exporters
