// Files of every kind in a folder without git: no kernel at all, Triton, and 5,000 lines with 500 kernels.
import assert from 'node:assert/strict';

import fs from 'node:fs';

import { plain, until } from './editor.mjs';
import { LONG, TRITON } from './kernels.mjs';
import { files, isOldest, play, python } from './play.mjs';

const PLAIN = 'int twice(int n) {\n    return 2 * n;\n}\n';

const EDITS = 20;

/** Edits, saves and hovers one after another: what each leaves behind. `hour.mjs` is the long form. And what the start has cost. */
async function edits({ editor, step }) {
  const memory = (word) => {
    const pages = editor.processesWith(word).map((pid) => Number(fs.readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]));
    return Math.round(pages.reduce((a, b) => a + b, 0) * 4096 / 1e6);
  };
  const both = () => `server ${memory('serve')} MB, extension host ${memory('--type=extensionHost')} MB`;
  const before = memory('serve');
  step(`memory at first: ${both()}`);
  for (let edit = 0; edit < EDITS; edit += 1) {
    await editor.clickOn('x + y');
    await editor.page.keyboard.press('End');
    await editor.page.keyboard.type(edit % 2 === 0 ? ' ' : '#');
    await editor.page.keyboard.press('Control+s');
    await editor.hover('add_kernel(', 'Triton kernel');
    await editor.page.keyboard.press('Escape');
  }
  step(`memory after ${EDITS} edits, saves and hovers: ${both()}`);
  assert.ok(memory('serve') < 1.2 * before + 20, 'the server does not grow');

  await editor.runCommand('Developer: Show Running Extensions');
  const row = editor.page.locator('.runtime-extensions-editor .monaco-list-row', { hasText: 'Kernel Lineage' }).first();
  const took = /(\d+)\s*ms/.exec(plain(await row.innerText()))?.[1];
  step(`activation: ${took} ms in the extension host`); // a busy machine takes longer: a figure, no test
  await editor.screenshot('activation');
  await editor.runCommand('View: Close Editor');
}

await play(
  {
    name: 'kinds of files',
    prepare: files({ 'tool.py': 'print("no kernel here")\n', 'host.cu': PLAIN, 'add.py': TRITON, 'long.cu': LONG }),
    settings: { 'klineage.interpreter': python, 'klineage.hints.measured': true },
  },
  async ({ editor, step }) => {
    await editor.openFile('tool.py');
    await editor.page.waitForTimeout(2_000); // for something that must not happen
    assert.deepEqual(editor.processesWith('serve'), [], 'no server for a Python file without Triton');
    step('a Python file without Triton starts nothing');

    await editor.openFile('host.cu');
    await editor.runCommand('Kernel Lineage: Focus on Lineage View');
    await editor.pane('Lineage').locator('.welcome-view', { hasText: 'Put the cursor into a kernel' }).waitFor();
    assert.equal(await editor.page.locator('.codelens-decoration').count(), 0);
    await editor.screenshot('no-kernel');
    step('a file without kernels has no line above anything, and the view says what to do');

    await editor.openFile('add.py');
    step(`a Triton kernel: ${await editor.lens('✓ right')}`);
    const store = editor.page.locator('.view-line', { hasText: 'tl.store' }).first();
    const hinted = await until('a hint of what was counted', async () => /mask=mask\)(.*request)/.exec(plain(await store.innerText()))?.[1]);
    await editor.screenshot('hints');
    step(`what was counted stands beside the code: ${JSON.stringify(hinted)}`);
    await editor.clickOn('add_kernel(');
    await editor.runCommand('Kernel Lineage: Focus on Lineage View');
    await editor.pane('Lineage').locator('.welcome-view', { hasText: 'in no git repository' }).waitFor();
    await editor.screenshot('no-git');
    step('without git the view says why there is no lineage');
    await editor.runCommand('View: Close Primary Side Bar');
    await editor.clickOn('x + y,');
    await editor.page.keyboard.press('End');
    for (let key = 0; key < ', mask=mask)'.length; key += 1) {
      await editor.page.keyboard.press('Backspace');
    }
    await editor.page.keyboard.type(')');
    await editor.page.locator('.squiggly-error').first().waitFor({ timeout: 120_000 });
    step(`its store lost the mask: ${await editor.lens('✗')}`);
    await editor.hover('tl.store', 'out of bounds');
    await editor.screenshot('triton');
    await editor.page.keyboard.press('Escape');

    await editor.page.keyboard.press('Control+z');
    if (!isOldest()) await edits({ editor, step });

    await editor.openFile('long.cu');
    await editor.goTo(2504); // the guard of scale_250
    await editor.hover('scale_250(', 'CUDA C++ kernel');
    await editor.page.keyboard.press('Escape');
    await editor.runCommand('Check This Kernel on the Emulated Device');
    await editor.notification('scale_250 is right').waitFor({ timeout: 120_000 });
    await editor.goTo(2504);
    await editor.page.keyboard.press('Control+/');
    const asked = Date.now();
    await editor.hover('scale_250(', 'CUDA C++ kernel');
    step(`a hover in the middle of 5,000 lines, after an edit: ${Date.now() - asked} ms with all that a browser does`);
    await editor.page.keyboard.press('Escape');
    await editor.goTo(2504);
    await editor.runCommand('Check This Kernel on the Emulated Device');
    await editor.page.locator('.squiggly-error').first().waitFor({ timeout: 120_000 });
    await editor.page.mouse.move(5, 5);
    await editor.screenshot('long');
    step(`without its guard: ${plain(await editor.lens('✗'))}`);
  },
);
