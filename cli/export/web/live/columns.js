// Typed columns of one length that grow at the end.

export class Columns {
  // `types`: { name: constructor of a typed array }.
  constructor(types) {
    this.names = Object.keys(types);
    this.capacity = 1024;
    this.count = 0;
    for (const name of this.names) this[name] = new types[name](this.capacity);
  }

  // Room for `more` rows; the caller fills them and then raises `count`.
  reserve(more) {
    if (this.count + more <= this.capacity) return;
    while (this.capacity < this.count + more) this.capacity *= 2;
    for (const name of this.names) {
      const grown = new this[name].constructor(this.capacity);
      grown.set(this[name].subarray(0, this.count));
      this[name] = grown;
    }
  }

  drop_first(rows) {
    for (const name of this.names) this[name].copyWithin(0, rows, this.count);
    this.count -= rows;
  }

  clear() {
    this.count = 0;
  }

  column(name) {
    return this[name].subarray(0, this.count);
  }
}
