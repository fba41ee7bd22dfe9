// The table of layouts against the headers of the versions that this machine has.
#include "preload/runtimes/python/python_layout.h"

#include <glob.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace swipr::runtimes {
namespace {

struct LayoutField {
  std::string_view name;
  std::uint32_t PythonLayout::*field;
};
#define SWIPR_FIELD(name) \
  LayoutField { #name, &PythonLayout::name }
constexpr LayoutField kLayoutFields[] = {
    SWIPR_FIELD(runtime_interpreters),
    SWIPR_FIELD(runtime_gil),
    SWIPR_FIELD(runtime_collecting),
    SWIPR_FIELD(interpreter_next),
    SWIPR_FIELD(interpreter_threads),
    SWIPR_FIELD(interpreter_gil),
    SWIPR_FIELD(interpreter_collecting),
    SWIPR_FIELD(thread_id),
    SWIPR_FIELD(thread_native_id),
    SWIPR_FIELD(thread_frame),
    SWIPR_FIELD(cframe_frame),
    SWIPR_FIELD(cframe_previous),
    SWIPR_FIELD(frame_previous),
    SWIPR_FIELD(frame_code),
    SWIPR_FIELD(frame_position),
    SWIPR_FIELD(frame_owner),
    SWIPR_FIELD(frame_is_entry),
    SWIPR_FIELD(code_file),
    SWIPR_FIELD(code_name),
    SWIPR_FIELD(code_qualified_name),
    SWIPR_FIELD(code_first_line),
    SWIPR_FIELD(code_lines),
    SWIPR_FIELD(code_constants),
    SWIPR_FIELD(code_version),
    SWIPR_FIELD(code_first_traceable),
    SWIPR_FIELD(code_bytecode),
    SWIPR_FIELD(text_ascii),
    SWIPR_FIELD(text_other),
};
#undef SWIPR_FIELD
static_assert(sizeof(PythonLayout) == 4 * (std::size(kLayoutFields) + 1), "a field is missing");

struct Headers {
  std::string root;    // of the system that they belong to; empty: this one
  std::string folder;  // …/include/python3.N
};

void PrintTo(const Headers& headers, std::ostream* out) { *out << headers.folder; }

void find_headers(const std::string& root, const std::string& pattern, std::vector<Headers>& out) {
  glob_t found{};
  if (::glob((root + pattern).c_str(), 0, nullptr, &found) == 0) {
    for (std::size_t index = 0; index < found.gl_pathc; ++index) {
      const std::string folder = found.gl_pathv[index];
      const std::string version = std::filesystem::path(folder).filename().string();
      const bool is_plain =
          version.find_last_not_of("0123456789") == std::string_view("python3").size();
      const unsigned minor =
          is_plain ? static_cast<unsigned>(std::stoul(version.substr(version.find('.') + 1))) : 0;
      if (find_python_layout(minor) == nullptr || !std::filesystem::exists(folder + "/internal")) {
        continue;
      }
      out.push_back({root, folder});
    }
  }
  ::globfree(&found);
}

std::vector<Headers> all_headers() {
  std::vector<Headers> found;
  if (const char* const home = ::getenv("HOME")) {
    find_headers("", home + std::string("/.pyenv/versions/3.*/include/python3.*"), found);
  }
  find_headers("", "/usr/include/python3.*", found);
  const char* const roots = ::getenv("SWIPR_PYTHON_ROOTS");
  std::string_view rest = roots == nullptr ? "" : roots;
  while (!rest.empty()) {
    const std::string_view root = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), root.size() + 1));
    find_headers(std::string(root), "/usr/include/python3.*", found);
  }
  return found;
}

// ".name = 12," of each line, by name.
std::map<std::string, std::uint32_t, std::less<>> layout_of(const Headers& headers) {
  const std::string program = ::testing::TempDir() + "python_layout_" + std::to_string(::getpid());
  std::string command = "cc -w -I" + headers.folder + " -I" + headers.folder + "/internal ";
  if (!headers.root.empty()) command += "-idirafter " + headers.root + "/usr/include ";
  command += "-o " + program + " " SWIPR_PYTHON_LAYOUT " && " + program + " && rm " + program;
  std::map<std::string, std::uint32_t, std::less<>> fields;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> output(::popen(command.c_str(), "r"),
                                                               &::pclose);
  char name[64];
  unsigned value = 0;
  char line[256];
  while (output && std::fgets(line, sizeof line, output.get()) != nullptr) {
    if (std::sscanf(line, ".%63[a-z_] = %u,", name, &value) == 2) fields[name] = value;
  }
  return fields;
}

class PythonHeadersTest : public ::testing::TestWithParam<Headers> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(PythonHeadersTest);

TEST_P(PythonHeadersTest, AgreeWithTheTable) {
  const auto fields = layout_of(GetParam());
  ASSERT_TRUE(fields.contains("minor")) << "the headers cannot be compiled";
  const PythonLayout& layout = *find_python_layout(fields.at("minor"));
  for (const LayoutField& field : kLayoutFields) {
    const auto found = fields.find(field.name);
    ASSERT_NE(found, fields.end()) << field.name;
    EXPECT_EQ(layout.*field.field, found->second) << field.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Machine, PythonHeadersTest, ::testing::ValuesIn(all_headers()));

}  // namespace
}  // namespace swipr::runtimes
