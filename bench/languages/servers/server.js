// express: each request renders a page of 200 digests; /mark answers with the number of requests so far.
// usage: server.js PORT. Commands on standard input: those of v8_profiler.js.
const { createHash } = require('crypto');
const express = require('express');
const { listen } = require('./v8_profiler.js');

const app = express();
let served = 0;

function rows() {
  const names = Array.from({ length: 200 }, (_, number) => `row ${(number * 7919) % 200}`);
  return names.map((name) => [name, createHash('sha256').update(name).digest('hex')]).sort();
}

app.get('/', (request, response) => {
  served++;
  response.send(`<ul>${rows().map(([name, digest]) => `<li>${name}: ${digest}</li>`).join('')}</ul>`);
});
app.get('/mark', (request, response) => response.send(String(served)));

listen({}, () => process.exit());
app.listen(Number(process.argv[2]), '127.0.0.1');
