// Records about slow calls of traced functions.
#include "common/wire/slow_calls.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <vector>

#include "common/wire/traced_calls.h"

namespace swipr::wire {
namespace {

class SlowCallRecords : public testing::Test {
 protected:
  std::span<const std::byte> payload(RecordType type) {
    std::span<const std::byte> bytes = out_.bytes();
    const auto record = take_record(bytes);
    EXPECT_TRUE(record.has_value() && bytes.empty());
    EXPECT_EQ(record.value_or(RawRecord{}).type, static_cast<std::uint8_t>(type));
    return record.value_or(RawRecord{}).payload;
  }
  bool decodes(const std::vector<std::uint64_t>& numbers) {
    out_.roll_back(0);
    for (const std::uint64_t number : numbers) out_.put_varint(number);
    return decode_slow_call(out_.bytes(), callers_, count_).has_value();
  }

  std::array<std::byte, 4096> buffer_{};
  Encoder out_{buffer_};
  std::array<std::uint64_t, kMostSlowFrames> callers_{};
  std::size_t count_ = 0;
};

constexpr std::uint64_t kEveryBit = ~std::uint64_t{0};

TEST_F(SlowCallRecords, KeepACall) {
  const SlowCallRecord call{.probe = 3,
                            .tid = 4711,
                            .flags = kSlowHasArguments | kSlowHasStack | kSlowStackEnds,
                            .begin_ns = 5,
                            .duration_ns = 7'000'000,
                            .number = 99,
                            .result = kEveryBit,
                            .arguments = {1, 0, kEveryBit, 4, 5, 6}};
  const std::vector<std::uint64_t> callers = {0x7fff'0000'1234, 0x40'1000, kEveryBit, 0};
  encode(out_, call, callers);
  const auto read = decode_slow_call(payload(RecordType::kSlowCall), callers_, count_);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->probe, 3u);
  EXPECT_EQ(read->tid, 4711u);
  EXPECT_EQ(read->flags, call.flags);
  EXPECT_EQ(read->begin_ns, 5u);
  EXPECT_EQ(read->duration_ns, 7'000'000u);
  EXPECT_EQ(read->number, 99u);
  EXPECT_EQ(read->result, kEveryBit);
  EXPECT_EQ(read->arguments, call.arguments);
  EXPECT_EQ(std::vector(callers_.begin(), callers_.begin() + count_), callers);
}

TEST_F(SlowCallRecords, HaveNoArgumentsIfNoneWereKept) {
  encode(out_, SlowCallRecord{.flags = kSlowUnwound, .arguments = {1, 2, 3, 4, 5, 6}}, {});
  const auto read = decode_slow_call(payload(RecordType::kSlowCall), callers_, count_);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->arguments[0], 0u);
  EXPECT_EQ(count_, 0u);
}

TEST_F(SlowCallRecords, KeepStrings) {
  SlowCallRecord call;
  call.string_count = 2;
  call.strings[0] = {.value = 1, .size = 100, .count = 3, .bytes = {'a', '\0', 'b'}};
  call.strings[1] = {.value = kResultValue, .size = 0};
  const std::vector<std::uint64_t> callers = {1, 2};
  encode(out_, call, callers);
  const auto read = decode_slow_call(payload(RecordType::kSlowCall), callers_, count_);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(count_, 2u);
  ASSERT_EQ(read->string_count, 2u);
  EXPECT_EQ(read->strings[0].value, 1u);
  EXPECT_EQ(read->strings[0].size, 100u);
  EXPECT_EQ(read->strings[0].text(), std::string_view("a\0b", 3));
  EXPECT_EQ(read->strings[1].value, kResultValue);
  EXPECT_EQ(read->strings[1].text(), "");
}

TEST_F(SlowCallRecords, RefuseImpossibleStrings) {
  EXPECT_TRUE(decodes({0, 1, 0, 2, 3, 4, 5, 0, 0}));
  EXPECT_TRUE(decodes({0, 1, 0, 2, 3, 4, 5, 0, 1, 6, 2, 2, 'a', 'b'}));
  EXPECT_FALSE(decodes({0, 1, 0, 2, 3, 4, 5, 0, 1}));                          // none is there
  EXPECT_FALSE(decodes({0, 1, 0, 2, 3, 4, 5, 0, 1, 7, 2, 2, 'a', 'b'}));       // of what
  EXPECT_FALSE(decodes({0, 1, 0, 2, 3, 4, 5, 0, 1, 6, 1, 2, 'a', 'b'}));       // longer than it is
  EXPECT_FALSE(decodes({0, 1, 0, 2, 3, 4, 5, 0, 1, 6, 2, 3, 'a', 'b'}));       // a byte is missing
  EXPECT_FALSE(decodes({0, 1, 0, 2, 3, 4, 5, 0, kMostStrings + 1, 6, 0, 0}));  // too many
  std::vector<std::uint64_t> too_long = {0, 1, 0, 2, 3, 4, 5, 0, 1, 6, 100, kMostStringBytes + 1};
  too_long.resize(too_long.size() + kMostStringBytes + 1, 'a');
  EXPECT_FALSE(decodes(too_long));
}

TEST(StringPlaces, AreDigitsInALine) {
  std::uint64_t places = 0;
  const std::string_view text = "0120000\n0000405\n";
  EXPECT_TRUE(read_strings(text, 0, places));
  EXPECT_EQ(places, 0x020100u);
  EXPECT_TRUE(read_strings(text, 1, places));
  EXPECT_EQ(places, 0x05000400000000u);
  EXPECT_FALSE(read_strings(text, 2, places));
  EXPECT_EQ(places, 0u);
  for (const char* damaged :
       {"0000006\n", "000000/\n", "1111100\n", "0000020\n", "0000002\n", "0000030\n"}) {
    EXPECT_FALSE(read_strings(damaged, 0, places)) << damaged;
  }
}

TEST_F(SlowCallRecords, RefuseImpossibleCalls) {
  EXPECT_TRUE(decodes({0, 1, 0, 2, 3, 4, 5, 0}));
  EXPECT_TRUE(decodes({0, 1, 0, 2, 3, 4, 5, 2, 2, 2}));
  EXPECT_FALSE(decodes({kMostProbes, 1, 0, 2, 3, 4, 5, 0}));
  EXPECT_FALSE(decodes({0, 1, 0, kEveryBit, 1, 4, 5, 0}));  // ends behind the end of time
  EXPECT_FALSE(decodes({0, 1, 0, 2, 3, 4, 5, kMostSlowFrames + 1}));
  EXPECT_FALSE(decodes({0, 1, 0, 2, 3, 4, 5, kEveryBit}));
  EXPECT_FALSE(decodes({0, 1, 0, 2, 3, 4, 5, 2, 2}));                  // a caller is missing
  EXPECT_FALSE(decodes({0, 1, kSlowHasArguments, 2, 3, 4, 5, 1, 2}));  // arguments are
  EXPECT_FALSE(decodes({}));
}

TEST_F(SlowCallRecords, FitTheRoomForCallers) {
  encode(out_, SlowCallRecord{}, std::vector<std::uint64_t>(3, 1));
  EXPECT_FALSE(
      decode_slow_call(payload(RecordType::kSlowCall), std::span(callers_).first(2), count_)
          .has_value());
}

TEST_F(SlowCallRecords, KeepCounts) {
  encode(out_, ProbeCountsRecord{.probe = 1,
                                 .threshold_ns = 2,
                                 .slow = 3,
                                 .slow_ns = 4,
                                 .lost = 5,
                                 .elsewhere = kEveryBit});
  const auto bytes = payload(RecordType::kProbeCounts);
  const auto read = decode_probe_counts(bytes);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->threshold_ns, 2u);
  EXPECT_EQ(read->slow, 3u);
  EXPECT_EQ(read->slow_ns, 4u);
  EXPECT_EQ(read->lost, 5u);
  EXPECT_EQ(read->elsewhere, kEveryBit);
  EXPECT_FALSE(decode_probe_counts(bytes.first(bytes.size() - 1)).has_value());
  out_.roll_back(0);
  encode(out_, ProbeCountsRecord{.probe = kMostProbes});
  EXPECT_FALSE(decode_probe_counts(payload(RecordType::kProbeCounts)).has_value());
}

TEST_F(SlowCallRecords, KeepNamesOfThreads) {
  encode(out_, CallThreadRecord{.tid = 4711, .name = "worker-3"});
  const auto bytes = payload(RecordType::kCallThread);
  const auto read = decode_call_thread(bytes);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->tid, 4711u);
  EXPECT_EQ(read->name, "worker-3");
  EXPECT_FALSE(decode_call_thread(bytes.first(bytes.size() - 1)).has_value());
}

}  // namespace
}  // namespace swipr::wire
