// A machine without klineage: the extension makes an environment of its own, without an index, and finds a planted race.
// The walkthrough's buttons lead there, as a new user presses them. What is measured: from installing the VSIX to the diagnostic.
// Proofs work there too: an index is shown to overflow, and widened.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { until } from './editor.mjs';
import { OVERFLOWS, RACE } from './kernels.mjs';
import { files, play, toolkit } from './play.mjs';

const began = Date.now();

/** Opens the walkthrough, and gives what presses a button of one of its steps. */
async function walkthrough(editor) {
  await editor.runCommand('Welcome: Open Walkthrough...');
  await editor.page.locator('.quick-input-list .monaco-list-row', { hasText: 'to a First Verdict' }).first().click();
  const shown = editor.page.locator('.gettingStartedContainer:visible');
  return async (title, button) => {
    const step = shown.locator('.getting-started-step', { hasText: title });
    await step.click();
    await editor.screenshot(`walkthrough-${title.split(' ').at(-1)}`);
    await step.locator('.monaco-button', { hasText: button }).click();
  };
}

await play(
  {
    name: 'no klineage',
    prepare: files({ 'sum.cu': RACE, 'rows.cu': OVERFLOWS, 'README.md': 'A folder that nobody has trusted yet.\n' }),
    vsix: 'kernel-lineage-linux-x64.vsix',
    asksForTrust: true,
    // The system's Python alone, the compiler of a toolkit, and no way to any index.
    env: { PATH: '/usr/bin:/bin', CUDA_HOME: toolkit, http_proxy: 'http://127.0.0.1:9', https_proxy: 'http://127.0.0.1:9' },
  },
  async ({ editor, workspace, step }) => {
    await editor.openFile('sum.cu');
    const missing = editor.notification('Kernel Lineage needs its Python package');
    await missing.waitFor();
    await editor.screenshot('no-klineage');
    step('the extension says what is missing, and offers to make it');
    const asked = Date.now();
    const press = await walkthrough(editor);
    await press('Install the Python package', 'Make an Environment');
    await editor.notification('packages that the extension brings along').waitFor();
    await editor.screenshot('making-environment');
    await editor.openFile('sum.cu');
    const hover = await editor.hover('block_sum(float', 'CUDA C++ kernel');
    assert.match(hover, /not trusted/);
    step(`the environment is there after ${((Date.now() - asked) / 1000).toFixed(1)} s, and the server runs in it`);
    await editor.page.keyboard.press('Escape');
    await editor.trust();
    await editor.openFile('sum.cu');
    await editor.page.locator('.squiggly-error').first().waitFor({ timeout: 180_000 });
    const said = await editor.hover('buf[threadIdx.x] +=', 'race on shared buf');
    assert.match(said, /thread \(\d+, 0, 0\)/);
    await editor.screenshot('first-diagnostic');
    step(`from installing the VSIX to the diagnostic of a planted race: ${((Date.now() - began) / 1000).toFixed(1)} s`);
    await editor.page.keyboard.press('Escape');
    await editor.clickOn('buf[threadIdx.x] +=');
    await (await walkthrough(editor))('See how a kernel came about', 'Draw the Lineage');
    await editor.notification('git repository').waitFor();
    await (await walkthrough(editor))('See whether a kernel is right', 'Check the Kernel at the Cursor');
    await editor.openFile('sum.cu');
    await editor.lens('✗ race');
    await until('the menu of skills', async () => {
      await (await walkthrough(editor))('Apply a skill, and read the verdict', 'Apply a Skill');
      const menu = editor.page.locator('.action-widget').first(); // it closes when the lines above kernels are drawn anew
      return menu.waitFor({ timeout: 5_000 }).then(() => true, () => false);
    });
    await editor.screenshot('walkthrough-skill');
    await editor.page.keyboard.press('Escape');
    step("the walkthrough's buttons are about the kernel that was left for it");

    await editor.openFile('rows.cu');
    const overflow = await editor.lens('address overflow');
    step(`what no case reaches: ${overflow}`);
    const guilty = /line 3/.test(overflow) ? 'row * C' : 'base + i'; // the product, or the sum that it is in
    const shown = await editor.hover(guilty, 'does not fit int32');
    assert.match(shown, /Callers come with B <= 64, T <= 8192, C <= 8192/);
    await editor.screenshot('overflow');
    await editor.page.keyboard.press('Escape');
    await editor.clickOn(guilty);
    await editor.chooseAction('Repair rows: widen the index');
    const verdict = editor.notification('rows is right with');
    await verdict.waitFor({ timeout: 120_000 });
    await editor.screenshot('widened');
    await verdict.locator('.monaco-button', { hasText: 'Apply' }).click();
    await editor.lens('✓ right');
    await editor.page.keyboard.press('Control+s');
    const file = path.join(workspace, 'rows.cu');
    await until('the wide index on disk', () => fs.readFileSync(file, 'utf8').includes('long long base = (long long)row * C;'));
    step('a quick fix widens the index, after a check and the proof');

    await editor.runCommand('Kernel Lineage: Show Debug Information');
    await until('which klineage is used', () => editor.place("the extension's own environment"));
    await editor.screenshot('own-environment');
  },
);
