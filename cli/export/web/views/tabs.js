// Buttons of which one is chosen, each with the part of the page that it shows.

export class Tabs {
  // `parts`: the id of the part of each button, by the button's value.
  constructor(id, parts, changed) {
    Object.assign(this, { parts, changed });
    this.buttons = [...document.querySelectorAll(`#${id} button`)];
    this.mark(this.buttons[0].value);
    for (const button of this.buttons) {
      button.addEventListener('click', () => this.choose(button.value));
      button.addEventListener('keydown', (event) => this.on_key(event, button));
    }
  }

  mark(value) {
    this.current = value;
    for (const button of this.buttons) {
      const is_current = button.value === value;
      button.setAttribute('aria-selected', String(is_current));
      button.tabIndex = is_current ? 0 : -1;
      button.setAttribute('aria-controls', this.parts[button.value]);
      document.getElementById(this.parts[button.value]).hidden = !is_current;
    }
  }

  choose(value) {
    if (!this.parts[value] || value === this.current) return;
    this.mark(value);
    this.changed();
  }

  on_key(event, button) {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const seen = this.buttons.filter(({ hidden }) => !hidden);
    const next = seen[(seen.indexOf(button) + step + seen.length) % seen.length];
    next.focus();
    this.choose(next.value);
  }
}
