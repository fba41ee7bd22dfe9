// What the page is narrowed to, as buttons that take it back.

import { element, format_time } from '../data/text.js';

export function show_chips(profile, selection, transforms, changed) {
  const chips = [];
  const add_chip = (text, clear) => {
    const chip = element('button', `${text} ✕`, { type: 'button', title: 'Remove this filter' });
    chip.addEventListener('click', () => {
      clear();
      changed();
    });
    chips.push(chip);
  };
  const { threads, range } = selection;
  if (threads.size > 0) {
    const [first] = threads;
    add_chip(threads.size === 1 ? `only ${profile.threads.name[first]} ${profile.threads.tid[first]}` : `${threads.size} threads`,
             () => threads.clear());
  }
  if (range) {
    add_chip(range.map((slice) => format_time(slice * profile.slice_ns)).join(' – '), () => { selection.range = null; });
  }
  if (transforms.focus !== null) {
    add_chip(`from ${profile.functions.name[transforms.focus]}`, () => { transforms.focus = null; });
  }
  for (const [set, text] of [['hidden', 'without'], ['dropped', 'no stacks with'], ['folded', 'one frame of']]) {
    for (const func of transforms[set]) {
      add_chip(`${text} ${profile.functions.name[func]}`, () => transforms[set].delete(func));
    }
  }
  document.getElementById('filters').replaceChildren(...chips);
}
