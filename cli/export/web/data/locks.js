// What threads waited for that another one held, in the time and the threads that are selected.

import { STATES } from './profile.js';
import { for_each_selected } from './selection.js';

// [{ wanted, lock, holder, waited_ns }], longest first. States do not matter: who waits is blocked.
export function find_locks(profile, selection) {
  const waited = profile.locks.map(() => 0);
  if (profile.locks.length > 0) {
    for_each_selected(profile, { ...selection, states: STATES.map(() => true) }, 'blocked', (row, weight) => {
      const lock = profile.rows.lock[row];
      if (lock >= 0) waited[lock] += weight;
    });
  }
  return profile.locks.map((lock, index) => ({ ...lock, waited_ns: waited[index] }))
    .filter(({ waited_ns }) => waited_ns > 0).sort((a, b) => b.waited_ns - a.waited_ns);
}
