// express: each request renders a page of 200 digests; /mark answers with the number of requests so far.
// usage: server.js PORT. Commands on standard input are those of shares.js for V8's own profiler.
const { createHash } = require('crypto');
const { writeFileSync } = require('fs');
const inspector = require('inspector');
const readline = require('readline');
const express = require('express');

const session = new inspector.Session();
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

const commands = {
  profile(microseconds) {
    session.connect();
    session.post('Profiler.enable');
    session.post('Profiler.setSamplingInterval', { interval: Number(microseconds) });
    session.post('Profiler.start', () => console.log('ok'));
  },
  write(file) {
    session.post('Profiler.stop', (error, { profile }) => {
      writeFileSync(file, JSON.stringify(profile));
      session.disconnect();
      console.log('ok');
    });
  },
};
readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const [name, argument] = line.split(' ');
  commands[name](argument);
});
app.listen(Number(process.argv[2]), '127.0.0.1');
