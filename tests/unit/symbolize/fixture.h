// The programs that the build makes from fixtures/, and known facts about them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "common/core/addresses.h"
#include "common/host/temporary_folder.h"
#include "symbolize/symbolizer.h"

namespace swipr::symbolize::test {

std::string fixture(std::string_view name);
std::string build_id_of(const std::string& path);

ImageAddr address_of(const std::string& path, std::string_view symbol);
// Offset of a symbol in the file. The fixture must have a symbol table; copies without one have the
// same layout.
FileOffset offset_of(const std::string& path, std::string_view symbol);

// Every byte of every sized function of the fixture's symbol table.
std::vector<FileOffset> function_bytes(const std::string& path);

// The line of fixtures/`source` that ends in "// at: MARK".
std::uint32_t line_of(std::string_view source, std::string_view mark);

std::vector<std::string> names(const std::vector<SourceFunction>& functions);

// A folder that is removed with this object.
class TemporaryFolder {
 public:
  TemporaryFolder() { EXPECT_TRUE(folder_.exists()) << folder_.path(); }

  std::string path(std::string_view name) const {
    return (std::filesystem::path(folder_.path()) / name).string();
  }
  // Copies `file` to NAME, making folders as needed. Returns the new path.
  std::string copy(const std::string& file, std::string_view name) const;
  // Copies `file` to the path below this folder at which it is searched by build-id.
  void add_by_build_id(const std::string& file, std::string_view suffix) const;

 private:
  host::TemporaryFolder folder_;
};

}  // namespace swipr::symbolize::test
