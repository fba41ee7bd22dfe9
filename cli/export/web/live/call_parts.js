// Samples by the duration of the traced call that they were taken in.

import { bucket_middle } from './call_sums.js';

export const PARTS = [
  { key: 'all', label: 'All samples' },
  { key: 'within', label: 'In calls' },
  { key: 'slow', label: 'Slow' },
  { key: 'normal', label: 'Others' },
  { key: 'difference', label: 'Difference' },
];

// A duration is between its limits; `to`: null: without an upper one.
export function is_between(nanoseconds, { from, to }) {
  return nanoseconds > from && (to === null || nanoseconds <= to);
}

// The part of a call set for a function: null: outside. A call that has not returned is slow if it has
// lasted for that long already; otherwise nobody knows.
function part_of(set, func, limits) {
  const call = set.find((each) => each.func === func);
  if (!call) return null;
  const is_slow = is_between(bucket_middle(call.bucket), limits);
  if (!call.is_open) return is_slow ? 'slow' : 'normal';
  return is_slow && limits.to === null ? 'slow' : 'open';
}

// Per call set of the model 1 if samples in it count for all filters { func, part, limits }; null: all samples do.
export function choose_sets(model, filters) {
  const narrow = filters.filter(({ part }) => part !== 'all');
  if (narrow.length === 0) return null;
  return Uint8Array.from(model.call_sets, (set) => Number(narrow.every(({ func, part, limits }) => {
    const found = part_of(set, func, limits);
    return found !== null && (part === 'within' || part === found || (part === 'difference' && found !== 'open'));
  })));
}
