// Files of every kind in a folder without git: no kernel at all, Triton, and 5,000 lines with 500 kernels.
import assert from 'node:assert/strict';

import { plain } from './editor.mjs';
import { LONG, TRITON } from './kernels.mjs';
import { files, play, python } from './play.mjs';

const PLAIN = 'int twice(int n) {\n    return 2 * n;\n}\n';

await play(
  {
    name: 'kinds of files',
    prepare: files({ 'tool.py': 'print("no kernel here")\n', 'host.cu': PLAIN, 'add.py': TRITON, 'long.cu': LONG }),
    settings: { 'klineage.interpreter': python },
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
