// Where in time rows are. A row lies in the slices `first` … `last`; what spans several of them is
// one sample, of which the beginning and the length are known.

// Time of the row before CPU time was credited to it or moved away.
function own_wall(rows, row) {
  return Math.max(0, rows.wall[row] - rows.credited[row]);
}

// The row's beginning and end in slices, as fractions.
function span_of(profile, row) {
  const { rows, slice_ns } = profile;
  const begin = rows.first[row] + (slice_ns > 0 ? rows.offset[row] / slice_ns : 0);
  const length = slice_ns > 0 ? own_wall(rows, row) / slice_ns : 0;
  return [begin, Math.min(begin + length, rows.last[row] + 1)];
}

// Calls `visit(slice, share)`; the shares add up to 1.
export function for_each_slice(profile, row, visit) {
  const { rows } = profile;
  const first = rows.first[row];
  const last = rows.last[row];
  const [begin, end] = span_of(profile, row);
  if (first === last || end <= begin) return visit(first, 1);
  for (let slice = first; slice <= last; ++slice) {
    visit(slice, Math.max(0, Math.min(end, slice + 1) - Math.max(begin, slice)) / (end - begin));
  }
}

// The part of the row's time within a range of slices.
export function share_in(profile, row, [from, to]) {
  const { rows } = profile;
  const first = rows.first[row];
  const last = rows.last[row];
  if (from <= first && last + 1 <= to) return 1;
  // Where in its slice a row of several samples is, is not known.
  let [begin, end] = first === last ? [first, first + 1] : span_of(profile, row);
  if (end <= begin) end = begin + 1;
  return Math.max(0, Math.min(end, to) - Math.max(begin, from)) / (end - begin);
}

// [begin, end) of a row in nanoseconds; rows of several samples begin with the first of them.
export function times_of(profile, row) {
  const begin = profile.rows.first[row] * profile.slice_ns + profile.rows.offset[row];
  return [begin, begin + own_wall(profile.rows, row)];
}

// What the thread did in the row: CPU, run queue, blocked, not known.
export function parts_of(rows, row) {
  const cpu = Math.max(0, rows.cpu[row] - rows.credited[row]);
  const rest = own_wall(rows, row) - cpu - rows.runqueue[row] - rows.blocked[row];
  return [cpu, rows.runqueue[row], rows.blocked[row], Math.max(0, rest)];
}
