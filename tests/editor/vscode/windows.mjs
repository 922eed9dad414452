// Two windows have a server each. One is stopped dead, one is killed, a job is cancelled: the other window does not notice.
// A window of several folders has one server for all of them; one whose folder is on no disk has none, and is told why.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { until } from './editor.mjs';
import { RIGHT } from './kernels.mjs';
import { files, play, python } from './play.mjs';

await play({ name: 'two windows', settings: { 'klineage.interpreter': python } }, async ({ editor, workspace, base, step }) => {
  const servers = () => editor.processesWith('serve');
  const alive = (pid) => servers().includes(pid);
  await editor.openFile('reduction.cu');
  await editor.lens('✓ right');
  const [own] = servers();
  const second = path.join(base, 'second');
  files({ 'sum.cu': RIGHT })(second);
  const other = await editor.openWindow(second);
  await other.openFile('sum.cu');
  await other.lens('✓ right');
  assert.equal(servers().length, 2, 'a server for each window');
  const others = servers().find((pid) => pid !== own);
  step('two windows have a server each');

  process.kill(own, 'SIGKILL');
  const notice = editor.notification('stopped unexpectedly');
  await notice.waitFor();
  await editor.screenshot('killed');
  await other.clickOn('__syncthreads();');
  await other.page.keyboard.press('Control+/');
  await other.page.locator('.squiggly-error').first().waitFor({ timeout: 120_000 });
  await other.screenshot('other-window');
  step('a server that is killed says so, and the other window finds a race meanwhile');
  await notice.locator('.monaco-button', { hasText: 'Restart' }).click();
  await editor.lens('✓ right');
  const again = servers().find((pid) => pid !== others);
  step('it is started again');

  process.kill(again, 'SIGSTOP');
  await editor.runCommand('Kernel Lineage: Restart Server');
  await until('the server that does not answer is ended', () => !alive(again));
  await editor.lens('✓ right');
  assert.ok(alive(others), 'the server of the other window is the one that it was');
  step('a server that does not answer is ended, and another one started');

  const file = path.join(workspace, 'kernels/activation.cu');
  const before = fs.readFileSync(file, 'utf8');
  await editor.openFile('activation.cu');
  await editor.clickOn('a[i]');
  await editor.act('Vectorised row access', 'Vectorised row access in residual_forward');
  const running = editor.notification('Vectorised row access in residual_forward');
  await running.locator('.monaco-button', { hasText: 'Cancel' }).click();
  await editor.notification('cancelled. Nothing was changed.').waitFor();
  await editor.screenshot('cancelled');
  assert.equal(fs.readFileSync(file, 'utf8'), before);
  step('a job that is cancelled says so, and has changed nothing');

  const both = path.join(base, 'both.code-workspace');
  fs.writeFileSync(both, JSON.stringify({ folders: [{ path: workspace }, { path: second }] }));
  await other.page.close();
  await until('its server has ended', () => !alive(others));
  const of = servers();
  const several = await editor.openWindow(both);
  await several.openFile('sum.cu');
  await several.lens('✓ right');
  await several.openFile('softmax.cu');
  await several.hover('softmax_forward1(', '4 versions');
  await several.screenshot('several-folders');
  assert.equal(servers().filter((pid) => !of.includes(pid)).length, 1, 'one server for both folders');
  step('a window of two folders has one server, which mines the folder that is a repository and checks the other');

  const nowhere = path.join(base, 'nowhere.code-workspace');
  fs.writeFileSync(nowhere, JSON.stringify({ folders: [{ uri: 'vscode-vfs://github/someone/kernels' }] }));
  await several.page.close();
  const virtual = await editor.openWindow(nowhere);
  await virtual.runCommand('Extensions: Show Installed Extensions');
  await until('the page of the extension', async () => {
    await virtual.page.locator('.extension-list-item', { hasText: 'Kernel Lineage' }).first().click();
    const reason = virtual.page.locator('.extension-editor', { hasText: 'from a disk: clone the repository' });
    return reason.waitFor({ timeout: 5_000 }).then(() => true, () => false); // a list that is filled anew takes no click
  });
  await virtual.screenshot('virtual');
  step('a folder that is on no disk is refused with the reason');
});
