// The Firefox Profiler's own code (profiler-cli).
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const DEADLINE_MS = 60_000;

const package_json = createRequire(import.meta.url).resolve('@firefox-devtools/profiler-cli/package.json');
const program = path.join(path.dirname(package_json), 'dist/profiler-cli.js');

export class FirefoxProfiler {
  // `load` gives up on its daemon after half a second; a busy machine needs longer.
  constructor(file) {
    this.sessions = fs.mkdtempSync('/tmp/swipr-firefox-');  // its daemon's socket: a short path of its own
    this.run('load', file);
    const end = Date.now() + DEADLINE_MS;
    let answer = this.run('status');
    while (answer.status !== 0 && Date.now() < end) answer = this.run('status');
    if (answer.status === 0) return;
    this.close();
    assert.fail(`${file} was not loaded: ${answer.stderr}`);
  }

  run(...args) {
    return spawnSync(process.execPath, [program, ...args], {
      encoding: 'utf8',
      env: { ...process.env, PROFILER_CLI_SESSION_DIR: this.sessions },
    });
  }

  ask(...args) {
    const answer = this.run(...args, '--json');
    assert.equal(answer.status, 0, `${args.join(' ')}: ${answer.stderr}`);
    return JSON.parse(answer.stdout);
  }

  close() {
    this.run('stop', '--all');
    fs.rmSync(this.sessions, { recursive: true, force: true });
  }
}
