// The decoder reads what the encoder writes, and refuses impossible records.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "common/wire/crc32.h"
#include "common/wire/decoder.h"
#include "common/wire/encoder.h"
#include "common/wire/names.h"

namespace swipr::wire {
namespace {

using Bytes = std::span<const std::byte>;
constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

class WireTest : public testing::Test {
 protected:
  std::array<std::byte, 65536> buffer_{};
  Encoder out_{buffer_};

  // The only record that was written.
  RawRecord only_record() {
    Bytes bytes = out_.bytes();
    const auto record = take_record(bytes);
    EXPECT_TRUE(record.has_value());
    EXPECT_TRUE(bytes.empty());
    return record.value_or(RawRecord{});
  }
  Decoder decoder() { return Decoder(out_.bytes()); }
};

using Varint = WireTest;

TEST_F(Varint, HoldsEveryNumber) {
  for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{128},
                                    std::uint64_t{1} << 35, std::uint64_t{1} << 63, kMax}) {
    out_.roll_back(0);
    out_.put_varint(value);
    Decoder in = decoder();
    EXPECT_EQ(in.take_varint(), value);
    EXPECT_TRUE(in.ok() && in.at_end());
  }
}

TEST_F(Varint, HoldsEverySignedNumber) {
  for (const std::int64_t value :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{63}, std::int64_t{-64},
        std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}) {
    out_.roll_back(0);
    out_.put_signed(value);
    Decoder in = decoder();
    EXPECT_EQ(in.take_signed(), value);
    EXPECT_TRUE(in.ok() && in.at_end());
  }
}

TEST_F(Varint, RefusesMoreThan64Bits) {
  for (int byte = 0; byte < 9; ++byte) out_.put_byte(0xFF);
  out_.put_byte(0x02);
  Decoder in = decoder();
  EXPECT_EQ(in.take_varint(), 0u);
  EXPECT_FALSE(in.ok());
}

TEST_F(Varint, RefusesToEndInTheMiddle) {
  out_.put_byte(0x80);
  Decoder in = decoder();
  in.take_varint();
  EXPECT_FALSE(in.ok());
}

using Encoding = WireTest;

TEST_F(Encoding, ReportsOverflowAndRollsBack) {
  std::array<std::byte, 4> small{};
  Encoder out(small);
  out.put_u32(7);
  EXPECT_FALSE(out.overflowed());
  out.put_byte(1);
  EXPECT_TRUE(out.overflowed());
  out.roll_back(4);
  EXPECT_FALSE(out.overflowed());
  EXPECT_EQ(Decoder(out.bytes()).take_u32(), 7u);
}

TEST_F(Encoding, NeverWritesPastTheEnd) {
  std::array<std::byte, 300> whole{};
  const std::string text(200, 'x');
  for (std::size_t room = 0; room < whole.size(); ++room) {
    Encoder out{std::span(whole).first(room)};
    encode(out, MessageRecord{MessageLevel::kNote, text});
    ASSERT_EQ(out.overflowed(), room < 206) << room;  // type, 2 of length, level, 2 + 200 of text
    for (std::size_t index = room; index < whole.size(); ++index) {
      ASSERT_EQ(whole[index], std::byte{0}) << room;
    }
    std::fill(whole.begin(), whole.end(), std::byte{0});
  }
}

TEST_F(Encoding, CutsLongStrings) {
  encode(out_, MessageRecord{MessageLevel::kNote, std::string(kMaxStringBytes + 5, 'x')});
  const auto message = decode_message(only_record().payload);
  ASSERT_TRUE(message.has_value());
  EXPECT_EQ(message->text.size(), kMaxStringBytes);
}

using Records = WireTest;

TEST_F(Records, KeepASource) {
  encode(out_,
         SourceRecord{1, 2, 3, 4, 5, 6, 62, "v", "comm", "/exe", "a", RecordMode::kOffCpu, true});
  const RawRecord raw = only_record();
  EXPECT_EQ(raw.type, static_cast<std::uint8_t>(RecordType::kSource));
  const auto source = decode_source(raw.payload);
  ASSERT_TRUE(source.has_value());
  EXPECT_EQ(source->pid, 1u);
  EXPECT_EQ(source->ticks_asked, 6u);
  EXPECT_EQ(source->machine, 62u);
  EXPECT_EQ(source->executable, "/exe");
  EXPECT_EQ(source->mode, RecordMode::kOffCpu);
  EXPECT_TRUE(source->jitter);
  // As written without jitter, without modes, and with an unknown mode.
  std::vector<std::byte> payload(raw.payload.begin(), raw.payload.end() - 1);
  EXPECT_FALSE(decode_source(payload)->jitter);
  EXPECT_EQ(decode_source(payload)->mode, RecordMode::kOffCpu);
  payload.pop_back();
  EXPECT_EQ(decode_source(payload)->mode, RecordMode::kWall);
  payload.push_back(std::byte{3});
  EXPECT_EQ(decode_source(payload)->mode, RecordMode::kWall);
}

TEST_F(Records, KeepAUser) {
  encode(out_, UserRecord{1000});
  const RawRecord raw = only_record();
  EXPECT_EQ(raw.type, static_cast<std::uint8_t>(RecordType::kUser));
  const auto user = decode_user(raw.payload);
  ASSERT_TRUE(user.has_value());
  EXPECT_EQ(user->user, 1000u);
  EXPECT_FALSE(decode_user({}).has_value());
}

TEST_F(Records, KeepNames) {
  const std::array<std::byte, 2> build_id = {std::byte{1}, std::byte{0xFF}};
  const std::array<std::string_view, 2> texts = {"f()", "a.cc"};
  NamesEncoder names(out_, "/lib/x.so", build_id, texts);
  names.begin_address(0x1000, 2);
  names.put({.name = 1, .file = 2, .line = 7, .start_line = 5, .offset = 0, .inlined = true});
  names.put({.name = 1, .linkage_name = 1, .offset = kMax});
  names.begin_address(0x1234, 0);
  names.end();
  const RawRecord raw = only_record();
  EXPECT_EQ(raw.type, static_cast<std::uint8_t>(RecordType::kNames));
  NamesDecoder read(raw.payload);
  EXPECT_EQ(read.path(), "/lib/x.so");
  EXPECT_TRUE(std::ranges::equal(read.build_id(), build_id));
  std::string_view text;
  ASSERT_TRUE(read.take_text(text));
  EXPECT_EQ(text, "f()");
  ASSERT_TRUE(read.take_text(text));
  ASSERT_FALSE(read.take_text(text));
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
  ASSERT_TRUE(read.take_address(offset, count));
  EXPECT_EQ(offset, 0x1000u);
  ASSERT_EQ(count, 2u);
  FunctionEntry function;
  ASSERT_TRUE(read.take_function(function));
  EXPECT_TRUE(function.inlined);
  EXPECT_EQ(function.line, 7u);
  EXPECT_EQ(function.file, 2u);
  ASSERT_TRUE(read.take_function(function));
  EXPECT_FALSE(function.inlined);
  EXPECT_EQ(function.offset, kMax);
  ASSERT_TRUE(read.take_address(offset, count));
  EXPECT_EQ(offset, 0x1234u);
  EXPECT_EQ(count, 0u);
  EXPECT_FALSE(read.take_address(offset, count));
  EXPECT_TRUE(read.ok());
}

TEST_F(Records, RefuseTextsThatAreNotThere) {
  NamesEncoder names(out_, "/x", {}, {});
  names.begin_address(0, 1);
  names.put({.name = 1});
  names.end();
  NamesDecoder read(only_record().payload);
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
  ASSERT_TRUE(read.take_address(offset, count));
  FunctionEntry function;
  EXPECT_FALSE(read.take_function(function));
}

TEST_F(Records, KeepCode) {
  const std::array<CodeLine, 2> lines = {CodeLine{0, 3, "a.js"}, CodeLine{8, 4, "a.js"}};
  encode(out_, CodeRecord{0x1000, 0x20, 5, "JS:*f"}, lines);
  CodeDecoder read(only_record().payload);
  EXPECT_EQ(read.record().name, "JS:*f");
  EXPECT_EQ(read.record().valid_from_ns, 5u);
  CodeLine line;
  ASSERT_TRUE(read.take(line));
  ASSERT_TRUE(read.take(line));
  EXPECT_EQ(line.offset, 8u);
  EXPECT_EQ(line.file, "a.js");
  EXPECT_FALSE(read.take(line));
  EXPECT_EQ(read.object(), 0u);
  EXPECT_TRUE(read.ok());
}

TEST_F(Records, KeepTheObjectOfCode) {
  encode(out_, CodeRecord{0x1000, 0x20, 5, "f", kMax}, {});
  const auto payload = only_record().payload;
  CodeDecoder read(payload);
  EXPECT_EQ(read.object(), kMax);
  EXPECT_TRUE(read.ok());
  CodeDecoder early(payload.first(payload.size() - 10));  // as early writers left it
  EXPECT_EQ(early.object(), 0u);
  EXPECT_TRUE(early.ok());
}

TEST_F(Records, KeepThatAnObjectIsGone) {
  encode(out_, CodeGoneRecord{7, kMax});
  const auto payload = only_record().payload;
  const auto gone = decode_code_gone(payload);
  ASSERT_TRUE(gone.has_value());
  EXPECT_EQ(gone->object, 7u);
  EXPECT_EQ(gone->valid_until_ns, kMax);
  EXPECT_FALSE(decode_code_gone(payload.first(payload.size() - 1)).has_value());
}

TEST_F(Records, KeepAModule) {
  const std::array<std::byte, 2> build_id = {std::byte{1}, std::byte{0xFF}};
  encode(out_, ModuleRecord{7, 0x1000, 0x2000, 0x3000, kMax, build_id, "/lib/x.so"});
  const auto module = decode_module(only_record().payload);
  ASSERT_TRUE(module.has_value());
  EXPECT_EQ(module->module_id, 7u);
  EXPECT_EQ(module->load_bias, kMax);
  EXPECT_EQ(module->build_id.size(), 2u);
  EXPECT_EQ(module->path, "/lib/x.so");
}

TEST_F(Records, RefuseAModuleThatWrapsAround) {
  encode(out_, ModuleRecord{7, kMax - 5, 10, 0, 0, {}, "/x"});
  EXPECT_FALSE(decode_module(only_record().payload).has_value());
}

TEST_F(Records, KeepAStackWithEveryKindOfFrame) {
  std::vector<FrameEntry> frames;
  for (std::uint64_t index = 0; index < 40; ++index) {
    frames.push_back({index % 3 == 0 ? kMax - index : index,
                      static_cast<FrameSource>(index / 5 % 4), index % 7 == 0});
  }
  encode(out_, StackRecord{9, kStackCut, 8, 20, 0, "ep_poll"}, frames);
  std::array<FrameEntry, kMaxFrames> decoded;
  const auto stack = decode_stack(only_record().payload, decoded);
  ASSERT_TRUE(stack.has_value());
  EXPECT_EQ(stack->omitted_at, 20u);
  EXPECT_EQ(stack->wait_syscall, 8u);
  EXPECT_EQ(stack->wait_channel, "ep_poll");
  ASSERT_EQ(stack->frame_count, frames.size());
  for (std::size_t index = 0; index < frames.size(); ++index) {
    EXPECT_EQ(decoded[index].pc, frames[index].pc);
    EXPECT_EQ(decoded[index].source, frames[index].source);
    EXPECT_EQ(decoded[index].exact, frames[index].exact);
  }
}

TEST_F(Records, RefuseStacksThatClaimMoreFramesThanAllowed) {
  const std::size_t mark = out_.begin_record(RecordType::kStack);
  for (const std::uint64_t value : {1u, 0u, 0u, kMaxFrames + 1}) out_.put_varint(value);
  out_.put_varint(std::uint64_t{kMaxFrames + 1} << 3);
  for (std::uint32_t frame = 0; frame <= kMaxFrames; ++frame) out_.put_signed(1);
  out_.end_record(mark);
  std::array<FrameEntry, kMaxFrames> decoded;
  EXPECT_FALSE(decode_stack(only_record().payload, decoded).has_value());
}

TEST_F(Records, RefuseEmptyRunsOfFrames) {
  const std::size_t mark = out_.begin_record(RecordType::kStack);
  for (const std::uint64_t value : {1u, 0u, 0u, 1u, 0u, 2u}) out_.put_varint(value);
  out_.end_record(mark);
  std::array<FrameEntry, kMaxFrames> decoded;
  EXPECT_FALSE(decode_stack(only_record().payload, decoded).has_value());
}

TEST_F(Records, KeepTheEntriesOfATick) {
  TickEncoder tick(out_, 500);
  tick.put({3, ThreadState::kBlocked, 11, 1, 2, 4, 8}, false, false);
  tick.put({3, ThreadState::kRunning, 12, 0, 0, 9, 1}, false, true);
  tick.put({90, ThreadState::kUnknown, 12, 2, 7, 9, 1}, true, true);
  tick.end();
  TickDecoder in(only_record().payload);
  EXPECT_EQ(in.time_delta_ns(), 500u);
  SampleEntry entry;
  std::uint64_t flags = 0;
  ASSERT_TRUE(in.take(entry, flags));
  EXPECT_EQ(entry.thread_index, 3u);
  EXPECT_EQ(entry.state, ThreadState::kBlocked);
  EXPECT_EQ(entry.stack_id, 11u);
  EXPECT_EQ(entry.cpu_ns, 1u);
  EXPECT_EQ(entry.runqueue_ns, 2u);
  EXPECT_EQ(entry.wall_ns, 4u);
  EXPECT_EQ(entry.ticks, 8u);
  ASSERT_TRUE(in.take(entry, flags));
  EXPECT_EQ(entry.thread_index, 3u);
  EXPECT_EQ(flags & kSampleHasWall, 0u);
  ASSERT_TRUE(in.take(entry, flags));
  EXPECT_EQ(entry.thread_index, 90u);
  EXPECT_NE(flags & kSampleSameStack, 0u);
  EXPECT_EQ(entry.runqueue_ns, 0u) << "told as the rest";
  EXPECT_EQ(runqueue_ns_of(entry, flags, 9), 7u);
  EXPECT_EQ(runqueue_ns_of(entry, flags, 1), 0u);
  EXPECT_FALSE(in.take(entry, flags));
  EXPECT_TRUE(in.ok());
}

TEST_F(Records, NoticeATickThatEndsWithinAnEntry) {
  TickEncoder tick(out_, 500);
  tick.put({3, ThreadState::kBlocked, 300, 1, 2, 4, 8}, false, false);
  tick.end();
  const Bytes payload = only_record().payload;
  TickDecoder in(payload.first(payload.size() - 1));
  SampleEntry entry;
  std::uint64_t flags = 0;
  EXPECT_FALSE(in.take(entry, flags));
  EXPECT_FALSE(in.ok());
}

TEST_F(Records, AreCutOffWithoutBeingRead) {
  encode(out_, ThreadRecord{1, 2, 3, "name"});
  Bytes bytes = out_.bytes().first(out_.size() - 1);
  EXPECT_FALSE(take_record(bytes).has_value());
  EXPECT_EQ(bytes.size(), out_.size() - 1);
}

TEST_F(Records, IgnoreFieldsOfLaterVersions) {
  const std::size_t mark = out_.begin_record(RecordType::kModuleGone);
  out_.put_varint(5);
  out_.put_string("a field of a later version");
  out_.end_record(mark);
  const auto gone = decode_module_gone(only_record().payload);
  ASSERT_TRUE(gone.has_value());
  EXPECT_EQ(gone->module_id, 5u);
}

using Headers = WireTest;

TEST_F(Headers, TellFilesApart) {
  std::uint16_t version = 0;
  encode_file_header(out_);
  EXPECT_EQ(out_.size(), kFileHeaderBytes);
  EXPECT_EQ(decode_file_header(out_.bytes(), version), HeaderStatus::kOk);
  EXPECT_EQ(version, kVersion);
  EXPECT_EQ(decode_file_header(out_.bytes().first(10), version), HeaderStatus::kIncomplete);
  buffer_[8] = std::byte{9};
  EXPECT_EQ(decode_file_header(out_.bytes(), version), HeaderStatus::kNewerVersion);
  EXPECT_EQ(version, 9u);
  buffer_[0] = std::byte{'#'};
  EXPECT_EQ(decode_file_header(out_.bytes(), version), HeaderStatus::kNotSwipr);
}

TEST_F(Headers, KeepABlocksSourceLengthAndChecksum) {
  const std::array<std::byte, 3> payload = {std::byte{1}, std::byte{2}, std::byte{3}};
  encode_block_header(out_, 70000, payload);
  const auto header = decode_block_header(out_.bytes());
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->source, 70000u);
  EXPECT_EQ(header->payload_bytes, 3u);
  EXPECT_EQ(header->crc, crc32(payload));
}

TEST_F(Headers, RefuseBlocksThatAreTooLarge) {
  encode_block_header(out_, 0, {});
  buffer_[11] = std::byte{1};  // 16 MiB
  EXPECT_FALSE(decode_block_header(out_.bytes()).has_value());
}

TEST(Crc32, HasTheStandardsCheckValue) {
  EXPECT_EQ(crc32(std::as_bytes(std::span(std::string_view("123456789")))), 0xCBF43926u);
}

}  // namespace
}  // namespace swipr::wire
