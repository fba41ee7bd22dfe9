// The keys of the page that do not belong to one view.

const VIEW_KEYS = { g: 'graph', c: 'chart', t: 'tree' };
const PANE_KEYS = { f: 'functions', n: 'callers', l: 'lines', k: 'locks' };

function on_page_key(page, event) {
  const typing = event.target instanceof HTMLInputElement && event.target.type === 'search';
  const help = document.getElementById('help');
  if (help.open || page.menu.is_open || event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === 'Escape') {
    event.preventDefault();
    if (typing) document.getElementById('stage').focus();
    return page.step_back();
  }
  if (typing || event.target instanceof HTMLSelectElement) return;
  const weight = document.getElementById('weight').options[Number(event.key) - 1];
  if (event.key === '/') document.getElementById('search').focus();
  else if (event.key === 'i') document.getElementById('inverted').click();
  else if (event.key === '?') help.showModal();
  else if (VIEW_KEYS[event.key]) show_view_by_key(page, VIEW_KEYS[event.key]);
  else if (PANE_KEYS[event.key]) page.pane_tabs.choose(PANE_KEYS[event.key]);
  else if (event.key === 'm' || event.key === 'ContextMenu') open_menu_by_key(page);
  else if (event.key === 'r') page.select_seen_time();
  else if (weight) page.toolbar.set_weight(weight.value);
  else return;
  event.preventDefault();
}

// The keys of a view work at once.
function show_view_by_key(page, view) {
  page.view_tabs.choose(view);
  if (view === 'tree') page.tree_table.focus();
  else document.getElementById(page.view_tabs.parts[view]).focus();
}

// Buttons that stand for functions have their menus.
function open_menu_of_button(page, button, x, y) {
  page.open_menu(Number(button.dataset.func), null, x, y);
}

function open_menu_by_key(page) {
  const button = document.activeElement.closest('[data-func]');
  if (button) {
    const area = button.getBoundingClientRect();
    return open_menu_of_button(page, button, area.left, area.bottom);
  }
  const view = page.view_tabs.current;
  if (view === 'chart') {
    const { selected, canvas } = page.chart;
    const area = canvas.getBoundingClientRect();
    if (selected) page.open_menu(selected.func, null, area.left + 40, area.top + 40);
    return;
  }
  const node = view === 'tree' ? page.tree_table.selected : page.flame.selected;
  if (node === 0) return;
  const row = view === 'tree' ? page.tree_table.row(node)?.getBoundingClientRect() : null;
  const [x, y] = row ? [row.left + 160, row.bottom] : page.flame.place_of(node);
  page.open_menu(page.tree.func[node], node, x, y);
}

export function listen_to_keys(page) {
  document.addEventListener('keydown', (event) => on_page_key(page, event));
  document.addEventListener('contextmenu', (event) => {
    const button = event.target.closest('[data-func]');
    if (!button) return;
    event.preventDefault();
    open_menu_of_button(page, button, event.clientX, event.clientY);
  });
}
