// Follows a program with `swipr view --live` and uses its page as a person would, in headless chromium.
// Screenshots are left in the folder.
// usage: live.mjs FOLDER SWIPR PRELOAD PROGRAM       (PROGRAM: tests/targets/times/phases.cc)
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { follow, functions_of, painted, run_tests, wait_for_paints, wait_for_text } from './live_page.mjs';

const [folder, swipr, preload, program] = process.argv.slice(2);
if (!program) assert.fail('usage: live.mjs FOLDER SWIPR PRELOAD PROGRAM');
const { target, server, said, ended, url, open, close, end } = await follow({ folder, swipr, preload, program: [program, '40'], latency: [] });

// Until the function has more than half of the weight of the window.
async function wait_for_most(page, name) {
  await page.waitForFunction((wanted) => [...document.querySelectorAll('#functions tbody tr')].some((row) =>
    row.cells[row.cells.length - 1].innerText === wanted && parseFloat(row.cells[1].innerText) > 50), name);
}

async function a_change_of_phase_is_seen() {
  const page = await open();
  await wait_for_text(page, '#state', 'live');
  assert.match(await page.innerText('h1'), new RegExp(`^phases\\w* ${target.pid}$`));
  await wait_for_most(page, 'phase_one');
  target.stdin.write('\n');
  await wait_for_most(page, 'phase_two');
  await page.selectOption('#window', 'all');
  await wait_for_text(page, '#functions', 'phase_one');
  await page.selectOption('#window', 'last10');
  // Of one moment: the page goes on.
  const [trends, functions] = await page.evaluate(() => ['canvas.trend', 'tbody tr'].map((kind) =>
    document.querySelectorAll(`#functions ${kind}`).length));
  assert.ok(functions > 0);
  assert.equal(trends, functions);
  target.stdin.write('\n');
  await wait_for_most(page, 'phase_one');
  await close(page, 'live.png');
}

async function a_time_is_brushed() {
  const page = await open({ dark: true });
  await page.keyboard.press('p');
  await wait_for_text(page, '#state', 'paused');
  const before = await painted(page);
  // Over the whole of the heat map: everything that has been recorded.
  const area = await page.locator('#heat').boundingBox();
  await page.mouse.move(area.x + 2, area.y + 2);
  await page.mouse.down();
  await page.mouse.move(area.x + area.width - 2, area.y + area.height - 4, { steps: 5 });
  await page.mouse.up();
  await wait_for_text(page, '#filters', 'ago');
  const marked = await page.locator('#range').boundingBox();
  const column = area.width / 120;  // seconds of the heat map
  assert.ok(Math.abs(marked.x - area.x) < column && Math.abs(marked.x + marked.width - area.x - area.width) < column,
            `from ${marked.x}, ${marked.width} wide, is marked; the heat map is from ${area.x}, ${area.width} wide`);
  const names = (await functions_of(page)).map(([, , name]) => name);
  for (const name of ['phase_one', 'phase_two']) assert.ok(names.includes(name), `${name} is not among ${names}`);
  const seen = await painted(page);
  assert.ok(seen > before);
  // A cell of it.
  await page.mouse.move(area.x + area.width - 30, area.y + 10);
  await page.mouse.down();
  await page.mouse.move(area.x + area.width - 20, area.y + 40, { steps: 3 });
  await page.mouse.up();
  await page.waitForFunction(() => /\((\d+(\.\d+)? ms|[0-3]\.\d+ s)\)/.test(document.querySelector('#filters').innerText));
  await page.screenshot({ path: path.join(folder, 'live-brushed.png') });
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => document.querySelector('#filters').innerText === '');
  await page.keyboard.press('p');
  await wait_for_text(page, '#state', 'live');
  await wait_for_paints(page, 2);
  await close(page, 'live-dark.png');
}

// Pixels of the heat map that are not of the ground.
const warm_cells = (page) => page.evaluate(() => {
  const canvas = document.getElementById('heat');
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  let count = 0;
  for (let at = 0; at < data.length; at += 4) count += data[at] !== data[at + 2];
  return count;
});

async function panes_are_linked() {
  const page = await open({ fragment: '#window=all' });
  await page.keyboard.press('p');
  await wait_for_text(page, '#state', 'paused');
  const all = await warm_cells(page);
  assert.ok(all > 20, `${all} cells are warm`);
  // A thread that only waits.
  await page.fill('#thread-search', 'waiter');
  assert.equal(await page.locator('.lane button.thread').count(), 1);
  await page.click('.lane button.thread');
  await wait_for_text(page, '#filters', 'only waiter');
  await page.waitForFunction(() => !document.querySelector('#functions').innerText.includes('phase_one'));
  assert.ok(await warm_cells(page) < all / 4);
  await page.click('#filters button');
  await page.fill('#thread-search', '');
  // What is searched for.
  await page.keyboard.press('Escape');
  await page.fill('#search', 'phase_two');
  await wait_for_text(page, '#found', '% match');
  await page.waitForFunction(() => document.querySelectorAll('#functions tbody tr').length === 1);
  const searched = await warm_cells(page);
  assert.ok(searched > 0 && searched < all, `${searched} of ${all} cells are warm`);
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await page.waitForFunction(() => document.querySelector('#search').value === '');
  // What is zoomed to: by keyboard, down the widest path.
  await page.focus('#stage');
  for (let step = 0; step < 3; ++step) await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForSelector('#reset:not([hidden])');
  await close(page, 'live-linked.png');
}

async function waits_and_locks_have_owners() {
  const page = await open({ fragment: '#window=last60&weight=wall' });
  assert.equal(await page.inputValue('#weight'), 'wall');
  await page.click('#panes [value=locks]');
  await wait_for_text(page, '#locks', 'mutex in enter_mutex — held by holder');
  await wait_for_text(page, '#locks', 'mostly in (anonymous namespace)::sleep_ms');
  await page.screenshot({ path: path.join(folder, 'live-locks.png') });
  await page.click('#panes [value=waits]');
  await wait_for_text(page, '#waits', 'futex');
  await page.click('#panes [value=callers]');
  await wait_for_text(page, '#callers', 'Choose a function');
  await page.click('#panes [value=functions]');
  await page.keyboard.press('p');  // a slow machine replaces the rows faster than it clicks
  await wait_for_text(page, '#state', 'paused');
  await page.click('#functions tbody button:has-text("enter_mutex")');
  await page.click('#panes [value=callers]');
  await wait_for_text(page, '#callers', 'Called by');
  await close(page, 'live-waits.png');
}

async function a_baseline_shows_what_has_changed() {
  const page = await open();
  await page.click('#functions th button[value=total]');
  await wait_for_most(page, 'phase_one');
  await page.keyboard.press('b');
  await page.waitForSelector('#functions th.change:not([hidden])');
  target.stdin.write('\n');
  await page.waitForFunction(() => [...document.querySelectorAll('#functions tbody tr')].some((row) =>
    row.innerText.includes('phase_two') && /^\+\d\d/.test(row.cells[2].innerText)));
  await page.screenshot({ path: path.join(folder, 'live-difference.png') });
  await page.keyboard.press('b');
  await page.waitForSelector('#functions th.change[hidden]', { state: 'attached' });
  target.stdin.write('\n');
  await close(page, 'live-after-difference.png');
}

async function narrow_pages_do_not_scroll_sideways() {
  for (const [width, dark] of [[700, false], [420, true]]) {
    const page = await open({ width, dark });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= width, `a page of ${width} pixels is ${wide} wide`);
    await close(page, `live-${width}.png`);
  }
}

const memory_kb = (pid) => Number(/VmRSS:\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);

// A browser that has been stopped reads nothing: what the server holds for it is one event.
async function a_stopped_browser_costs_nothing() {
  const http = await import('node:http');
  const stopped = [];
  for (let index = 0; index < 8; ++index) {
    await new Promise((resolve, reject) => {
      const request = http.get(`${url}events`, (response) => {
        response.pause();
        stopped.push(response);
        resolve();
      });
      request.on('error', reject);
    });
  }
  const page = await open();
  await wait_for_paints(page, 3);
  const before = memory_kb(server.pid);
  await wait_for_paints(page, 25);
  const grown = memory_kb(server.pid) - before;
  assert.ok(grown < 8 * 1024, `the server has grown by ${grown} KiB`);
  for (const response of stopped) response.destroy();
  await close(page, 'live-busy.png');
}

async function tells_strangers_nothing() {
  const { origin } = new URL(url);
  assert.equal((await fetch(`${origin}/events`)).status, 404);
  assert.equal((await fetch(`${url}events`, { headers: { origin: 'http://evil.example' } })).status, 403);
}

async function ends_with_the_process() {
  const page = await open();
  target.stdin.end();
  await wait_for_text(page, '#state', 'the process has ended');
  assert.equal(await ended, 0);
  assert.match(said.join('\n'), /the process has ended: phases/);
  // What was recorded can be looked at still.
  await page.selectOption('#window', 'all');
  await wait_for_text(page, '#summary', 'in all');
  await wait_for_text(page, '#functions', 'phase_two');
  await close(page, 'live-ended.png');
}

await run_tests('live', [a_change_of_phase_is_seen, a_time_is_brushed, panes_are_linked, waits_and_locks_have_owners,
                         a_baseline_shows_what_has_changed, narrow_pages_do_not_scroll_sideways, a_stopped_browser_costs_nothing,
                         tells_strangers_nothing, ends_with_the_process], end);
