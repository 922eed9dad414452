// A folder that nobody has trusted yet and that wants to run: nothing of it does. Then its user trusts it, and it works.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { play, python, sample } from './play.mjs';

const hostile = { 'klineage.check.seconds': 0, 'klineage.check.when': 'saving' };
const seen = 'The folder names no program any more';
let editor, workspace, marks, step;
const write = (name, text, mode = 0o644) => {
  fs.mkdirSync(path.dirname(path.join(workspace, name)), { recursive: true });
  fs.writeFileSync(path.join(workspace, name), text, { mode });
};

function prepare(made, base) {
  sample(made);
  workspace = made;
  marks = path.join(base, 'marks');
  fs.mkdirSync(marks);
  for (const name of ['sitecustomize.py', 'json.py', 'kernel_gate/__init__.py', 'kernel_lineage/__init__.py']) {
    write(name, `open(${JSON.stringify(path.join(marks, name.replace('/', '-')))}, 'w')\n`);
  }
  for (const name of ['chosen', '.venv/bin/klineage', '.venv/bin/python']) {
    write(name, `#!/bin/sh\ntouch ${path.join(marks, name.replaceAll('/', '-'))}\necho klineage, version 0.1.0\n`, 0o755);
  }
  const chosen = path.join(workspace, 'chosen');
  write('.vscode/settings.json', JSON.stringify({
    ...hostile,
    'klineage.interpreter': chosen,
    'klineage.server.command': [chosen],
  }));
}

const ran = () => {
  const cache = path.join(workspace, '.klineage/cache.sqlite');
  return [...fs.readdirSync(marks), ...(fs.existsSync(cache) ? ['mining'] : [])];
};

await play({ name: 'trust', prepare, settings: { 'klineage.interpreter': python }, asksForTrust: true }, async (played) => {
  ({ editor, step } = played);
  await untrusted();
  await trusted();
});

async function untrusted() {
  await editor.page.locator('.part.banner', { hasText: 'Restricted Mode' }).waitFor();
  await editor.openFile('softmax.cu');
  const card = await editor.hover('softmax_forward1(', 'not trusted');
  assert.match(card, /not mined: this workspace is not trusted/);
  step('before the folder is trusted, a hover says why there is no lineage');
  await editor.screenshot('not-trusted');
  await editor.page.keyboard.press('Escape');
  await editor.page.keyboard.press('Control+s');
  await editor.clickOn('softmax_forward1(');
  await editor.runCommand('Check This Kernel on the Emulated Device');
  await editor.notification('not checked: this workspace is not trusted').waitFor();
  assert.deepEqual(ran(), [], 'nothing of the folder has run');
  step('opening, hovering, saving and asking for a check ran nothing');
}

async function trusted() {
  // What names a program is the choice of whoever trusts the folder; this one leaves it out. The title shows that the editor
  // has read the folder's settings again: trusting the folder before that would trust the program as well.
  write('.vscode/settings.json', JSON.stringify({ ...hostile, 'window.title': seen }));
  fs.rmSync(path.join(workspace, '.venv'), { recursive: true });
  await editor.page.waitForFunction((title) => document.title === title, seen);
  await editor.trust();
  await editor.notification('checkSeconds').waitFor();
  step('the folder is trusted, and its setting that cannot be is named');
  await editor.screenshot('trusted');
  await editor.openFile('softmax.cu');
  const card = await editor.hover('softmax_forward1(', 'versions');
  assert.match(card, /Lineage \d+ versions/);
  step('history is mined now');
  await editor.page.keyboard.press('Escape');
  await editor.clickOn('softmax_forward1(');
  await editor.runCommand('Check This Kernel on the Emulated Device');
  await editor.notification('softmax_forward1').waitFor({ timeout: 90_000 });
  step(`the check: ${(await editor.notification('softmax_forward1').innerText()).replaceAll('\n', ' ')}`);
  assert.deepEqual(fs.readdirSync(marks), [], 'no module of the folder was imported');
}
