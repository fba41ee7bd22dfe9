// Commands on standard input for V8's own profiler (what --cpu-prof starts), an answer line each:
//   profile MICROSECONDS  starts it
//   write FILE            ends it and writes its profile
const { writeFileSync } = require('fs');
const inspector = require('inspector');
const readline = require('readline');

const session = new inspector.Session();
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

// `others`: further commands by name.
exports.listen = (others, onEnd) => {
  const all = { ...commands, ...others };
  const input = readline.createInterface({ input: process.stdin });
  input.on('line', (line) => {
    const [name, argument] = line.split(' ');
    all[name](argument);
  });
  input.on('close', onEnd);
};
