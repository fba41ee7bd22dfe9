// The tables beside the flame graph: callers and callees and lines of one function, locks.

import { address_text, find_addresses, objdump_of } from '../data/addresses.js';
import { find_locks } from '../data/locks.js';
import { find_lines, find_neighbours, NO_CALLER } from '../data/neighbours.js';
import { base_name, element, format_percent, format_time, format_weight } from '../data/text.js';
import { copy_text } from './menu.js';
import { deadlock_lines, lock_text, make_table } from './table.js';

export class Panes {
  // `chosen(func)` is called when a person picks a function.
  constructor(profile, chosen) {
    Object.assign(this, { profile, chosen });
    document.querySelector('#panes [value=locks]').hidden = profile.locks.length === 0;
  }

  // The pane of `func` (or null) with what is selected now. `view`: { shown, sums, selection }.
  show(pane, func, view) {
    if (pane === 'callers') this.show_callers(func, view);
    if (pane === 'lines') this.show_lines(func, view);
    if (pane === 'locks') this.show_locks(view);
  }

  name(func) {
    return func === NO_CALLER ? 'nobody: stacks begin here' : this.profile.functions.name[func];
  }

  say(pane, func, text) {
    document.getElementById(pane).replaceChildren(
      func === null ? element('p', 'Choose a function: in the graph, or in the table of functions.')
                    : element('h3', this.profile.functions.name[func]), ...text === '' ? [] : [element('p', text)]);
  }

  show_callers(func, { shown, sums, selection }) {
    if (func === null) return this.say('callers', null, '');
    const { weight } = selection;
    const found = find_neighbours(shown, sums, func);
    const whole = sums.self.reduce((all, own) => all + own, 0);
    this.say('callers', func, `total ${format_weight(found.total, weight)} ${format_percent(found.total, whole)} · ` +
                              `self ${format_weight(found.self, weight)} ${format_percent(found.self, whole)}`);
    const rows = (entries) => entries.map(({ key, weight: part }) =>
      [part / found.total, [format_percent(part, found.total), format_weight(part, weight)], this.name(key),
       ...key === NO_CALLER ? [null] : [() => this.chosen(key), key]]);
    document.getElementById('callers').append(
      make_table(['Share', 'Weight', 'Called by'], rows(found.callers)),
      make_table(['Share', 'Weight', 'Calls'], [
        ...found.self > 0 ? [[found.self / found.total, [format_percent(found.self, found.total), format_weight(found.self, weight)], '(self)', null]] : [],
        ...rows(found.callees)]));
  }

  show_lines(func, { shown, selection, sums }) {
    if (func === null) return this.say('lines', null, '');
    const { functions, sources } = this.profile;
    const file = functions.file[func];
    const whole = sums.self.reduce((all, own) => all + own, 0);
    this.say('lines', func, file === '' ? 'No source file is known: it has no debug information.' : file);
    const texts = sources[file];
    const bars = ({ self, total }) => [self / whole, total / whole];
    const shares = ({ self, total }) => [format_percent(self, whole), format_percent(total, whole)];
    const found = file === '' ? [] : find_lines(shown, selection, func);
    if (texts) {
      const table = make_table(['Self', 'Total', 'Line', 'Source'], found.map((each) =>
        [bars(each), [...shares(each), each.line === 0 ? '?' : String(each.line)], texts[each.line] ?? '', null]));
      table.classList.add('source');
      document.getElementById('lines').append(table);
    } else if (file !== '') {
      document.getElementById('lines').append(make_table(['Self', 'Total', 'Line'], found.map((each) =>
        [bars(each), shares(each), each.line === 0 ? 'not known' : `${base_name(file)}:${each.line}`, null])));
    }
    this.show_addresses(func, shown, selection, whole);
  }

  show_addresses(func, shown, selection, whole) {
    const { functions, modules, module_names } = this.profile;
    const module = functions.module[func];
    const found = module === null ? [] : find_addresses(shown, selection, func);
    if (found.length === 0) return;
    document.getElementById('lines').append(
      element('p', `Addresses in ${module_names[module]}; a click copies a command that shows the instructions.`),
      make_table(['Self', 'Address', 'Line'], found.map(({ address, line, weight }) =>
        [weight / whole, [format_percent(weight, whole), address_text(address)],
         line === 0 ? 'not known' : `${base_name(functions.file[func])}:${line}`,
         () => copy_text(objdump_of(modules[module], found, address))])));
  }

  show_locks({ shown, selection }) {
    const locks = find_locks(shown, selection);
    const whole = locks.reduce((all, { waited_ns }) => all + waited_ns, 0);
    const part = selection.range || selection.threads.size > 0 ? 'in the selected time and threads' : 'in the whole recording';
    const find = (name) => this.profile.functions.name.indexOf(name);
    document.getElementById('locks').replaceChildren(
      ...deadlock_lines(this.profile.deadlocks),
      element('p', locks.length === 0 ? `No thread waited for a lock ${part}.` : `Threads waited ${format_time(whole)} for locks ${part}.`),
      make_table(['Share', 'Time', 'Wanted, and what its holder was in'], locks.map(({ wanted, lock, holder, waited_ns }) => {
        const text = lock_text(wanted, holder);
        const func = find(holder) >= 0 ? find(holder) : find(lock);
        return [waited_ns / whole, [format_percent(waited_ns, whole), format_time(waited_ns)], text,
                ...func >= 0 ? [() => this.chosen(func), func] : [null]];
      })));
  }
}
