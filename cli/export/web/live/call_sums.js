// Durations of traced calls: buckets of the stream (common/core/duration_buckets.h), quantiles, ways.

const SUB_BUCKETS = 32;  // of a doubling
const BARS = [16, 8];  // of a doubling: finer ones would be narrower than buckets
const MAX_FINE_BARS = 80;

const TRACED_TIME = 1920;  // instead of a bucket: for how many nanoseconds calls were traced

// The smallest duration of a bucket, in nanoseconds.
export function bucket_begin(bucket) {
  if (bucket < 2 * SUB_BUCKETS) return bucket;
  return (bucket % SUB_BUCKETS + SUB_BUCKETS) * 2 ** (Math.floor(bucket / SUB_BUCKETS) - 1);
}

export function bucket_middle(bucket) {
  return (bucket_begin(bucket) + bucket_begin(bucket + 1)) / 2;
}

// Where a duration is on the axis: doublings of a nanosecond.
export function place_of_duration(nanoseconds) {
  return Math.log2(Math.max(1, nanoseconds));
}

// Calls of a function in the window: [{ bucket, calls }] from the fastest, all calls, and the time in
// which they were traced.
export function sum_calls(model, window, func) {
  const rows = model.call_rows;
  const by_bucket = new Map();
  let [calls, traced] = [0, 0];
  for (let row = 0; row < rows.count; ++row) {
    if (rows.function[row] !== func) continue;
    const count = rows.calls[row] * window.share(rows.second[row], 0);
    if (count === 0) continue;
    if (rows.bucket[row] === TRACED_TIME) {
      traced += count;
      continue;
    }
    calls += count;
    by_bucket.set(rows.bucket[row], (by_bucket.get(rows.bucket[row]) ?? 0) + count);
  }
  const buckets = [...by_bucket].map(([bucket, count]) => ({ bucket, calls: count })).sort((a, b) => a.bucket - b.bucket);
  return { buckets, calls, traced };
}

// Calls `visit(at, place on the axis, calls)` for those of a function in the seconds of the axis.
export function for_each_call(model, { first, count }, func, visit) {
  const rows = model.call_rows;
  for (let row = 0; row < rows.count; ++row) {
    const at = rows.second[row] - first;
    if (rows.function[row] !== func || rows.bucket[row] === TRACED_TIME || at < 0 || at >= count) continue;
    visit(at, place_of_duration(bucket_begin(rows.bucket[row])), rows.calls[row]);
  }
}

// The duration that `share` of the calls do not exceed, or null.
export function quantile_of({ buckets, calls }, share) {
  let seen = 0;
  for (const { bucket, calls: count } of buckets) {
    seen += count;
    if (seen >= share * calls) return bucket_middle(bucket);
  }
  return null;
}

// { calls, time } of those whose duration is chosen, and of all.
export function count_chosen({ buckets }, is_chosen) {
  const [chosen, all] = [{ calls: 0, time: 0 }, { calls: 0, time: 0 }];
  for (const { bucket, calls } of buckets) {
    const middle = bucket_middle(bucket);
    for (const sum of is_chosen(middle) ? [chosen, all] : [all]) {
      sum.calls += calls;
      sum.time += calls * middle;
    }
  }
  return { chosen, all };
}

const place_of_bucket = (bucket) => place_of_duration(bucket_middle(bucket));

// The bars that hold all calls of these sums, with one more at each end: `count` of 1/`parts` of a
// doubling, from `first` / `parts` on.
export function make_scale(...all) {
  const used = all.filter(({ buckets }) => buckets.length > 0);
  if (used.length === 0) return { first: 0, count: 0, parts: 1 };
  const least = Math.min(...used.map(({ buckets }) => place_of_bucket(buckets[0].bucket)));
  const most = Math.max(...used.map(({ buckets }) => place_of_bucket(buckets.at(-1).bucket)));
  const parts = (most - least) * BARS[0] <= MAX_FINE_BARS ? BARS[0] : BARS[1];
  const first = Math.floor(least * parts) - 1;
  return { first, count: Math.floor(most * parts) - first + 2, parts };
}

// Calls per bar.
export function bars_of({ buckets }, { first, count, parts }) {
  const bars = new Array(count).fill(0);
  for (const { bucket, calls } of buckets) bars[Math.floor(place_of_bucket(bucket) * parts) - first] += calls;
  return bars;
}

// Where a duration is on a scale, in bars, and back.
export function bar_of_duration(nanoseconds, { first, parts }) {
  return place_of_duration(nanoseconds) * parts - first;
}

export function duration_of_bar(bar, { first, parts }) {
  return 2 ** ((first + bar) / parts);
}

// Round durations on a scale: [{ duration, bar }], `least_bars` apart.
export function marks_of(scale, least_bars) {
  const marks = [];
  let power = 10 ** Math.floor(Math.log10(duration_of_bar(0, scale)));
  for (; power <= duration_of_bar(scale.count, scale); power *= 10) {
    for (const duration of [power, 2 * power, 5 * power]) {
      const bar = bar_of_duration(duration, scale);
      if (duration < 1 || bar < 0 || bar > scale.count || bar - (marks.at(-1)?.bar ?? -Infinity) < least_bars) continue;
      marks.push({ duration, bar });
    }
  }
  return marks;
}

// The bars as a density (Gaussian kernel on the logarithm, Silverman's bandwidth), in calls per bar.
export function smooth(bars, calls) {
  const at_share = (share) => {
    let seen = 0;
    return bars.findIndex((count) => (seen += count) >= share * calls);
  };
  const mean = bars.reduce((sum, count, bar) => sum + count * bar, 0) / calls;
  const deviation = Math.sqrt(bars.reduce((sum, count, bar) => sum + count * (bar - mean) ** 2, 0) / calls);
  const spread = (at_share(0.75) - at_share(0.25)) / 1.34;
  const width = Math.max(0.6, 0.9 * (spread > 0 ? Math.min(deviation, spread) : deviation) * calls ** -0.2);
  return bars.map((_, at) => bars.reduce((sum, count, bar) =>
    sum + count * Math.exp(-0.5 * ((at - bar) / width) ** 2) / (width * Math.sqrt(2 * Math.PI)), 0));
}
