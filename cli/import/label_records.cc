// Records about labels of threads: LABELS and STACK_LABELS.
#include <algorithm>
#include <array>

#include "cli/import/source_records.h"
#include "common/wire/labels.h"

namespace swipr::importers {

bool SourceRecords::on_labels(const wire::RawRecord& record) {
  std::array<wire::LabelText, wire::kMostLabels> texts;
  const auto labels = wire::decode_labels(record.payload, texts);
  if (!labels) return false;
  profile::LabelSet set;
  for (std::size_t index = 0; index < labels->count; ++index) {
    set.emplace_back(texts[index].key, texts[index].value);
  }
  std::sort(set.begin(), set.end());
  label_sets_[labels->set] = builder_.intern_labels(std::move(set));
  return true;
}

std::uint32_t SourceRecords::labels_of_stack(std::uint64_t id) const {
  const auto labels = stack_labels_.find(id);
  return labels == stack_labels_.end() ? profile::kNone : labels->second;
}

bool SourceRecords::on_stack_labels(const wire::RawRecord& record) {
  const auto labels = wire::decode_stack_labels(record.payload);
  if (!labels) return false;
  // The set may be in a damaged part.
  const auto set = label_sets_.find(labels->set);
  if (set != label_sets_.end()) stack_labels_[labels->stack_id] = set->second;
  return true;
}

}  // namespace swipr::importers
