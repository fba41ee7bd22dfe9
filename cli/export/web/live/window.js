// Which part of time counts, and how much. Times are seconds since the recording began.

import { BINS, NO_BIN } from './model.js';

export const WINDOWS = [
  { key: 'last10', label: 'last 10 s', seconds: 10 },
  { key: 'last30', label: 'last 30 s', seconds: 30 },
  { key: 'last60', label: 'last 60 s', seconds: 60 },
  { key: 'fading', label: 'fading (10 s)', fading: 10 },
  { key: 'all', label: 'everything' },
];

// Where in its second the middle of a row is; rows of all of a second are asked for by their share.
export function moment_of(second, bin) {
  return second + (bin + 0.5) / BINS;
}

export class TimeWindow {
  // `range`: [from, to), which counts instead of the window that was chosen; or null.
  constructor(key, range, now) {
    const chosen = WINDOWS.find((window) => window.key === key);
    this.now = now;
    this.has_older = !range && chosen.key === 'all';
    this.fading = range ? 0 : chosen.fading ?? 0;
    [this.from, this.to] = range ?? [chosen.seconds ? Math.max(0, now - chosen.seconds) : 0, now];
    // Of how many seconds the sums are.
    this.covered = this.fading > 0 ? this.fading * (1 - Math.exp(-now / this.fading)) : this.to - this.from;
  }

  // What a row counts for.
  share(second, bin) {
    const { from, to, now } = this;
    const end = Math.min(second + 1, now);
    if (second >= to || end <= from) return 0;
    if (this.fading > 0) return Math.exp((Math.min(second + 0.5, now) - now) / this.fading);
    if (second >= from && end <= to) return 1;
    if (bin !== NO_BIN) {
      const moment = moment_of(second, bin);
      return moment >= from && moment < to ? 1 : 0;
    }
    return (Math.min(end, to) - Math.max(second, from)) / (end - second);
  }
}
