// An accepted verdict is shown and applied. The times are recorded ones of an H200 in place of the emulated device's none;
// everything else is judged here, by `klineage judge` behind a stand-in for ssh (`klineage.remote`).
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { until } from './editor.mjs';
import { play, python, root, sample } from './play.mjs';

const recorded = path.join(root, 'tests/editor/vscode/recorded_h200.py');

await play(
  {
    name: 'accepted, with recorded times of an H200',
    prepare(workspace, base) {
      sample(workspace);
      fs.mkdirSync(path.join(base, 'programs'));
      const ssh = `#!/bin/sh\necho "$@" >> ${base}/asked\nexec ${python} ${recorded}\n`;
      fs.writeFileSync(path.join(base, 'programs/ssh'), ssh, { mode: 0o755 });
    },
    settings: { 'klineage.interpreter': python, 'klineage.remote': 'ssh://gpu-box' },
    env: (base) => ({ PATH: `${path.join(base, 'programs')}:${process.env.PATH}` }),
  },
  async ({ editor, workspace, base, step }) => {
    const file = path.join(workspace, 'kernels/activation.cu');
    const before = fs.readFileSync(file, 'utf8');
    await editor.openFile('activation.cu');
    await editor.page.keyboard.press('Control+b');
    await editor.page.locator('.codelens-decoration', { hasText: '✓ right' }).first().waitFor({ timeout: 120_000 });
    await editor.clickOn('a[i]');
    await editor.act('Vectorised row access', /Vectorised row access in residual_forward|Accepted: faster/);
    const verdict = editor.notification('Accepted: faster');
    await verdict.waitFor({ timeout: 180_000 });
    assert.match(fs.readFileSync(path.join(base, 'asked'), 'utf8'), /BatchMode=yes .* -- gpu-box klineage judge/);
    assert.equal(fs.readFileSync(file, 'utf8'), before, 'a verdict alone changes nothing');
    await editor.page.locator('.line-insert').first().waitFor();
    step(`the verdict of the other machine: ${(await verdict.innerText()).replaceAll('\n', ' ')}`);
    await verdict.locator('.monaco-button', { hasText: 'Details' }).click();
    const page = editor.shown();
    await page.getByRole('heading', { name: 'Counted on the emulated device' }).waitFor();
    await page.locator('figcaption', { hasText: 'Times at n 33554432' }).waitFor();
    assert.match(await page.locator('pre.diff').innerText(), /\+.*float4/);
    step('the verdict is one page: difference, counts before and after, times as a plot');
    await editor.page.mouse.move(5, 5);
    await editor.screenshot('verdict');
    await editor.runCommand('View: Close All Editors in Group'); // the page's
    await editor.runCommand('Notifications: Clear All Notifications');
    await editor.page.getByRole('button', { name: 'Apply the Accepted Change' }).click();
    await until('the edit', async () => (await editor.page.locator('.tab.active.dirty', { hasText: 'activation.cu' }).count()) > 0);
    step('a difference keeps its buttons when the notification has gone, and what was applied is shown');
    await editor.page.keyboard.press('Control+s');
    await until('the change on disk', () => fs.readFileSync(file, 'utf8').includes('float4'));
    await editor.page.locator('.codelens-decoration', { hasText: '✓ right' }).first().waitFor({ timeout: 120_000 });
    step(`what was measured of it stands above it: ${await editor.lens('82 % of peak (H200)')}`);
    await editor.screenshot('applied');
    step('applied and saved; the kernel is right as it stands now');
    await editor.page.keyboard.press('Control+z');
    await editor.page.keyboard.press('Control+s');
    await until('one undo takes it back', () => fs.readFileSync(file, 'utf8') === before);
    await editor.lens('50 % of peak (H200)');
    step('one undo takes it back');
  },
);
