// Perl's frames and names in memory that is laid out as each version does it.
#include "preload/runtimes/perl/perl_frames.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "preload/runtimes/perl/perl_names.h"

namespace swipr::runtimes {
namespace {

enum class NamePlace { kInBody, kBehindTable };

// Interpreter, contexts and code in this process's memory.
class PerlMemory {
 public:
  explicit PerlMemory(NamePlace place) : place_(place) {
    runtime_.next_statement = kNextStatement;
    runtime_.layout = {
        .main_package = 0, .statement = 8, .context = 16, .has_name_in_body = is_in_body()};
  }

  const PerlRuntime& runtime() const { return runtime_; }
  std::uint64_t interpreter() const { return address(interpreter_.data()); }

  std::uint64_t text(std::string_view text) {
    std::uint64_t* const out = words(text.size() / 8 + 1);
    std::memcpy(out, text.data(), text.size());
    return address(out);
  }
  std::uint64_t name(std::string_view text, bool is_utf8 = false) {
    std::uint64_t* const out = words(2 + (text.size() + 2) / 8 + 1);
    out[0] = std::uint64_t{text.size()} << 32 | 0x12345678;
    std::memcpy(out + 1, text.data(), text.size());
    if (is_utf8) reinterpret_cast<char*>(out + 1)[text.size() + 1] = 1;
    return address(out);
  }
  std::uint64_t package(std::string_view text) {
    constexpr std::uint64_t kLargest = 7;
    std::uint64_t* const body = words(8);
    std::uint64_t* const table = words(kLargest + 1 + 4);
    body[3] = kLargest;
    (is_in_body() ? body + 4 : table + kLargest + 1)[0] = name(text);
    return object(kPerlHash | 0x0200'0000, body, table);
  }
  static constexpr std::uint64_t kNextStatement = 0x1000;
  std::uint64_t statement(std::uint32_t line, std::uint64_t file, bool is_run = true) {
    std::uint64_t* const out = words(8);
    out[0] = is_run ? kNextStatement : address(out);
    out[2] = kNextStatement;
    out[4] = std::uint64_t{line} << 32;
    out[6] = file;
    return address(out);
  }
  std::uint64_t glob(std::uint64_t name, std::uint64_t package) {
    std::uint64_t* const body = words(6);
    body[4] = name;
    body[5] = package;
    return object(kPerlGlob, body, nullptr);
  }
  // `name`: a glob's address, or of named code that of its name.
  std::uint64_t code(std::uint64_t name, std::uint64_t package, std::uint64_t start,
                     bool is_named = false) {
    std::uint64_t* const body = words(12);
    body[4] = package;
    body[5] = start;
    body[7] = name;
    body[11] = is_named ? std::uint64_t{0x8000} << 32 : 0;
    return object(kPerlCode, body, nullptr);
  }

  struct Context {
    std::uint8_t type;
    std::uint64_t caller;
    bool ends_loop = false;
    std::uint64_t code = 0;
  };
  // Around which the one before was. The first has type 1, that of a sort is 3.
  void stack(std::initializer_list<Context> contexts, std::int32_t type) {
    constexpr std::size_t kWords = 13;
    std::uint64_t* const array = words(contexts.size() * kWords);
    std::uint64_t* next = array;
    for (const Context& context : contexts) {
      next[0] = context.type;
      next[2] = context.caller;
      next[6] = context.ends_loop ? 0 : 8;
      next[9] = context.code;
      next += kWords;
    }
    std::uint64_t* const out = words(6);
    out[1] = address(array);
    out[2] = interpreter_[2];
    out[4] = static_cast<std::uint32_t>(contexts.size() - 1);
    out[5] = std::uint64_t{static_cast<std::uint32_t>(type)} << 32;
    interpreter_[2] = address(out);
  }
  void run(std::uint64_t statement) { interpreter_[1] = statement; }

 private:
  bool is_in_body() const { return place_ == NamePlace::kInBody; }
  static std::uint64_t address(const void* pointer) {
    return reinterpret_cast<std::uint64_t>(pointer);
  }
  std::uint64_t object(std::uint32_t flags, const std::uint64_t* body, const std::uint64_t* head) {
    std::uint64_t* const out = words(3);
    out[0] = address(body);
    out[1] = std::uint64_t{flags} << 32 | 1;
    out[2] = address(head);
    return address(out);
  }
  std::uint64_t* words(std::size_t count) {
    std::uint64_t* const begin = words_.data() + used_;
    used_ += count;
    if (used_ > words_.size()) std::abort();
    return begin;
  }

  alignas(4096) std::array<std::uint64_t, 4096> words_{};
  std::size_t used_ = 0;
  std::array<std::uint64_t, 4> interpreter_{};
  NamePlace place_;
  PerlRuntime runtime_;
};

constexpr std::uint8_t kBlock = 2;
constexpr std::uint8_t kCall = 9;
constexpr std::uint8_t kRegexCall = 9 | 0x80;
constexpr std::uint8_t kFile = 11;
constexpr std::uint8_t kEvalBlock = 11 | 0x40;
constexpr std::int32_t kMain = 1;
constexpr std::int32_t kSort = 3;

class PerlFrames : public ::testing::TestWithParam<NamePlace> {
 protected:
  PerlMemory memory{GetParam()};
  std::unique_ptr<TokenBuffer> tokens = std::make_unique<TokenBuffer>();
  std::unique_ptr<FunctionText> text = std::make_unique<FunctionText>();
  std::unique_ptr<PageCache> pages = std::make_unique<PageCache>();
  ObjectPieces pieces{{[](void*, std::uint64_t address, std::span<std::byte> out) noexcept {
                         std::memcpy(out.data(), reinterpret_cast<const void*>(address),
                                     out.size());
                         return true;
                       },
                       nullptr}};
  std::uint64_t file = memory.text("/srv/app/main.pl");
  std::uint64_t main = memory.package("main");

  std::span<const Token> walk() {
    ProbedObjects inside(*pages);
    pages->clear();
    walk_perl(memory.runtime(), inside, memory.interpreter(), *tokens);
    return tokens->tokens();
  }
  // "main::burn (/srv/app/main.pl:12) 40", with the line that runs; "[gone]": it has no name.
  std::string text_of(const Token& token) {
    if (!read_perl_function(memory.runtime().layout, pieces, token, *text)) return "[gone]";
    return std::string(text->name.view()) + " (" + std::string(text->file.view()) + ":" +
           std::to_string(text->first_line) + ") " + std::to_string(perl_line(token));
  }
};

TEST_P(PerlFrames, AreCallsAndFiles) {
  const std::uint64_t burn =
      memory.code(memory.glob(memory.name("burn"), main), 0, memory.statement(12, file));
  const std::uint64_t latin = memory.code(memory.name("caf\xe9"), memory.package("App::Shop"),
                                          memory.statement(70, file), true);
  const std::uint64_t utf8 = memory.code(memory.name("caf\xc3\xa9", true), main, 0, true);
  memory.stack({{kBlock, 0},
                {kCall, memory.statement(99, file), false, burn},
                {kEvalBlock, memory.statement(14, file)},
                {kFile, memory.statement(13, file)},
                {kCall, memory.statement(5, memory.text("lib/Shop.pm")), true, latin},
                {kCall, memory.statement(71, file), false, utf8}},
               kMain);
  memory.run(memory.statement(3, memory.text("(eval 12)")));
  const auto found = walk();
  ASSERT_EQ(found.size(), 5u);
  EXPECT_TRUE(tokens->is_root_reached());
  EXPECT_EQ(text_of(found[0]), "main::café ((eval):0) 3");
  EXPECT_EQ(text_of(found[1]), "App::Shop::café (/srv/app/main.pl:70) 71");
  EXPECT_EQ(found[1].flags, kTokenEndsLoop);
  EXPECT_EQ(text_of(found[2]), "Shop.pm (lib/Shop.pm:0) 5");
  EXPECT_EQ(found[2].flags, 0);
  EXPECT_EQ(text_of(found[3]), "main::burn (/srv/app/main.pl:12) 13");
  EXPECT_EQ(text_of(found[4]), "main.pl (/srv/app/main.pl:0) 99");
  EXPECT_EQ(found[4].flags, kTokenEndsLoop);
}

TEST_P(PerlFrames, HaveBlocksThatAreRunByLoops) {
  const std::uint64_t less = memory.code(memory.glob(memory.name("less"), main), 0, 0);
  memory.stack({{kBlock, 0}}, kMain);
  memory.stack({{0, memory.statement(20, file)}, {kCall, memory.statement(21, file), false, less}},
               kSort);
  memory.stack({{kRegexCall, memory.statement(30, file), true, less}}, kMain);
  memory.run(memory.statement(31, file));
  const auto found = walk();
  ASSERT_EQ(found.size(), 4u);
  EXPECT_EQ(text_of(found[0]), "regex code (/srv/app/main.pl:0) 31");
  EXPECT_EQ(text_of(found[1]), "main::less (/srv/app/main.pl:0) 30");
  EXPECT_EQ(text_of(found[2]), "sort block (/srv/app/main.pl:0) 21");
  EXPECT_EQ(text_of(found[3]), "main.pl (/srv/app/main.pl:0) 20");
  EXPECT_EQ(found[0].flags, kTokenEndsLoop);
  EXPECT_EQ(found[2].flags, kTokenEndsLoop);
}

TEST_P(PerlFrames, OfAFileThatIsCompiledAreMissing) {
  const std::uint64_t begin = memory.code(memory.glob(memory.name("BEGIN"), main), 0, 0);
  memory.stack({{kCall, memory.statement(8, file, false), true, begin}}, kMain);
  memory.run(memory.statement(9, file));
  const auto found = walk();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(text_of(found[0]), "main::BEGIN (/srv/app/main.pl:0) 9");
  EXPECT_TRUE(tokens->is_root_reached());
}

TEST_P(PerlFrames, OfOtherCodeAtTheSameAddressHaveNoName) {
  const std::uint64_t name = memory.name("burn");
  const std::uint64_t burn = memory.code(memory.glob(name, main), 0, memory.statement(12, file));
  memory.stack({{kCall, memory.statement(99, file), true, burn}}, kMain);
  memory.run(memory.statement(13, file));
  const auto found = walk();
  ASSERT_EQ(found.size(), 2u);
  *reinterpret_cast<std::uint32_t*>(name) ^= 1;  // its hash
  EXPECT_EQ(text_of(found[0]), "[gone]");
  *reinterpret_cast<std::uint32_t*>(name) ^= 1;
  EXPECT_EQ(text_of(found[0]), "main::burn (/srv/app/main.pl:12) 13");
  *reinterpret_cast<char*>(file + 5) = 'x';
  EXPECT_EQ(text_of(found[0]), "[gone]");
  EXPECT_EQ(text_of(found[1]), "[gone]");
}

TEST_P(PerlFrames, EndWhereNoneIs) {
  memory.stack({{kCall, memory.statement(99, file), true, main}}, kMain);  // a package is no code
  memory.run(memory.statement(13, file));
  EXPECT_TRUE(walk().empty());
  EXPECT_FALSE(tokens->is_root_reached());
}

INSTANTIATE_TEST_SUITE_P(Layouts, PerlFrames,
                         ::testing::Values(NamePlace::kInBody, NamePlace::kBehindTable));

}  // namespace
}  // namespace swipr::runtimes
