// Blocks in one known place. usage: node_app.js SCENE [tell]
// Prints "ready" before it blocks; with `tell`, before that, a line for each frame of its stack as
// V8 itself shows it: frame, function, file, line of the function, line; tab-separated.
'use strict';
const fs = require('fs');
const cell = new Int32Array(new SharedArrayBuffer(4));
const tells = process.argv.includes('tell');

function tell() {
  if (!tells) return;
  const text = (value) => (value === null || value === undefined ? '' : String(value));
  Error.stackTraceLimit = Infinity;
  Error.prepareStackTrace = (error, sites) => sites;
  const sites = new Error().stack.slice(1);
  Error.prepareStackTrace = undefined;
  for (const site of sites) {
    if (site.isAsync()) continue;
    const fields = [site.getFunctionName(), site.getFileName(), site.getEnclosingLineNumber(), site.getLineNumber()];
    fs.writeSync(1, ['frame', ...fields.map(text)].join('\t') + '\n');
  }
}

function block() { tell(); fs.writeSync(1, 'ready\n'); Atomics.wait(cell, 0, 0); }

class Shape {
  #hidden() {
    return Shape.make();
  }
  constructor(count) {
    this.count = count;
    this.draw(
      count);
  }
  draw(count) {
    if (count > 0) return this.draw(count - 1);
    return this.side;
  }
  get side() {
    return this.#hidden();
  }
  static make() { block(); }
}

class Square extends Shape {
  field = 1;
  constructor() {
    super(2);
  }
}

function* numbers() {
  yield 1;
  const local = () => {
    block();
  };
  yield local();
}

async function later(value) {
  await null;
  const inner = async function named() {
    await value;

    block();
  };
  await inner();
}

const scenes = {
  classes() { new Square(); },
  closures() {
    const outer = (depth) => {
      const inner = () => (depth === 0 ? block() : outer(depth - 1));
      return inner();
    };
    outer(3);
  },
  anonymous() {
    [1].forEach(function () {
      [3, 1, 2].sort((a, b) => { 'text'.replace(/x/, () => block()); return a - b; });
    });
  },
  generators() {
    for (const number of numbers()) number;
  },
  async() { later(Promise.resolve(1)); },
  recursion() {
    const down = (depth) => {
      if (depth === 0) block();
      else down(depth - 1);
    };
    down(300);
  },
  evaluated() {
    eval('1;\n(function evaluated() { block(); })()');
  },
  constructed() {
    new Function('block', '\n\nblock();')(block);
  },
  wide() {
    // The name has characters beyond Latin-1, and so has the source: ∀ 🙂
    const größe_名前 = () => block();
    größe_名前();
  },
  vm() {
    require('vm').runInThisContext('(block) => {\n block();\n}', { filename: 'part.js', lineOffset: 40 })(block);
  },
  locals() {
    const names = Array.from({ length: 90 }, (_, i) => `v${i}`);
    const body = `let ${names.map((n) => n + '= 1').join(',')};
      return function many() { block(); return () => ${names.join('+')}; };`;
    new Function('block', body)(block)();
  },
  module() { require('./node_module.js')(block); },
  esm() { import('./node_module.mjs').then((module) => module.run(block)); },
  worker() {
    const { Worker } = require('worker_threads');
    new Worker(__filename, { argv: ['closures', ...(tells ? ['tell'] : [])] });
  },
  child() {
    fs.writeSync(1, 'ready\n');
    require('child_process').execSync('exec sleep 1000');
  },
};

scenes[process.argv[2]]();
