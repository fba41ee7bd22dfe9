// Requests for traced functions, and the records about them.
#include "common/wire/traced_calls.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace swipr::wire {
namespace {

std::vector<ProbeRequest> probes_of(std::string_view& text) {
  std::vector<ProbeRequest> probes;
  ProbeRequest probe;
  while (take_probe(text, probe)) probes.push_back(probe);
  return probes;
}

TEST(ProbeRequests, NameModulesByBuildIdOrPath) {
  std::string_view text =
      "0x1139 build-id 0d9F\n\n0x401136 path /srv/my app (deleted)\n0xffffffffffffffff path a";
  const auto probes = probes_of(text);
  EXPECT_TRUE(text.empty());
  ASSERT_EQ(probes.size(), 3u);
  EXPECT_EQ(probes[0].image_address, 0x1139u);
  EXPECT_EQ(probes[0].build_id, "0d9F");
  EXPECT_EQ(probes[0].path, "");
  EXPECT_EQ(probes[1].image_address, 0x401136u);
  EXPECT_EQ(probes[1].build_id, "");
  EXPECT_EQ(probes[1].path, "/srv/my app (deleted)");
  EXPECT_EQ(probes[2].image_address, ~std::uint64_t{0});
}

TEST(ProbeRequests, EndAtADamagedLine) {
  const std::string too_long(2 * kMostBuildIdBytes + 2, 'a');
  for (const std::string& line :
       {std::string("1139 build-id 0d"), std::string("0x build-id 0d"),
        std::string("0x-1 build-id 0d"), std::string("0x1139"), std::string("0x1139 "),
        std::string("0x1139 build-id "), std::string("0x1139 build-id 0"),
        std::string("0x1139 build-id 0g"), std::string("0x1139 path "),
        std::string("0x1139 name f"), std::string("0x1139build-id 0d"),
        std::string("0x10000000000000000 path a"), "0x1 build-id " + too_long}) {
    std::string text = "0x1 path /good\n" + line + "\n0x2 path /good";
    std::string_view rest = text;
    EXPECT_EQ(probes_of(rest).size(), 1u) << line;
    EXPECT_TRUE(rest.starts_with(line)) << rest;
  }
}

TEST(ProbeRequests, CompareBuildIds) {
  const std::array bytes = {std::byte{0x0d}, std::byte{0x9f}};
  EXPECT_TRUE(is_build_id("0d9F", bytes));
  EXPECT_FALSE(is_build_id("0d9e", bytes));
  EXPECT_FALSE(is_build_id("0d", bytes));
  EXPECT_FALSE(is_build_id("0d9f00", bytes));
  EXPECT_FALSE(is_build_id("0dxy", bytes));
  EXPECT_FALSE(is_build_id("", {}));
}

class TracedCallRecords : public testing::Test {
 protected:
  std::span<const std::byte> payload(RecordType type) {
    std::span<const std::byte> bytes = out_.bytes();
    const auto record = take_record(bytes);
    EXPECT_TRUE(record.has_value() && bytes.empty());
    EXPECT_EQ(record.value_or(RawRecord{}).type, static_cast<std::uint8_t>(type));
    return record.value_or(RawRecord{}).payload;
  }
  std::optional<ProbeRecord> probe_of(std::initializer_list<std::uint64_t> fields) {
    out_.roll_back(0);
    for (const std::uint64_t field : fields) out_.put_varint(field);
    return decode_probe(out_.bytes());
  }
  std::span<const std::byte> latency(const std::vector<BucketCount>& buckets) {
    out_.roll_back(0);
    LatencyEncoder encoder(out_, {.probe = 3,
                                  .tid = 4711,
                                  .call_site = 0x7f0000401234,
                                  .begin_ns = 1'000'000'000,
                                  .end_ns = 2'500'000'000,
                                  .sum_ns = 123'456,
                                  .max_ns = 99'999,
                                  .unwound = 2,
                                  .untraced = 7,
                                  .open = 5});
    for (const BucketCount& bucket : buckets) encoder.put(bucket);
    encoder.end();
    return payload(RecordType::kLatency);
  }
  // A LATENCY record with these numbers after its fields.
  LatencyDecoder damaged(std::uint64_t probe, std::uint64_t begin, std::uint64_t stretch,
                         std::initializer_list<std::uint64_t> rest) {
    out_.roll_back(0);
    for (const std::uint64_t field : {probe, std::uint64_t{0}, std::uint64_t{0}, begin, stretch}) {
      out_.put_varint(field);
    }
    for (int field = 0; field < 5; ++field) out_.put_varint(0);
    for (const std::uint64_t number : rest) out_.put_varint(number);
    return LatencyDecoder(out_.bytes());
  }
  static std::vector<BucketCount> take_all(LatencyDecoder& latency) {
    std::vector<BucketCount> buckets;
    for (BucketCount bucket; latency.take(bucket);) buckets.push_back(bucket);
    return buckets;
  }

  std::array<std::byte, 512> buffer_{};
  Encoder out_{buffer_};
};

TEST_F(TracedCallRecords, KeepAProbe) {
  encode(out_, ProbeRecord{.probe = kMostProbes - 1,
                           .state = ProbeState::kDetached,
                           .reason = ProbeReason::kBudget,
                           .time_ns = 17,
                           .address = 0x401136,
                           .size_bytes = 99,
                           .text = "its calls cost too much"});
  const auto probe = decode_probe(payload(RecordType::kProbe));
  ASSERT_TRUE(probe.has_value());
  EXPECT_EQ(probe->probe, kMostProbes - 1);
  EXPECT_EQ(probe->state, ProbeState::kDetached);
  EXPECT_EQ(probe->reason, ProbeReason::kBudget);
  EXPECT_EQ(probe->time_ns, 17u);
  EXPECT_EQ(probe->address, 0x401136u);
  EXPECT_EQ(probe->size_bytes, 99u);
  EXPECT_EQ(probe->text, "its calls cost too much");
}

TEST_F(TracedCallRecords, RefuseImpossibleProbes) {
  EXPECT_TRUE(probe_of({0, 0, 0, 0, 0, 0, 0}).has_value());
  EXPECT_FALSE(probe_of({kMostProbes, 0, 0, 0, 0, 0, 0}).has_value());
  EXPECT_FALSE(probe_of({0, 3, 0, 0, 0, 0, 0}).has_value());
  EXPECT_FALSE(probe_of({0, 0, 0, 0, ~std::uint64_t{0}, 1, 0}).has_value());
  EXPECT_EQ(probe_of({0, 1, 200, 0, 0, 0, 0}).value_or(ProbeRecord{}).reason,
            ProbeReason::kProcess);
}

TEST_F(TracedCallRecords, KeepDurations) {
  LatencyDecoder decoder(latency({{0, 1}, {1, 300}, {kBucketCount - 1, 2}}));
  const LatencyRecord& record = decoder.record();
  EXPECT_EQ(record.probe, 3u);
  EXPECT_EQ(record.tid, 4711u);
  EXPECT_EQ(record.call_site, 0x7f0000401234u);
  EXPECT_EQ(record.begin_ns, 1'000'000'000u);
  EXPECT_EQ(record.end_ns, 2'500'000'000u);
  EXPECT_EQ(record.sum_ns, 123'456u);
  EXPECT_EQ(record.max_ns, 99'999u);
  EXPECT_EQ(record.unwound, 2u);
  EXPECT_EQ(record.untraced, 7u);
  EXPECT_EQ(record.open, 5u);
  const auto buckets = take_all(decoder);
  EXPECT_TRUE(decoder.ok());
  EXPECT_EQ(decoder.calls(), 303u);
  ASSERT_EQ(buckets.size(), 3u);
  EXPECT_EQ(buckets[1].bucket, 1u);
  EXPECT_EQ(buckets[1].count, 300u);
  EXPECT_EQ(buckets[2].bucket, kBucketCount - 1);
}

TEST_F(TracedCallRecords, RefuseImpossibleDurations) {
  const std::uint64_t all = ~std::uint64_t{0};
  EXPECT_TRUE(damaged(0, 5, 6, {}).ok());
  EXPECT_FALSE(damaged(kMostProbes, 5, 6, {}).ok());
  EXPECT_FALSE(damaged(0, 5, all - 4, {}).ok());
  for (const auto& rest : {std::initializer_list<std::uint64_t>{kBucketCount, 1},
                           {1, 1, kBucketCount - 2, 1},
                           {kBucketCount - 1, 1, 0, 1},
                           {all, 1},
                           {0, 0},
                           {0, all, 0, 1},
                           {0}}) {
    LatencyDecoder decoder = damaged(0, 0, 0, rest);
    take_all(decoder);
    EXPECT_FALSE(decoder.ok()) << testing::PrintToString(std::vector(rest));
  }
}

TEST_F(TracedCallRecords, RefuseToEndInTheMiddle) {
  encode(out_, ProbeRecord{.address = 0x401136, .text = "it is too short"});
  const auto probe = payload(RecordType::kProbe);
  for (std::size_t size = 0; size < probe.size(); ++size) {
    EXPECT_FALSE(decode_probe(probe.first(size)).has_value()) << size;
  }
  const std::size_t fields = latency({}).size();
  const auto whole = latency({{40, 300}});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    LatencyDecoder decoder(whole.first(size));
    take_all(decoder);
    EXPECT_EQ(decoder.ok(), size == fields) << size;
  }
}

}  // namespace
}  // namespace swipr::wire
