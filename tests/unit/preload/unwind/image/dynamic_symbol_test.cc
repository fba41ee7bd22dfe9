#include "preload/unwind/image/dynamic_symbol.h"

#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>
#include <link.h>

#include <cstring>
#include <vector>

namespace swipr::unwind {
namespace {

bool read_own(void*, std::uint64_t address, std::span<std::byte> out) noexcept {
  std::memcpy(out.data(), reinterpret_cast<const void*>(address), out.size());
  return true;
}
constexpr ImageReader kOwn{&read_own, nullptr};

struct Image {
  std::uint64_t load_bias = 0;
  Range<std::uint64_t> dynamic;
};

// The image that holds the address.
Image find_image(const void* inside) {
  struct Search {
    std::uint64_t wanted;
    Image found;
  } search{reinterpret_cast<std::uint64_t>(inside), {}};
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* state) {
        auto& wanted = *static_cast<Search*>(state);
        Image image{.load_bias = info->dlpi_addr, .dynamic = {}};
        bool holds = false;
        for (const ElfW(Phdr) & segment : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
          const std::uint64_t start = info->dlpi_addr + segment.p_vaddr;
          if (segment.p_type == PT_DYNAMIC) image.dynamic = {start, start + segment.p_memsz};
          holds = holds || (segment.p_type == PT_LOAD && wanted.wanted - start < segment.p_memsz);
        }
        if (holds) wanted.found = image;
        return 0;
      },
      &search);
  return search.found;
}

// By a function that no sanitizer wraps.
Image find_libc() { return find_image(reinterpret_cast<const void*>(&::gnu_get_libc_version)); }

TEST(DynamicSymbol, IsWhereTheLoaderFindsIt) {
  for (const char* name : {"malloc", "getenv", "pthread_create", "environ", "stdout"}) {
    void* const expected = dlsym(RTLD_DEFAULT, name);
    Dl_info info;
    ASSERT_NE(dladdr(expected, &info), 0) << name;
    const Image image = find_image(info.dli_fbase);
    EXPECT_EQ(find_exported(image.dynamic, image.load_bias, info.dli_sname, kOwn),
              reinterpret_cast<std::uint64_t>(expected))
        << name;
  }
}

// Debian's libc has both hash tables.
TEST(DynamicSymbol, IsFoundByTheOldHashTable) {
  const Image libc = find_libc();
  std::vector<ElfW(Dyn)> entries;
  const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(libc.dynamic.begin);
  bool has_old = false;
  for (; entry->d_tag != DT_NULL; ++entry) {
    has_old = has_old || entry->d_tag == DT_HASH;
    if (entry->d_tag != DT_GNU_HASH) entries.push_back(*entry);
  }
  if (!has_old) GTEST_SKIP() << "libc has no DT_HASH";
  entries.push_back({});
  const auto begin = reinterpret_cast<std::uint64_t>(entries.data());
  const Range<std::uint64_t> dynamic{begin, begin + entries.size() * sizeof entries[0]};
  for (const char* name : {"malloc", "getenv", "environ", "stdout"}) {
    void* const expected = dlsym(RTLD_DEFAULT, name);
    Dl_info info;
    ASSERT_NE(dladdr(expected, &info), 0) << name;
    if (reinterpret_cast<std::uint64_t>(info.dli_fbase) != libc.load_bias) continue;
    EXPECT_EQ(find_exported(dynamic, libc.load_bias, info.dli_sname, kOwn),
              reinterpret_cast<std::uint64_t>(expected))
        << name;
  }
  EXPECT_NE(find_exported(dynamic, libc.load_bias, "getenv", kOwn), 0u);
  EXPECT_EQ(find_exported(dynamic, libc.load_bias, "no_such_symbol", kOwn), 0u);
}

TEST(DynamicSymbol, OneThatIsNotThereIsNotFound) {
  const Image libc = find_libc();
  ASSERT_FALSE(libc.dynamic.empty());
  EXPECT_EQ(find_exported(libc.dynamic, libc.load_bias, "__jit_debug_descriptor", kOwn), 0u);
  EXPECT_EQ(find_exported(libc.dynamic, libc.load_bias, "", kOwn), 0u);
  EXPECT_EQ(find_exported({}, libc.load_bias, "malloc", kOwn), 0u);
}

}  // namespace
}  // namespace swipr::unwind
