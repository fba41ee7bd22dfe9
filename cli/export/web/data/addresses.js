// Which instructions of a function were running: addresses as its ELF file says them.

import { for_each_selected } from './selection.js';

// What lies farther apart is not one piece of code.
const SAME_CODE = 4096;

// [{ address, line, weight }] of where stacks end in `func`, most weight first.
export function find_addresses(profile, selection, func) {
  const { rows, leaves, leaf_node, line_node, line_number, all_functions } = profile;
  const found = new Map();
  for_each_selected(profile, selection, selection.weight, (row, weight) => {
    const leaf = rows.leaf[row];
    const address = leaves.address[leaf];
    const node = leaf_node[leaf];
    if (address === 0 || all_functions[line_node[node]] !== func || profile.threads.base?.[rows.thread[row]]) return;
    const entry = found.get(address) ?? { address, line: line_number[node], weight: 0 };
    entry.weight += weight;
    found.set(address, entry);
  });
  return [...found.values()].sort((a, b) => b.weight - a.weight || a.address - b.address);
}

export function address_text(address) {
  return `0x${address.toString(16)}`;
}

// A word of a shell's command line.
function quoted(text) {
  return /^[\w./+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

// A command that disassembles the code around one of the addresses. All of them are of instructions'
// beginnings, so that it begins at one, too.
export function objdump_of(path, addresses, around) {
  const near = addresses.map(({ address }) => address).sort((a, b) => a - b);
  let first = near.indexOf(around);
  let last = first;
  while (first > 0 && near[first] - near[first - 1] < SAME_CODE) --first;
  while (last + 1 < near.length && near[last + 1] - near[last] < SAME_CODE) ++last;
  return `objdump -dlC --start-address=${address_text(near[first])} --stop-address=${address_text(near[last] + 32)} ${quoted(path)}`;
}
