// The records of labels that the program gives to its threads: LABELS defines a set, STACK_LABELS
// tells which set a thread had in a stack. Readers that do not know them see the stacks alone.
// Context: anywhere.  Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "common/wire/encoder.h"
#include "common/wire/format.h"

namespace swipr::wire {

inline constexpr std::size_t kMostLabels = 64;  // of a set, for readers; writers have 8

struct LabelText {
  std::string_view key{};
  std::string_view value{};
};

// A set with a known id replaces that set for the STACK_LABELS that follow.
void encode_labels(Encoder& out, std::uint64_t set, std::span<const LabelText> labels) noexcept;
struct LabelsRecord {
  std::uint64_t set = 0;  // from 1
  std::size_t count = 0;
};
// `labels`: the first `count` are filled. Lifetime: they point into the payload. nullopt: damaged.
std::optional<LabelsRecord> decode_labels(std::span<const std::byte> payload,
                                          std::span<LabelText, kMostLabels> labels) noexcept;

// The STACK with this id, as defined last, has these labels.
struct StackLabelsRecord {
  std::uint64_t stack_id = 0;
  std::uint64_t set = 0;
};
void encode(Encoder& out, const StackLabelsRecord& record) noexcept;
std::optional<StackLabelsRecord> decode_stack_labels(std::span<const std::byte> payload) noexcept;

}  // namespace swipr::wire
