// The fields above the page: what counts, and how it is drawn.

import { has_languages } from '../data/frame_kinds.js';
import { STATES, WEIGHTS } from '../data/profile.js';
import { element } from '../data/text.js';

const part = (id) => document.getElementById(id);

export class Toolbar {
  // `changed()`: what is shown; `recoloured()`: only how.
  constructor(profile, selection, { changed, recoloured }) {
    this.selection = selection;
    this.changed = changed;
    const has_weight = ({ key }) => key === selection.weight || profile.rows[key].some((value) => value !== 0);
    part('weight').replaceChildren(...WEIGHTS.filter(has_weight).map(({ key, label }) => element('option', label, { value: key })));
    part('inverted').checked = profile.inverted;
    part('kinds-field').hidden = !has_languages(profile);
    this.make_states(profile);
    if (profile.threads.base) part('colouring').closest('label').hidden = true;
    this.show();
    part('toolbar').addEventListener('submit', (event) => event.preventDefault());
    part('weight').addEventListener('change', (event) => this.set_weight(event.target.value));
    part('inverted').addEventListener('change', changed);
    part('kinds').addEventListener('change', changed);
    part('colouring').addEventListener('change', recoloured);
    part('fold').addEventListener('click', () => {
      const is_open = part('toolbar').classList.toggle('open');
      part('fold').setAttribute('aria-expanded', String(is_open));
    });
  }

  make_states(profile) {
    const has_unknown = profile.rows.state.includes(STATES.findIndex(({ key }) => key === 'unknown'));
    this.boxes = STATES.map(({ key, label }, state) => {
      const field = element('label');
      const box = element('input', '', { type: 'checkbox', value: key });
      box.addEventListener('change', () => {
        this.selection.states[state] = box.checked;
        this.changed();
      });
      const swatch = element('i');
      swatch.style.background = `var(--${key})`;
      field.append(box, swatch, element('span', label));
      if (key !== 'unknown' || has_unknown) part('states').append(field);
      return box;
    });
  }

  // The fields say what the selection is.
  show() {
    part('weight').value = this.selection.weight;
    this.boxes.forEach((box, state) => { box.checked = this.selection.states[state]; });
  }

  get inverted() {
    return part('inverted').checked;
  }
  get kinds() {
    return part('kinds').value;
  }
  get colouring() {
    return part('colouring').value;
  }
  has_weight(key) {
    return [...part('weight').options].some(({ value }) => value === key);
  }

  set_weight(key) {
    this.selection.weight = key;
    this.show();
    this.changed();
  }
}
