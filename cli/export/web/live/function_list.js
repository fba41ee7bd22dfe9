// The functions of the window: self and total weight, and of that by which they are sorted the change
// since a baseline and the share in each second of the last minute.

import { element, format_percent, format_signed, format_weight } from '../data/text.js';
import { css_colour } from '../views/colours.js';

const FUNCTION_ROWS = 60;

// Replaces what is in a box; what had the focus has it afterwards.
export function refill(box, children) {
  const key = box.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  box.replaceChildren(...children);
  if (key !== undefined) box.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus();
}

function draw_trend(canvas, trend) {
  const scale = devicePixelRatio || 1;
  const [width, height] = [64, 16];
  canvas.width = width * scale;
  canvas.height = height * scale;
  const context = canvas.getContext('2d');
  context.scale(scale, scale);
  const most = Math.max(0.01, ...trend);
  context.fillStyle = css_colour('accent');
  trend.forEach((share, at) => {
    const tall = share / most * (height - 1);
    context.fillRect(at * width / trend.length, height - tall, Math.max(0.8, width / trend.length), tall);
  });
}

export class FunctionList {
  // `events`: picked(func), menu(func, x, y), sorted().
  constructor(box, events) {
    this.events = events;
    this.body = box.querySelector('tbody');
    this.count = document.getElementById('function-count');
    this.order = 'self';
    this.heads = [...box.querySelectorAll('th button')];
    this.change_head = box.querySelector('th.change');
    for (const button of this.heads) {
      button.addEventListener('click', () => {
        this.order = button.value;
        events.sorted();
      });
    }
  }

  // The functions that are shown, heaviest first, or those that have changed most. `sums`: of
  // sum_functions; `matched`: per function, or null.
  choose(sums, matched, by_change) {
    const values = by_change ? this.changes_of(sums) : sums[this.order];
    const all = [];
    for (let func = 0; func < values.length; ++func) {
      if ((sums.total[func] > 0 || sums.base_total[func] > 0) && (!matched || matched[func] === 1)) all.push(func);
    }
    all.sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]) || sums.total[b] - sums.total[a] || a - b);
    this.count.textContent = all.length > FUNCTION_ROWS ? `the first ${FUNCTION_ROWS} of ${all.length}` : String(all.length);
    return all.slice(0, FUNCTION_ROWS);
  }

  changes_of(sums) {
    const base = sums[`base_${this.order}`];
    return sums[this.order].map((value, func) => value - base[func]);
  }

  // `trends`: of find_trends, for `functions`; `base_whole`: null without a baseline;
  // `compares_calls`: the baseline is of other calls.
  show(model, sums, functions, trends, view) {
    for (const button of this.heads) {
      if (button.value === this.order) button.closest('th').setAttribute('aria-sort', 'descending');
      else button.closest('th').removeAttribute('aria-sort');
    }
    this.change_head.hidden = view.base_whole === null;
    refill(this.body, functions.map((func, place) => this.make_row(model, sums, func, trends[place], view)));
  }

  make_row(model, sums, func, trend, { whole, base_whole, weight, compares_calls }) {
    const row = element('tr');
    const number = (value, text) => {
      const cell = element('td', text, { class: 'number', title: format_weight(value, weight) });
      cell.style.setProperty('--share', `${whole > 0 ? Math.min(100, 100 * value / whole) : 0}%`);
      return cell;
    };
    row.append(number(sums.self[func], format_percent(sums.self[func], whole)), number(sums.total[func], format_percent(sums.total[func], whole)));
    if (compares_calls) {
      row.append(element('td', format_signed(this.changes_of(sums)[func], weight), { class: 'number change', title: `${this.order} weight in a slow call, less that in another one` }));
    } else if (base_whole !== null) {
      const points = 100 * (sums[this.order][func] / (whole || 1) - sums[`base_${this.order}`][func] / (base_whole || 1));
      row.append(element('td', `${points > 0 ? '+' : points < 0 ? '−' : '±'}${Math.abs(points).toFixed(1)}`, {
        class: 'number change', title: `change of the ${this.order} share since the baseline, in per cent of the whole` }));
    }
    const picture = element('canvas', '', { class: 'trend', role: 'img', 'aria-label': `${this.order} share in the last ${trend.length} seconds` });
    draw_trend(picture, trend);
    const trend_cell = element('td', '', { class: 'trend' });
    trend_cell.append(picture);
    const name = model.functions.name[func];
    const button = element('button', name, { type: 'button', title: name, 'data-key': func });
    button.addEventListener('click', () => this.events.picked(func));
    button.addEventListener('contextmenu', (event) => {
      event.preventDefault();
      this.events.menu(func, event.clientX, event.clientY);
    });
    const cell = element('td');
    cell.append(button);
    row.append(trend_cell, cell);
    return row;
  }
}
