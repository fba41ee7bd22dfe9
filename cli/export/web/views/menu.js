// The menu of a frame or function.

import { element } from '../data/text.js';

export class Menu {
  constructor() {
    this.box = document.getElementById('menu');
    this.box.addEventListener('keydown', (event) => this.on_key(event));
    document.addEventListener('pointerdown', (event) => {
      if (!this.box.contains(event.target)) this.close(false);
    });
    addEventListener('blur', () => this.close(false));
  }

  get is_open() {
    return !this.box.hidden;
  }

  // `items`: [{ label, act }]. Takes the focus until it is closed.
  open(x, y, heading, items) {
    this.before = document.activeElement;
    this.box.replaceChildren(element('b', heading), ...items.map(({ label, act }) => {
      const button = element('button', label, { type: 'button', role: 'menuitem' });
      button.addEventListener('click', () => {
        this.close(true);
        act();
      });
      return button;
    }));
    this.box.hidden = false;
    const { offsetWidth: width, offsetHeight: height } = this.box;
    this.box.style.left = `${Math.max(4, Math.min(x, innerWidth - width - 4))}px`;
    this.box.style.top = `${Math.max(4, Math.min(y, innerHeight - height - 4))}px`;
    this.box.querySelector('button').focus();
  }

  close(returns) {
    if (!this.is_open) return;
    this.box.hidden = true;
    if (returns) this.before?.focus();
  }

  on_key(event) {
    const items = [...this.box.querySelectorAll('button')];
    const at = items.indexOf(document.activeElement);
    const moves = {
      ArrowDown: () => items[(at + 1) % items.length].focus(),
      ArrowUp: () => items[(at + items.length - 1) % items.length].focus(),
      Home: () => items[0].focus(),
      End: () => items.at(-1).focus(),
      Escape: () => this.close(true),
      Tab: () => this.close(true),
    };
    event.stopPropagation();
    if (!moves[event.key]) return;
    event.preventDefault();
    moves[event.key]();
  }
}

// Pages from files may have no clipboard.
export function copy_text(text) {
  const by_hand = () => {
    const area = element('textarea', text, { class: 'unseen' });
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  };
  if (navigator.clipboard) navigator.clipboard.writeText(text).catch(by_hand);
  else by_hand();
}
