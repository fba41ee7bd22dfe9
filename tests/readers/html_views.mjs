// Uses the views and tables of the page of --format html as a person would, in headless chromium.
// usage: html_views.mjs FOLDER       (with the files of write_golden)
import assert from 'node:assert/strict';
import { close, open, run } from './html_support.mjs';

const cells = (page, table) => page.$$eval(`${table} >> tbody tr`, (all) => all.map((row) =>
  [...row.cells].map((cell) => cell.innerText.trim())));
const spoken = (page) => page.innerText('#selected');
const summary = (page) => page.innerText('#summary');
// The address is written a moment after what it says.
const hash_of = async (page) => {
  await page.waitForSelector('html:not([data-writing])', { state: 'attached' });
  return page.evaluate(() => location.hash);
};

// Moves to a function of the flame graph by the keyboard.
async function select(page, name) {
  await page.fill('#search', name);
  await page.focus('#search');
  await page.keyboard.press('Enter');
  await page.fill('#search', '');
  await page.focus('#stage');
}

async function choose_in_menu(page, label) {
  await page.keyboard.press('m');
  assert.equal(await page.evaluate(() => document.activeElement.getAttribute('role')), 'menuitem');
  await page.click(`#menu button:has-text("${label}")`);
}

async function callers_and_callees() {
  const page = await open('workers.html', { address: '#weight=wall' });
  await select(page, 'parse(int)');
  await choose_in_menu(page, 'Callers and callees');
  assert.match(await page.innerText('#callers h3'), /^parse\(int\)$/);
  const callers = await cells(page, '#callers table >> nth=0');
  assert.deepEqual(callers.map((row) => [row[0], row[2]]), [['100 %', 'run()']]);
  const callees = await cells(page, '#callers table >> nth=1');
  assert.deepEqual(callees.map((row) => row[2]), ['(self)', 'render()']);
  const shares = callees.map((row) => parseFloat(row[0]));
  assert.ok(Math.abs(shares[0] + shares[1] - 100) < 0.2, shares.join());
  await page.click('#callers button:has-text("run()")');
  assert.deepEqual((await cells(page, '#callers table >> nth=0')).map((row) => row[2]), ['start_thread']);
  assert.deepEqual((await cells(page, '#callers table >> nth=1')).map((row) => row[2]), ['want_log()', 'parse(int)']);
  await close(page, 'html-callers.png');
}

// parse(int) calls from line 12 and runs in both, 17 in half of one thread in eight ticks.
async function lines_of_a_function() {
  const page = await open('workers.html', { address: '#function=parse(int)&pane=lines' });
  assert.match(await page.innerText('#lines'), /\/src\/parse\.cc/);
  const lines = await cells(page, '#lines table >> nth=0');
  assert.deepEqual(lines.map((row) => row[2]).sort(), ['parse.cc:12', 'parse.cc:17']);
  const [self, total] = lines.find((row) => row[2] === 'parse.cc:12').slice(0, 2).map(parseFloat);
  assert.ok(self > 5 && total > 1.7 * self, `line 12 calls render(), too: ${self} ${total}`);
  const alone = lines.find((row) => row[2] === 'parse.cc:17');
  assert.equal(alone[0], alone[1]);
  await close(page, 'html-lines.png');
}

async function locks_and_their_owners() {
  const page = await open('workers.html');
  await page.click('#panes [value=locks]');
  assert.match(await page.innerText('#locks'), /waited 7\.\d\d? s for locks/);
  const [first] = await cells(page, '#locks table');
  assert.equal(first[2], 'mutex in want_log() — held in flush_log()');
  await page.click('#locks tbody button');
  assert.equal(await page.inputValue('#search'), 'flush_log()');
  await close(page, 'html-locks.png');
  // One of four threads, and half of the time: 0.875 s.
  const part = await open('workers.html', { address: '#threads=211&range=0,1000000000&pane=locks' });
  assert.match(await part.innerText('#locks'), /waited 8[67]\d ms for locks in the selected time and threads/);
  const other = await open('workers.html', { address: '#threads=201&pane=locks' });
  assert.match(await other.innerText('#locks'), /No thread waited for a lock in the selected/);
  await close(part);
  await close(other);
  const none = await open('golden.html');
  assert.ok(!await none.isVisible('#panes [value=locks]'), 'no locks, no table');
  await close(none);
}

async function deadlocks_come_first() {
  const text = 'deadlock: pool 211 waits for the mutex in want_log(), held by pool 212, which waits for the mutex in ' +
    'want_log(), held by pool 211 (for 1.00 s)';
  const page = await open('deadlock.html');
  await page.click('#panes [value=locks]');
  assert.equal(await page.innerText('#locks > p:first-child'), text);
  await close(page, 'html-deadlock.png');
  const overview = await open('deadlock_overview.html');
  assert.equal(await overview.innerText('#deadlocks'), text);
  await overview.locator('#deadlocks').scrollIntoViewIfNeeded();
  await close(overview, 'html-deadlock-overview.png');
  const none = await open('workers.html');
  await none.click('#panes [value=locks]');
  assert.ok(!(await none.innerText('#locks')).includes('deadlock'));
  await close(none);
}

async function call_tree_by_keyboard() {
  const page = await open('workers.html', { address: '#weight=wall' });
  await page.keyboard.press('t');
  const names = async () => (await cells(page, '#tree table')).map((row) => row[2].replace(/^[▾▸] */, ''));
  // The heaviest path is open.
  assert.deepEqual((await names()).slice(0, 4), ['start_thread', 'run()', 'want_log()', 'pthread_mutex_lock']);
  await page.focus('#tree tbody tr');
  await page.keyboard.press('ArrowDown');
  assert.match(await spoken(page), /^run\(\)/);
  await page.keyboard.press('ArrowLeft');
  assert.deepEqual(await names(), ['start_thread', 'run()', 'flush_log()']);
  assert.equal(await page.getAttribute('#tree tr[aria-selected=true]', 'aria-expanded'), 'false');
  await page.keyboard.press('ArrowRight');
  assert.ok((await names()).length > 3);
  await page.keyboard.press('ArrowLeft');
  await page.keyboard.press('ArrowDown');
  assert.match(await spoken(page), /^flush_log\(\)/);
  await page.keyboard.press('g');
  assert.ok(await page.isVisible('#stage') && !await page.isVisible('#tree'));
  await close(page, 'html-tree.png');
}

async function menu_focuses_and_hides() {
  const page = await open('workers.html', { address: '#weight=wall' });
  const whole = await summary(page);
  await select(page, 'parse(int)');
  await choose_in_menu(page, 'Hide it');
  assert.match(await page.innerText('#filters'), /without parse\(int\)/);
  assert.equal(await summary(page), whole, 'hidden functions leave their time to their callers');
  assert.ok(!(await page.innerText('#functions')).includes('parse(int)'));
  await page.click('#filters button');
  await select(page, 'parse(int)');
  await choose_in_menu(page, 'Focus');
  assert.match(await page.innerText('#filters'), /from parse\(int\)/);
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowDown');
  assert.match(await spoken(page), /^parse\(int\) .* 100 %/);
  await page.keyboard.press('Escape');
  assert.equal(await summary(page), whole);
  // By mouse, and closed again by Escape.
  const stage = await page.locator('#stage').boundingBox();
  await page.mouse.click(stage.x + 30, stage.y + 30, { button: 'right' });
  assert.match(await page.innerText('#menu'), /^start_thread/);
  await page.keyboard.press('Escape');
  assert.ok(!await page.isVisible('#menu'));
  await close(page, 'html-menu.png');
}

async function copies_a_stack() {
  const page = await open('workers.html');
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await select(page, 'parse(int)');
  await choose_in_menu(page, 'Copy stack');
  const text = await page.evaluate(() => navigator.clipboard.readText());
  assert.equal(text, 'parse(int)\nrun()\nstart_thread');
  await close(page);
}

async function address_leads_back() {
  const page = await open('workers.html');
  await page.selectOption('#weight', 'wall');
  await page.click('.lane.group .thread');
  await page.uncheck('#states input[value=running]');
  await select(page, 'want_log()');
  await page.keyboard.press('Enter');
  await page.click('#panes [value=callers]');
  await page.fill('#search', 'mutex');
  const lane = await page.locator('.lane canvas').first().boundingBox();
  await page.mouse.move(lane.x + lane.width * 0.25, lane.y + 5);
  await page.mouse.down();
  await page.mouse.move(lane.x + lane.width * 0.5, lane.y + 5, { steps: 3 });
  await page.mouse.up();
  const state = async (of) => ({
    address: await hash_of(of), summary: await summary(of), filters: await of.innerText('#filters'),
    found: await of.innerText('#found'), said: await spoken(of), callers: await of.innerText('#callers'),
    zoomed: await of.isVisible('#reset'), blocked_only: await of.isChecked('#states input[value=running]'),
  });
  const before = await state(page);
  assert.ok(before.zoomed && !before.blocked_only && before.filters.includes('4 threads'), JSON.stringify(before));
  const other = await open('workers.html', { address: before.address });
  assert.deepEqual(await state(other), before);
  await close(other);
  // What an address says wrongly is left out.
  await page.evaluate(() => { location.hash = '#weight=none&zoom=zz.9&threads=7&range=5&view=x&pane=y&window=a,b&function=%3Cb%3E'; });
  await page.waitForFunction(() => document.getElementById('filters').innerText === '');
  assert.match(await summary(page), /of CPU time$/);
  await close(page);
}

async function says_what_cpu_time_does_not_show() {
  const page = await open('workers.html');
  assert.match(await page.innerText('#unseen-time'), /^7\.\d\d? s of blocked time \(\d\d\.\d %\) is not shown/);
  await page.click('#unseen-time button');
  assert.match(await summary(page), /of wall time/);
  assert.ok(!await page.isVisible('#unseen-time'));
  await close(page);
}

async function colours_by_self_share() {
  const page = await open('workers.html');
  await page.selectOption('#colouring', 'self');
  // [saturation of the frame in that row]: start_thread has no time of its own, flush_log() has most.
  const saturation = (x, y) => page.evaluate(([left, top]) => {
    const [red, , blue] = document.getElementById('canvas').getContext('2d').getImageData(left, top, 1, 1).data;
    return red - blue;
  }, [x, y]);
  const pale = await saturation(300, 22);
  const width = await page.evaluate(() => document.getElementById('canvas').width);
  const strong = Math.max(await saturation(8, 42), await saturation(width - 20, 42));
  assert.ok(strong > pale + 40, `${strong} and ${pale}`);
  await close(page, 'html-self.png');
}

async function shows_a_thread_in_order_of_time() {
  const page = await open('workers.html', { dark: true });
  await page.keyboard.press('c');
  assert.match(await summary(page), /^(workers 200|flusher 201)$/);
  await page.click('.lane:not(.group) .thread:has-text("workers")');
  assert.match(await summary(page), /^workers 200$/);
  // Without anything chosen yet, an arrow chooses the outermost box; below, run() and parse(int) last all the time.
  await page.focus('#chart');
  await page.keyboard.press('ArrowDown');
  assert.match(await spoken(page), /^start_thread .* from 0 · for 2\.01 s/);
  for (const name of ['run()', 'parse(int)', 'render()']) {
    await page.keyboard.press('ArrowDown');
    assert.ok((await spoken(page)).startsWith(`${name} `), `${name}: ${await spoken(page)}`);
  }
  // The first tick of 7 ms is render(), the second is not, the third is again: at 17 ms for 13 ms.
  assert.match(await spoken(page), /from 0 · for 7\.00 ms/);
  await page.keyboard.press('ArrowRight');
  assert.match(await spoken(page), /from 17\.0 ms · for 13\.0 ms/);
  await page.keyboard.press('Enter');
  assert.match(await hash_of(page), /window=17000000%2C30000000/);
  await page.keyboard.press('s');
  assert.match(await hash_of(page), /window=\d+%2C\d+/);
  await page.keyboard.press('Home');
  assert.doesNotMatch(await hash_of(page), /window/);
  // The window is chosen in the picture of all of it.
  const map = await page.locator('#minimap').boundingBox();
  await page.mouse.move(map.x + map.width * 0.5, map.y + 9);
  await page.mouse.down();
  await page.mouse.move(map.x + map.width * 0.75, map.y + 9, { steps: 3 });
  await page.mouse.up();
  const [from, to] = new URLSearchParams((await hash_of(page)).slice(1)).get('window').split(',').map(Number);
  assert.ok(Math.abs(from - 1e9) < 2e7 && Math.abs(to - 1.5e9) < 2e7, `${from} ${to}`);
  await close(page, 'html-chart.png');
}

async function narrow_pages_fold_their_options() {
  const page = await open('workers.html', { width: 700, height: 900 });
  const toolbar = () => page.locator('#toolbar').boundingBox();
  const folded = (await toolbar()).height;
  assert.ok(folded < 90 && !await page.isVisible('#states'), `the toolbar takes ${folded} pixels`);
  await page.click('#fold');
  assert.ok(await page.isVisible('#states') && await page.isVisible('#colouring'));
  assert.equal(await page.getAttribute('#fold', 'aria-expanded'), 'true');
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 700, `${wide} pixels wide`);
  await close(page, 'html-folded.png');
}

async function overview_links_to_the_other_page() {
  const page = await open('overview.html');
  assert.deepEqual((await cells(page, '#locks'))[0].slice(2), ['mutex in want_log() — held in flush_log()']);
  assert.match((await cells(page, '#blocked'))[0][2], /^futex ← want_log\(\)$/);
  const link = (table) => page.getAttribute(`${table} tbody a >> nth=0`, 'href');
  assert.match(await link('#hot'), /^flame#.*function=flush_log/);
  assert.match(await link('#by-thread'), /^flame#threads=20[01]$/);
  assert.match(await link('#blocked'), /^flame#weight=blocked&search=want_log/);
  const pixel = await page.evaluate(() => [...document.getElementById('canvas').getContext('2d').getImageData(300, 30, 1, 1).data]);
  assert.ok(pixel[3] === 255, 'a flame graph is drawn');
  await page.click('.lane.group .thread');
  assert.match(await link('#hot'), /threads=211%2C/);
  await close(page, 'html-overview.png');
}

await run([callers_and_callees, lines_of_a_function, locks_and_their_owners, deadlocks_come_first, call_tree_by_keyboard, menu_focuses_and_hides,
           copies_a_stack, address_leads_back, says_what_cpu_time_does_not_show, colours_by_self_share,
           shows_a_thread_in_order_of_time, narrow_pages_fold_their_options, overview_links_to_the_other_page]);
