// Goes back and forth in the page of --format html, by links and by keys, and narrows what it shows.
// usage: html_navigation.mjs FOLDER       (with the files of write_golden)
import assert from 'node:assert/strict';
import { close, open, run } from './html_support.mjs';

const spoken = (page) => page.innerText('#selected');
const summary = (page) => page.innerText('#summary');
const focused = (page) => page.evaluate(() => document.activeElement.id || document.activeElement.textContent);
const cells = (page, table) => page.$$eval(`${table} >> tbody tr`, (all) => all.map((row) =>
  [...row.cells].map((cell) => cell.innerText.trim())));
// The address is written a moment after what it says.
const settled = (page) => page.waitForSelector('html:not([data-writing])', { state: 'attached' });
const hash_of = async (page) => {
  await settled(page);
  return page.evaluate(() => location.hash);
};
const WALK = 'void tree::walk<std::vector<int, std::allocator<int> > >(std::vector<int> const&)';

async function back_leads_to_what_was_shown() {
  const page = await open('workers.html');
  const start = await summary(page);
  await settled(page);  // or the first step belongs to the opening
  await page.selectOption('#weight', 'wall');
  await settled(page);
  await page.keyboard.press('t');
  await settled(page);
  await page.fill('#search', 'mutex');  // is no step of its own
  await settled(page);
  await page.click('.lane.group .thread');
  const narrowed = await summary(page);
  await settled(page);
  await page.goBack();
  await page.waitForFunction(() => document.getElementById('filters')?.innerText === '');
  assert.ok(await page.isVisible('#tree'), 'the call tree stays');
  await page.goBack();
  await page.waitForSelector('#stage:not([hidden])');
  assert.match(await summary(page), /of wall time/);
  await page.goBack();
  await page.waitForFunction((text) => document.getElementById('summary')?.innerText === text, start);
  assert.equal(await page.inputValue('#weight'), 'cpu');
  for (let step = 0; step < 3; ++step) {
    await page.goForward();
    await settled(page);
  }
  await page.waitForFunction((text) => document.getElementById('summary')?.innerText === text, narrowed);
  await close(page);
}

// Also in the other views of the tree, and in a page that a link opens.
async function the_selected_frame_stays() {
  const page = await open('workers.html', { address: '#weight=wall' });
  await page.keyboard.press('g');
  assert.equal(await focused(page), 'stage');
  for (let step = 0; step < 3; ++step) await page.keyboard.press('ArrowDown');
  const said = await spoken(page);
  assert.match(said, /^want_log\(\) /);
  await page.keyboard.press('t');
  assert.match(await page.innerText('#tree tr[aria-selected=true]'), /want_log\(\)/);
  assert.match(await focused(page), /want_log\(\)/);
  await page.keyboard.press('ArrowDown');
  assert.match(await spoken(page), /^pthread_mutex_lock /);
  await page.selectOption('#weight', 'blocked');
  assert.match(await spoken(page), /^pthread_mutex_lock /, 'another weight keeps it');
  await page.keyboard.press('l');
  assert.match(await page.innerText('#lines h3'), /^pthread_mutex_lock$/);
  const address = await hash_of(page);
  const other = await open('workers.html', { address });
  assert.equal(await spoken(other), await spoken(page));
  assert.match(await other.innerText('#tree tr[aria-selected=true]'), /pthread_mutex_lock/);
  assert.match(await other.innerText('#lines h3'), /^pthread_mutex_lock$/);
  await close(other);
  await close(page, 'html-selected.png');
}

async function everything_by_keyboard() {
  const page = await open('crew.html');
  // The menu of a function in a table.
  await page.keyboard.press('f');
  await page.focus('#functions tbody button');
  const name = await focused(page);
  await page.keyboard.press('m');
  assert.ok((await page.innerText('#menu')).startsWith(name));
  await page.keyboard.press('Escape');
  assert.equal(await focused(page), name, 'the focus is where it was');
  await page.keyboard.press('n');
  assert.ok(await page.isVisible('#callers'));
  await page.keyboard.press('f');
  // A time is chosen without a mouse.
  await page.keyboard.press('c');
  assert.equal(await focused(page), 'chart');
  await page.keyboard.press('w');
  await page.keyboard.press('w');
  await page.keyboard.press('r');
  assert.match(await page.innerText('#filters'), /^960 ms – 2\.04 s/);
  await page.keyboard.press('g');
  const [part] = /^[\d.]+/.exec(await summary(page));
  assert.ok(part > 3 && part < 3.5, `${part} of 9 s`);
  await page.keyboard.press('?');
  assert.ok(await page.isVisible('#help'));
  const keys = await page.$$eval('#help kbd', (all) => all.map((key) => key.innerText));
  for (const key of ['f', 'n', 'l', 'k', 'm', 'r', 'g', 'c', 't', 'w']) assert.ok(keys.includes(key), `${key} is not explained`);
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  assert.equal(await page.innerText('#filters'), '');
  await close(page);
}

async function drops_stacks_and_folds_recursion() {
  const page = await open('crew.html');
  const whole = await summary(page);
  const choose = async (label) => {
    await page.focus(`#functions button[title="${WALK}"]`);
    await page.keyboard.press('m');
    await page.click(`#menu button:has-text("${label}")`);
  };
  const path = async () => {
    await page.keyboard.press('g');
    await page.keyboard.press('Home');
    const names = [];
    for (let step = 0; step < 6; ++step) {
      await page.keyboard.press('ArrowDown');
      const said = (await spoken(page)).split(' — ')[0];
      if (said !== names.at(-1)) names.push(said);
    }
    return names.map((text) => /main|walk|visit/.exec(text)[0]);
  };
  assert.deepEqual(await path(), ['main', 'walk', 'visit', 'walk']);
  await choose('Fold its recursion');
  assert.match(await page.innerText('#filters'), /one frame of void tree::walk/);
  assert.equal(await summary(page), whole);
  assert.deepEqual(await path(), ['main', 'walk', 'visit']);
  const address = await hash_of(page);
  await page.click('#filters button');
  await page.focus('#functions button:has-text("visit(int)")');
  await page.keyboard.press('m');
  await page.click('#menu button:has-text("Drop stacks")');
  assert.match(await page.innerText('#filters'), /no stacks with visit\(int\)/);
  assert.match(await page.innerText('#canvas, #summary'), /^0/);
  await page.keyboard.press('Escape');
  assert.equal(await summary(page), whole);
  await close(page);
  const other = await open('crew.html', { address });
  assert.match(await other.innerText('#filters'), /one frame of void tree::walk/);
  await close(other, 'html-folded-recursion.png');
}

async function marks_what_is_looked_for_in_the_call_tree() {
  const page = await open('crew.html');
  await page.keyboard.press('t');
  await page.fill('#search', 'visit');
  const marked = () => page.$$eval('#tree tr.match', (all) => all.map((row) => row.innerText.split('\t').at(-1)));
  assert.equal((await marked()).length, 1);
  assert.match((await marked())[0], /visit\(int\)/);
  await page.fill('#search', '');
  assert.deepEqual(await marked(), []);
  await close(page, 'html-tree-search.png');
}

// By offsets in the module's file, and with the text of lines where it was asked for.
async function lines_have_texts_and_addresses() {
  const page = await open('crew.html', { address: `#${new URLSearchParams({ function: WALK, pane: 'lines' })}`, dark: true });
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const lines = await cells(page, '#lines table >> nth=0');
  assert.deepEqual(lines.map((row) => row.slice(2)).sort(), [['12', 'step(12);  // <b>'], ['14', 'step(14);  // <b>']]);
  const addresses = await cells(page, '#lines table >> nth=1');
  assert.deepEqual(addresses.map((row) => row.slice(1)), [['0x1118', 'crew.cc:12']]);
  assert.equal(addresses[0][0], lines.find((row) => row[2] === '12')[0], 'all of the line is at one address');
  await page.click('#lines button');
  const command = "objdump -dlC --start-address=0x1118 --stop-address=0x1138 '/opt/the crew'";
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), command);
  await page.focus(`#stage`);
  await page.click('#panes [value=functions]');
  await page.click('#functions button:has-text("visit(int)")', { button: 'right' });
  assert.match(await page.innerText('#menu'), /Copy objdump command/);
  await page.keyboard.press('Escape');
  await close(page, 'html-addresses.png');
  const plain = await open('workers.html', { address: '#function=parse(int)&pane=lines' });
  assert.ok((await cells(plain, '#lines table >> nth=0')).every((row) => /^parse\.cc:\d+$/.test(row[2])), 'no text unless asked for');
  await close(plain);
}

// Samples are told late: the outermost function runs all the time.
async function late_samples_leave_no_gaps_in_time() {
  const page = await open('crew.html');
  await page.keyboard.press('c');
  await page.keyboard.press('ArrowDown');
  assert.match(await spoken(page), /^main .* from 0 · for 3\.00 s/);
  for (const name of ['void tree::walk', 'visit']) {
    await page.keyboard.press('ArrowDown');
    assert.ok((await spoken(page)).startsWith(name));
    assert.match(await spoken(page), /from 0 · for 3\.00 s/);
  }
  await page.keyboard.press('ArrowDown');
  assert.match(await spoken(page), /from 100 ms · for 50\.0 ms/);
  await close(page, 'html-late.png');
}

async function groups_processes_of_one_program() {
  const page = await open('crew.html');
  assert.match(await page.innerText('.lane.group .thread'), /^crew\s+×3\s/);
  assert.match(await page.getAttribute('.lane.member .thread', 'title'), /^tid 300 of crew 300: CPU/);
  assert.ok(await page.isDisabled('#thread-select'));
  await page.fill('#thread-search', '301');
  await page.click('#thread-select');
  assert.match(await summary(page), /1 of 3 threads/);
  await close(page, 'html-processes.png');
}

// The base's samples were taken twice as often, in half the time.
async function compares_recordings_of_different_rates() {
  const page = await open('rates.html');
  assert.match(await page.innerText('#totals'), /before\s+× 2\.00: recorded for 1\.\d\d s/);
  assert.match(await page.innerText('#totals'), /samples before\s+× 1\.00: taken at another rate/);
  await page.selectOption('#weight', 'samples');
  const [now, change] = (await summary(page)).match(/\d[\d,]*/g).map((text) => Number(text.replace(',', '')));
  assert.ok(Math.abs(change - now / 2) < 0.02 * now, `${now} and ${change}`);
  await page.keyboard.press('t');
  assert.match(await page.innerText('#tree thead'), /Change/);
  assert.match((await cells(page, '#tree table'))[0][1], /^\+\d/);
  await close(page, 'html-rates.png');
}

async function narrow_frames_have_brief_names() {
  const page = await open('crew.html', { width: 420, height: 900 });
  const drawn = await page.evaluate(() => {
    const texts = [];
    const { fillText } = CanvasRenderingContext2D.prototype;
    CanvasRenderingContext2D.prototype.fillText = function (text, ...place) {
      texts.push(text);
      fillText.call(this, text, ...place);
    };
    document.getElementById('stage').dispatchEvent(new Event('scroll'));
    return texts;
  });
  assert.deepEqual(drawn, ['all', 'main', 'tree::walk', 'visit(int)', 'tree::walk', 'tree::walk']);
  const wide = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(wide <= 420, `${wide} pixels wide`);
  await close(page, 'html-brief.png');
}

await run([back_leads_to_what_was_shown, the_selected_frame_stays, everything_by_keyboard, drops_stacks_and_folds_recursion,
           marks_what_is_looked_for_in_the_call_tree, lines_have_texts_and_addresses, late_samples_leave_no_gaps_in_time,
           groups_processes_of_one_program, compares_recordings_of_different_rates, narrow_frames_have_brief_names]);
