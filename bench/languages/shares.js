// Functions that use 70, 20 and 10 % of the CPU time. Commands on standard input, an answer line each:
//   mark             "<units of work> <CPU ns in seventy> <in twenty> <in ten>"
//   and those of v8_profiler.js
const { listen } = require('./v8_profiler.js');

const used = { seventy: 0, twenty: 0, ten: 0 };
let units = 0;
let ended = false;
let sink = 0;

function cpu() {
  const now = process.cpuUsage();
  return now.user + now.system;
}

function spin() {
  let value = 1;
  for (let number = 0; number < 3000; number++) value = (value * 31) % 65521 + number;
  sink = value;
}

function chain(depth) {
  if (depth === 0) spin();
  else chain(depth - 1);
}

function burn(name, count) {
  const begin = cpu();
  for (let i = 0; i < count; i++) {
    chain(8);
    units++;
  }
  used[name] += (cpu() - begin) * 1000;
}

function seventy() {
  burn('seventy', 700);
}

function twenty() {
  burn('twenty', 200);
}

function ten() {
  burn('ten', 100);
}

function work() {
  seventy();
  twenty();
  ten();
  if (!ended) setImmediate(work);
}

listen({ mark: () => console.log(units, ...Object.values(used)) }, () => { ended = true; });
console.log('ready');
work();
