// Checks docs/RAW_FORMAT.md: its example must equal the output of the encoder.
#include <gtest/gtest.h>

#include <fstream>
#include <iomanip>
#include <sstream>
#include <string>

#include "tests/unit/common/wire/worked_example.h"

namespace swipr {
namespace {

// "89 53 …" of all lines of the page's ```hex block, without the remarks after "|".
std::string example_of_the_page() {
  std::ifstream page(SWIPR_RAW_FORMAT_PAGE);
  std::string hex;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("```")) {
      inside = line == "```hex";
    } else if (inside) {
      std::istringstream bytes(line.substr(0, line.find('|')));
      for (std::string byte; bytes >> byte;) hex += byte + " ";
    }
  }
  return hex;
}

std::string hex_of(const std::vector<std::byte>& bytes) {
  std::ostringstream hex;
  for (std::byte byte : bytes) {
    hex << std::hex << std::setw(2) << std::setfill('0') << static_cast<unsigned>(byte) << ' ';
  }
  return hex.str();
}

TEST(RawFormatPage, ShowsWhatTheEncoderWrites) {
  EXPECT_EQ(example_of_the_page(), hex_of(test::make_worked_example()));
}

}  // namespace
}  // namespace swipr
