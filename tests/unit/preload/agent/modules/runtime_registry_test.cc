#include "preload/agent/modules/runtime_registry.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "preload/handler/slots.h"
#include "tests/unit/preload/agent/modules/fake_java.h"
#include "tests/unit/preload/agent/modules/fake_python.h"

namespace swipr::agent {
namespace {

class RuntimeRegistryTest : public testing::Test {
 protected:
  RuntimeRegistryTest() { EXPECT_TRUE(memory_.open()); }
  ~RuntimeRegistryTest() override {
    registry_.withdraw();
    registry_.release();
    memory_.close();
  }
  bool take(const FakeImage& image) {
    return registry_.take(image.header(), image.dynamic(), 0, memory_);
  }
  // These images, and no others, are mapped.
  void update(std::initializer_list<const FakeImage*> images) {
    registry_.begin_update();
    for (const FakeImage* const image : images) EXPECT_TRUE(take(*image));
    registry_.end_update();
  }
  // Address of the _PyRuntime that handlers read; 0: none.
  static std::uint64_t published() {
    const handler::RuntimeSnapshot* const snapshot = handler::runtime_shared.snapshot.load();
    return snapshot == nullptr ? 0 : snapshot->python.runtime;
  }
  std::vector<std::string> refusals() const {
    std::vector<std::string> result;
    for (const FoundRuntime& runtime : registry_.runtimes()) {
      result.emplace_back(runtime.refusal);
    }
    return result;
  }

  ProcMemory memory_;
  RuntimeRegistry registry_;
  const FakePython python_{11, 2};
  const FakePython other_{12, 3};
};
using Refusals = std::vector<std::string>;
constexpr const char* kSecond = "another interpreter of this process is read";

TEST_F(RuntimeRegistryTest, PublishesAnInterpreterToHandlers) {
  update({&python_});
  ASSERT_EQ(registry_.runtimes().size(), 1u);
  const FoundRuntime& runtime = registry_.runtimes()[0];
  EXPECT_EQ(runtime.id, 1u);
  EXPECT_STREQ(runtime.version, "3.11.2");
  EXPECT_EQ(runtime.language, Language::kPython);
  EXPECT_FALSE(runtime.is_refused());
  EXPECT_EQ(published(), python_.runtime());
  EXPECT_EQ(handler::runtime_shared.snapshot.load(), registry_.current());
  EXPECT_NE(handler::runtime_shared.slots.load(), nullptr);
}

TEST_F(RuntimeRegistryTest, HasNothingOfOtherImages) {
  const FakePython library;
  registry_.begin_update();
  EXPECT_FALSE(take(library));
  registry_.end_update();
  EXPECT_TRUE(registry_.runtimes().empty());
  EXPECT_EQ(published(), 0u);
}

TEST_F(RuntimeRegistryTest, RefusesAnUnknownVersion) {
  const FakePython future{99, 1};
  update({&future});
  EXPECT_EQ(refusals(), Refusals{"unsupported version; 3.8 to 3.15 are"});
  EXPECT_STREQ(registry_.runtimes()[0].version, "3.99.1");
  EXPECT_EQ(published(), 0u);
  update({&future, &python_});
  EXPECT_EQ(refusals(), (Refusals{"unsupported version; 3.8 to 3.15 are", ""}));
  EXPECT_EQ(published(), python_.runtime());
}

// The code of a library that it needs may run before the loader has relocated it.
TEST_F(RuntimeRegistryTest, ReadsPythonAsSoonAsItIsRelocated) {
  FakePython loading{11, 2};
  loading.undo_relocation();
  update({&loading});
  EXPECT_EQ(refusals(), Refusals{"it is being loaded"});
  EXPECT_EQ(registry_.runtimes()[0].id, 0u);
  EXPECT_FALSE(registry_.refresh(memory_, Moment(std::chrono::seconds(1)), false));
  loading.relocate();
  EXPECT_TRUE(registry_.refresh(memory_, Moment(std::chrono::seconds(3)), false));
  EXPECT_EQ(refusals(), Refusals{""});
  EXPECT_EQ(registry_.runtimes()[0].id, 1u);
  EXPECT_EQ(published(), loading.runtime());
}

TEST_F(RuntimeRegistryTest, ReadsTheFirstOfTwoInterpreters) {
  update({&python_, &other_});
  EXPECT_EQ(refusals(), (Refusals{"", kSecond}));
  EXPECT_EQ(published(), python_.runtime());
  update({&other_, &python_});
  EXPECT_EQ(published(), python_.runtime());
}

TEST_F(RuntimeRegistryTest, KeepsWhatItFoundWhileItIsMapped) {
  update({&python_});
  const auto* const snapshot = registry_.current();
  const std::uint32_t id = registry_.runtimes()[0].id;
  update({&python_});
  EXPECT_EQ(registry_.current(), snapshot);
  EXPECT_EQ(registry_.runtimes()[0].id, id);
}

TEST_F(RuntimeRegistryTest, WithdrawsAnInterpreterThatVanished) {
  update({&python_});
  const std::uint32_t id = registry_.runtimes()[0].id;
  update({});
  EXPECT_TRUE(registry_.runtimes().empty());
  EXPECT_EQ(published(), 0u);
  EXPECT_EQ(registry_.current(), nullptr);
  update({&python_});  // mapped again: another runtime
  EXPECT_GT(registry_.runtimes()[0].id, id);
  EXPECT_EQ(published(), python_.runtime());
}

TEST_F(RuntimeRegistryTest, ReadsTheInterpreterThatReplacesAVanishedOne) {
  update({&python_});
  update({&other_});  // between two updates
  EXPECT_EQ(refusals(), Refusals{""});
  EXPECT_EQ(published(), other_.runtime());
}

TEST_F(RuntimeRegistryTest, TellsAnImageFromOneThatWasAtItsAddress) {
  update({&python_});
  registry_.begin_update();
  EXPECT_TRUE(registry_.take(python_.header(), other_.dynamic(), 0, memory_));
  registry_.end_update();
  EXPECT_EQ(refusals(), Refusals{""});
  EXPECT_STREQ(registry_.runtimes()[0].version, "3.12.3");
  EXPECT_EQ(published(), other_.runtime());
}

TEST_F(RuntimeRegistryTest, DoesNotFreeWhatAHandlerMayUse) {
  update({&python_});
  handler::shared.pins.fetch_add(1);
  update({});  // a handler may still use python_'s
  update({&other_});
  EXPECT_EQ(published(), 0u) << "there is room for one retired snapshot";
  handler::shared.pins.fetch_sub(1);
  update({&other_});
  EXPECT_EQ(published(), other_.runtime());
}

TEST_F(RuntimeRegistryTest, PublishesAgainAfterItWasWithdrawn) {
  update({&python_});
  registry_.withdraw();
  EXPECT_EQ(published(), 0u);
  update({&python_});
  EXPECT_EQ(published(), python_.runtime());
}

TEST_F(RuntimeRegistryTest, RefusesAJavaMachineUntilItHasStarted) {
  FakeJava java;
  update({&java, &python_});
  EXPECT_EQ(refusals(), (Refusals{"its virtual machine is starting", ""}));
  EXPECT_EQ(registry_.runtimes()[0].language, Language::kJava);
  EXPECT_EQ(registry_.runtimes()[0].id, 0u) << "recordings do not have it yet";
  EXPECT_FALSE(registry_.refresh(memory_, Moment(std::chrono::seconds(1)), false));
  java.describe();
  EXPECT_FALSE(registry_.refresh(memory_, Moment(std::chrono::seconds(1)), false)) << "not due";
  EXPECT_TRUE(registry_.refresh(memory_, Moment(std::chrono::seconds(3)), false));
  // Ids ascend.
  EXPECT_EQ(refusals(),
            (Refusals{"", "it does not describe Abstract_VM_Version._vm_major_version"}));
  EXPECT_GT(registry_.runtimes()[1].id, registry_.runtimes()[0].id);
  EXPECT_FALSE(registry_.refresh(memory_, Moment(std::chrono::seconds(9)), false));
  EXPECT_EQ(published(), python_.runtime());
}

class FakeRuby : public FakeImage {
 public:
  explicit FakeRuby(std::int32_t major, std::int32_t minor) : version_{major, minor, 7} {
    text_ = std::to_string(major) + "." + std::to_string(minor) + ".7";
    add_symbol("ruby_version", text_.c_str());
    add_symbol("ruby_api_version", version_.data());
    finish();
  }

 private:
  std::string text_;
  std::array<std::int32_t, 3> version_;
};

TEST_F(RuntimeRegistryTest, RefusesRubyUntilItRunsAndUnknownVersions) {
  const FakeRuby ruby{3, 1};
  const FakeRuby future{9, 0};
  update({&ruby, &future});
  EXPECT_EQ(refusals(),
            (Refusals{"its main thread runs no Ruby", "unsupported version; 2.7 to 3.4 are"}));
  EXPECT_EQ(registry_.runtimes()[0].language, Language::kRuby);
  EXPECT_STREQ(registry_.runtimes()[0].version, "3.1.7");
  EXPECT_EQ(registry_.runtimes()[0].id, 0u) << "recordings do not have it yet";
  EXPECT_NE(registry_.runtimes()[1].id, 0u);
  EXPECT_FALSE(registry_.refresh(memory_, Moment(std::chrono::seconds(1)), false));
  EXPECT_EQ(registry_.current(), nullptr);
}

TEST_F(RuntimeRegistryTest, ReadsOneThatStartsBesideOneThatNeverDoes) {
  const FakeRuby ruby{3, 1};
  FakePython loading{11, 2};
  loading.undo_relocation();
  update({&ruby, &loading});
  loading.relocate();
  EXPECT_TRUE(registry_.refresh(memory_, Moment(std::chrono::seconds(1)), false));
  EXPECT_EQ(refusals(), (Refusals{"its main thread runs no Ruby", ""}));
  EXPECT_EQ(published(), loading.runtime());
}

class FakeUnread : public FakeImage {
 public:
  explicit FakeUnread(std::initializer_list<const char*> names) {
    for (const char* const name : names) add_symbol(name, this);
    finish();
  }
};

TEST_F(RuntimeRegistryTest, RefusesRUntilItRunsAndWithoutItsVariables) {
  const FakeUnread r{"R_NilValue", "R_BaseEnv", "R_NamesSymbol", "R_CStackStart",
                     "R_GlobalContext"};
  const FakeUnread other{"R_NilValue", "R_BaseEnv"};
  update({&r, &other});
  EXPECT_EQ(refusals(), (Refusals{"its main thread runs no R", "its variables are not exported"}));
  EXPECT_EQ(registry_.runtimes()[0].language, Language::kR);
  EXPECT_EQ(registry_.runtimes()[0].id, 0u) << "recordings do not have it yet";
  EXPECT_NE(registry_.runtimes()[1].id, 0u);
  EXPECT_EQ(registry_.current(), nullptr);
}

TEST_F(RuntimeRegistryTest, NamesRuntimesThatNobodyReads) {
  struct Case {
    FakeUnread image;
    Language language;
    std::string version;
    std::string end_of_refusal;
  };
  constexpr const char* kNapi = "napi_create_function";
  constexpr const char* kScope = "_ZN2v811HandleScopeC1EPNS_7IsolateE";
  const Case cases[] = {
      {FakeUnread{"pypy_execute_source"}, Language::kPython, "PyPy", "only CPython is read"},
      {FakeUnread{"J9_CreateJavaVM"}, Language::kJava, "OpenJ9", "names compiled methods"},
      {FakeUnread{"__svm_version_info"}, Language::kJava, "native image", "names its functions"},
      {FakeUnread{"mono_jit_init"}, Language::kDotNet, "Mono", "names compiled methods"},
      {FakeUnread{"coreclr_initialize"}, Language::kDotNet, "CoreCLR", ", names methods"},
      {FakeUnread{"enif_make_atom"}, Language::kErlang, "BEAM", "from OTP 24 on"},
      {FakeUnread{kNapi, kScope}, Language::kJavaScript, "Bun", "names compiled functions"},
      {FakeUnread{kNapi}, Language::kJavaScript, "Deno", "names compiled functions"}};
  for (const Case& each : cases) {
    update({&each.image});
    ASSERT_EQ(registry_.runtimes().size(), 1u);
    const FoundRuntime& runtime = registry_.runtimes()[0];
    EXPECT_EQ(runtime.language, each.language);
    EXPECT_EQ(runtime.version, each.version);
    EXPECT_TRUE(std::string_view(runtime.refusal).ends_with(each.end_of_refusal))
        << runtime.refusal;
    EXPECT_EQ(published(), 0u);
  }
  update({&cases[0].image, &python_});
  EXPECT_EQ(published(), python_.runtime());
}

TEST_F(RuntimeRegistryTest, TellsNodeFromRuntimesOfItsAddOns) {
  const FakeUnread node{"napi_create_function", "_ZN4node5StartEiPPc"};
  const FakeUnread add_on{"napi_register_module_v1"};
  registry_.begin_update();
  EXPECT_FALSE(take(node));
  EXPECT_FALSE(take(add_on));
}

TEST_F(RuntimeRegistryTest, IsBounded) {
  std::vector<std::unique_ptr<FakePython>> images;
  registry_.begin_update();
  for (std::size_t number = 0; number <= RuntimeRegistry::kMost; ++number) {
    images.push_back(std::make_unique<FakePython>(11));
    EXPECT_EQ(take(*images.back()), number < RuntimeRegistry::kMost);
  }
  registry_.end_update();
  EXPECT_EQ(registry_.runtimes().size(), RuntimeRegistry::kMost);
  EXPECT_EQ(published(), images[0]->runtime());
}

}  // namespace
}  // namespace swipr::agent
