// What the menu of a frame or function offers.

import { find_addresses, objdump_of } from './data/addresses.js';
import { copy_text } from './views/menu.js';

// The functions from a node outwards, one a line.
function stack_of(page, node) {
  const names = [];
  for (let at = node; at > 0; at = page.tree.parent[at]) names.push(page.name_of(at));
  return names.join('\n');
}

// For the instructions that most time was spent in; none if no address is known.
function objdump_items({ profile, selection }, func) {
  const module = profile.functions.module[func];
  const addresses = module === null ? [] : find_addresses(profile, selection, func);
  if (addresses.length === 0) return [];
  const command = objdump_of(profile.modules[module], addresses, addresses[0].address);
  return [{ label: 'Copy objdump command', act: () => copy_text(command) }];
}

// `node`: a frame of the tree, or null for a function of a table. See Menu.open().
export function menu_items(page, func, node) {
  const { transforms, profile } = page;
  const name = profile.functions.name[func];
  const then_update = (change) => () => {
    change();
    page.update();
  };
  const show_pane = (pane) => () => {
    page.func = func;
    page.pane_tabs.choose(pane);
    page.show_pane();
  };
  return [
    ...node === null ? [{ label: 'Search for it', act: () => page.pick(func) }]
                     : [{ label: 'Zoom in', act: () => page.zoom_in(node) }],
    { label: 'Focus: stacks begin with it', act: then_update(() => { transforms.focus = func; }) },
    { label: 'Hide it: its callers get its time', act: then_update(() => transforms.hidden.add(func)) },
    { label: 'Drop stacks that it is in', act: then_update(() => transforms.dropped.add(func)) },
    { label: 'Fold its recursion', act: then_update(() => transforms.folded.add(func)) },
    { label: 'Callers and callees', act: show_pane('callers') },
    { label: 'Lines', act: show_pane('lines') },
    { label: 'Copy name', act: () => copy_text(name) },
    ...node === null ? [] : [{ label: 'Copy stack', act: () => copy_text(stack_of(page, node)) }],
    ...objdump_items(page, func),
  ];
}
