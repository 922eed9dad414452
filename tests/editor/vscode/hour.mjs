// An hour of editing in a real window, at a person's pace; by hand, as CI has no hour: MINUTES=60 node tests/editor/vscode/hour.mjs
// Each half minute something is typed, saved or asked; each fifth time it is a mistake, which is found and taken back.
// What is measured: the memory of the server, of the processes behind it and of the extension host.
import assert from 'node:assert/strict';
import fs from 'node:fs';

import { play, python } from './play.mjs';

const MINUTES = Number(process.env.MINUTES ?? 60);
const A_MINUTE = 2; // turns
const PAUSE = 60_000 / A_MINUTE;
/** While the processes start and fill what they keep, memory grows; after this share of the time it must not. */
const WARM = 0.25;
const ROOM = { factor: 1.1, mb: 20 };

await play({ name: 'an hour', settings: { 'klineage.interpreter': python } }, async ({ editor, step }) => {
  const turns = Math.ceil(MINUTES * A_MINUTE);
  let warm;
  for (let turn = 0; turn < turns; turn += 1) {
    const next = Date.now() + PAUSE;
    await [typed, mistaken, asked, drawn, saved][turn % 5](editor);
    if (turn % Math.ceil(turns / 12) === 0 || turn === turns - 1) {
      const now = memory(editor);
      warm ??= turn >= WARM * turns ? now : undefined;
      step(`after ${Math.round(turn / A_MINUTE)} min: ${Object.entries(now).map(([of, mb]) => `${of} ${mb} MB`).join(', ')}`);
    }
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, next - Date.now())));
  }
  for (const [of, mb] of Object.entries(memory(editor))) {
    assert.ok(mb <= ROOM.factor * warm[of] + ROOM.mb, `${of}: ${warm[of]} MB when warm, ${mb} MB at the end`);
  }
  await editor.screenshot('hour');
});

async function typed(editor) {
  await editor.openFile('reduction.cu');
  await editor.lens('✓ right');
  await editor.clickOn('__syncthreads();');
  await editor.page.keyboard.press('End');
  await editor.page.keyboard.type(' // seen');
  for (let key = 0; key < ' // seen'.length; key += 1) {
    await editor.page.keyboard.press('Backspace');
  }
  await editor.lens('✓ right');
}

async function mistaken(editor) {
  await editor.openFile('reduction.cu');
  await editor.clickOn('__syncthreads();');
  await editor.page.keyboard.press('Control+/');
  await editor.lens('✗ race');
  await editor.page.keyboard.press('Control+/');
  await editor.lens('✓ right');
}

async function asked(editor) {
  await editor.openFile('activation.cu');
  await editor.hover('a[i]', 'Vectorised row access');
  await editor.page.keyboard.press('Escape');
  await editor.page.mouse.move(5, 5);
}

async function drawn(editor) {
  await editor.openFile('softmax.cu');
  await editor.clickOn('softmax_forward1(');
  await editor.runCommand('Kernel Lineage: Draw the Lineage of the Kernel at the Cursor');
  await editor.shown().locator('svg.lineage .row').first().waitFor();
  await editor.runCommand('View: Close All Editors');
}

async function saved(editor) {
  await editor.openFile('reduction.cu');
  await editor.clickOn('__syncthreads();');
  await editor.page.keyboard.press('Control+s');
}

/** MB of each part: the server, all processes that it has started, the host of all extensions. */
function memory(editor) {
  const [server] = editor.processesWith('serve');
  const parents = new Map();
  for (const pid of fs.readdirSync('/proc').map(Number).filter(Boolean)) {
    const parent = Number(/^PPid:\s*(\d+)/m.exec(read(`/proc/${pid}/status`))?.[1]);
    parents.set(parent, [...(parents.get(parent) ?? []), pid]);
  }
  const below = (pid) => (parents.get(pid) ?? []).flatMap((child) => [child, ...below(child)]);
  const mb = (pids) => Math.round(pids.map(proportional).reduce((a, b) => a + b, 0) / 1024);
  return { server: mb([server]), 'its processes': mb(below(server)), 'extension host': mb(editor.processesWith('--type=extensionHost')) };
}

/** KB of a process; what several share is divided among them. */
function proportional(pid) {
  return Number(/^Pss:\s*(\d+)/m.exec(read(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0);
}

function read(file) {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return ''; // it ended meanwhile
  }
}
