// What is said about a frame: its name, its place, how much it weighs.

import { STATES } from '../data/profile.js';
import { base_name, element, format_percent, format_signed, format_time, format_weight } from '../data/text.js';

// "libc.so.6 · poll.c:29"
export function place_of_function(profile, func) {
  const { functions, module_names } = profile;
  const module = functions.module[func] === null ? '' : module_names[functions.module[func]];
  const line = functions.line[func] ? `:${functions.line[func]}` : '';
  const file = functions.file[func] === '' ? '' : `${base_name(functions.file[func])}${line}`;
  return [module, file].filter((part) => part !== '').join(' · ');
}

// [what, how much, share] of a node. `sides`: what is compared, if there is a base.
export function facts_of_node(tree, node, weight, inverted, sides = ['now', 'before', 'change']) {
  const whole = tree.value[0];
  if (tree.base) {
    return [[sides[0], format_weight(tree.value[node], weight), format_percent(tree.value[node], whole)],
            [sides[1], format_weight(tree.base[node], weight), format_percent(tree.base[node], tree.base[0])],
            [sides[2], format_signed(tree.value[node] - tree.base[node], weight), '']];
  }
  const facts = [['total', format_weight(tree.value[node], weight), format_percent(tree.value[node], whole)]];
  if (tree.self[node] > 0) {
    facts.push([inverted ? 'stacks end here' : 'self', format_weight(tree.self[node], weight), format_percent(tree.self[node], whole)]);
  }
  STATES.forEach(({ key }, state) => {
    const value = tree.states[state][node];
    if (value > 0 && value < tree.value[node] * 0.9999) {
      facts.push([key, format_weight(value, weight), format_percent(value, tree.value[node])]);
    }
  });
  return facts;
}

export function facts_of_box({ begin, end }) {
  return [['from', format_time(begin), ''], ['for', format_time(end - begin), '']];
}

export function show_tooltip(name, place, facts, x, y) {
  const tip = document.getElementById('tooltip');
  const table = element('table');
  for (const fact of facts) {
    const row = element('tr');
    row.append(...fact.map((text) => element('td', text)));
    table.append(row);
  }
  tip.replaceChildren(element('b', name), element('span', place, { class: 'place' }), table);
  tip.hidden = false;
  const { offsetWidth: width, offsetHeight: height } = tip;
  tip.style.left = `${Math.max(8, Math.min(x + 14, innerWidth - width - 8))}px`;
  tip.style.top = `${y + 18 + height > innerHeight ? Math.max(8, y - height - 10) : y + 18}px`;
}

export function hide_tooltip() {
  document.getElementById('tooltip').hidden = true;
}

export function describe(name, place, facts) {
  const texts = facts.map((fact) => fact.filter((text) => text !== '').join(' '));
  document.getElementById('selected').replaceChildren(element('b', name), ` ${place} — ${texts.join(' · ')}`);
  document.getElementById('spoken').textContent = `${name}, ${texts.join(', ')}`;
}
