// The scenario that a person lives through: open a kernel of the sample repository, read the card, ask for the change,
// get the verdict. Without a GPU nothing is changed and the reason is shown.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

import { Audit, unnamed } from './audit.mjs';
import { plain, until } from './editor.mjs';
import { isOldest, play, python } from './play.mjs';

let audit, editor, workspace, step;
await play({ name: 'a session', settings: { 'klineage.interpreter': python } }, async (played) => {
  ({ editor, workspace, step } = played);
  audit = new Audit(editor);
  await scenario();
});

async function scenario() {
  await editor.openFile('softmax.cu');
  await editor.page.keyboard.press('Control+b'); // only the code in the pictures
  const lineage = await editor.hover('softmax_forward1(', 'versions');
  step('a hover says what a kernel is and where it comes from');
  assert.match(lineage, /softmax_forward1 · CUDA C\+\+ kernel/);
  assert.match(lineage, /Lineage 4 versions, 3 transitions/);
  await editor.screenshot('kernel');
  await editor.page.keyboard.press('Escape');
  await editor.page.mouse.move(5, 5);
  const steps = editor.page.locator('.codelens-decoration a', { hasText: '3 steps' }).first();
  await until('the steps of a kernel are drawn', async () => {
    await steps.click(); // a line that is drawn anew as it is clicked, because a check has ended, does nothing
    return editor.shown().locator('svg.lineage .row').nth(2).waitFor({ timeout: 10_000 }).then(() => true, () => false);
  }, 60_000);
  await audit.keep('timeline');
  await editor.screenshot('timeline');
  step('the steps of a kernel are drawn beside it');
  await editor.runCommand('View: Close All Editors');

  const file = path.join(workspace, 'kernels/activation.cu');
  const before = fs.readFileSync(file, 'utf8');
  await editor.openFile('activation.cu');
  const card = await editor.hover('a[i]', 'Can be done now');
  step('a hover on an anchor shows what is expected, the open condition and that it can be done');
  assert.match(card, /Vectorised row access/);
  assert.match(card, /Apply through the gate · Why/);
  await editor.screenshot('hover');
  await editor.page.locator('.monaco-hover:visible a', { hasText: 'Why' }).first().click();
  const conditions = editor.shown().locator('li');
  await conditions.filter({ hasText: '✗ n % 4 == 0' }).first().waitFor();
  await conditions.filter({ hasText: '? align(a) >= 16' }).first().waitFor();
  await editor.page.mouse.move(5, 5);
  await editor.page.keyboard.press('Escape');
  await editor.screenshot('cards');
  await editor.runCommand('View: Close All Editors');
  await editor.openFile('activation.cu');
  step('every condition is on a page of its own');

  const workload = path.join(workspace, '.klineage/workloads/residual_forward.toml');
  fs.writeFileSync(workload, fs.readFileSync(workload, 'utf8').replace('4096, 1003', '4096'));
  await editor.clickOn('a[i]');
  await editor.act('Vectorised row access', 'Vectorised row access in residual_forward');
  step('the code action started the gate');
  const verdict = editor.notification('Nothing was changed.');
  await verdict.waitFor({ timeout: 120_000 });
  const said = await verdict.innerText();
  step(`the verdict: ${said.replaceAll('\n', ' ')}`);
  assert.match(said, /Right, speed not shown \(build, check.* passed\): not profiled/);
  await verdict.locator('.monaco-button', { hasText: 'Show Difference' }).click();
  await editor.page.locator('.tab', { hasText: '(inconclusive)' }).waitFor();
  await editor.page.locator('.line-insert').first().waitFor();
  await editor.page.mouse.move(5, 5);
  await editor.screenshot('difference');
  step('the difference is shown');

  // Saving what is shown is no way around the gate: at most the editor asks where a copy should go.
  await editor.page.keyboard.press('Control+s');
  const asked = editor.page.locator('.quick-input-widget', { hasText: 'Save As' });
  await asked.waitFor({ timeout: 3_000 }).catch(() => undefined);
  if (await asked.isVisible()) {
    await editor.page.keyboard.press('Escape');
    await asked.waitFor({ state: 'hidden' });
  }
  assert.equal(fs.readFileSync(file, 'utf8'), before, 'the file on disk is as it was');
  assert.equal(await editor.page.locator('.tab.dirty').count(), 0, 'no document was changed');
  step('nothing was changed');
  await keep(file, before);
  await editor.runCommand('View: Close All Editors');
  await checkWhileTyping();
  await testExplorer();
  await views();
  await workloadFile();
}

/** Without a GPU the candidate has a life: it is a page, a file of its own, or what is pasted elsewhere. */
async function keep(file, before) {
  const verdict = editor.notification('Nothing was changed.');
  await verdict.locator('.monaco-button', { hasText: 'Details' }).click();
  await editor.shown().getByRole('heading', { name: 'Counted on the emulated device' }).waitFor();
  await editor.shown().locator('pre.diff .add', { hasText: 'float4' }).first().waitFor();
  await audit.keep('verdict');
  await editor.screenshot('page');
  if (!isOldest()) {
    assert.deepEqual(await audit.problems(), []);
    step('the pages are readable in four themes, by keyboard and by a screen reader, says an audit');
  }
  await verdict.locator('.monaco-button', { hasText: 'Keep as a File' }).click();
  const asked = editor.page.locator('.quick-input-widget', { hasText: 'Keep the candidate as a file' });
  await asked.waitFor();
  await editor.screenshot('keep');
  await asked.locator('.monaco-button', { hasText: 'OK' }).click();
  const kept = file.replace('.cu', '.candidate.cu');
  await until('the candidate is kept as a file', () => fs.existsSync(kept) && fs.readFileSync(kept, 'utf8').includes('float4'));
  assert.equal(fs.readFileSync(file, 'utf8'), before, 'the kernel itself is as it was');
  fs.rmSync(kept);
  step('the candidate was kept as a file beside the kernel');
}

/** A barrier that is forgotten: underlined as it is typed, without a workload, and gone with the mistake. */
async function checkWhileTyping() {
  fs.rmSync(path.join(workspace, '.klineage/workloads'), { recursive: true });
  const file = path.join(workspace, 'kernels/reduction.cu');
  const right = fs.readFileSync(file, 'utf8');
  await editor.openFile('reduction.cu');
  // The line above the kernel moves the text when it comes.
  step(`the line above the kernel: ${await editor.lens('✓ right')}`);
  await editor.clickOn('__syncthreads();');
  await editor.page.keyboard.press('Control+/');
  const squiggle = editor.page.locator('.squiggly-error');
  await squiggle.first().waitFor({ timeout: 90_000 });
  step('a kernel that lost its barrier is underlined as it is typed, with a drafted workload');
  const said = await editor.hover('partial[tid] :', 'race on shared partial');
  assert.match(said, /thread \(\d+, 0, 0\)/);
  assert.match(said, /the other access of the race/);
  assert.match(said, /The workload is a draft/);
  step('the hover holds the counterexample');
  await editor.screenshot('race');
  await editor.page.keyboard.press('Escape');
  await editor.page.mouse.move(5, 5);
  step(`the line above the kernel: ${await editor.lens('✗ race')}`);
  await editor.clickOn('partial[tid] :');
  await editor.chooseAction('Repair reduce_sum: put the barrier back');
  const verdict = editor.notification('reduce_sum is right with');
  await verdict.waitFor({ timeout: 90_000 });
  await editor.page.locator('.line-insert').first().waitFor();
  await editor.screenshot('repair');
  await verdict.locator('.monaco-button', { hasText: 'Apply' }).click();
  await squiggle.first().waitFor({ state: 'detached', timeout: 90_000 });
  await editor.page.keyboard.press('Control+s');
  await until('the file is as it was', () => fs.readFileSync(file, 'utf8') === right);
  step('a quick fix put the barrier back, after a check; nothing is underlined');
  await editor.lens('✓ right');
  await editor.screenshot('right');
}

/** Each kernel is a test whose state is that of its last check; the cases of that are below it. */
async function testExplorer() {
  await editor.runCommand('Testing: Focus on Test Explorer View');
  const kernel = editor.page.locator('.test-explorer .monaco-list-row', { hasText: 'reduce_sum' }).first();
  const file = editor.page.locator('.test-explorer .monaco-list-row', { hasText: 'reduction.cu' }).first();
  await file.waitFor();
  await until('the check of the background is a test that passed', async () => {
    if (!(await kernel.isVisible())) {
      await file.click();
      await editor.page.keyboard.press('ArrowRight');
    }
    return (await kernel.isVisible()) && (await kernel.locator('.codicon-testing-passed-icon').count()) > 0;
  }, 30_000);
  step('the Test Explorer shows what a check in the background said; nothing was run');
  const checking = editor.page.locator('.codelens-decoration', { hasText: 'checking' }).first();
  await until('a check that the Test Explorer runs', async () => {
    await editor.clickOn('partial[tid] :');
    await editor.runCommand('Test: Run Tests in Current File'); // an editor that is busy loses it
    return checking.waitFor({ timeout: 10_000 }).then(() => true, () => false);
  });
  await until('the kernel has passed again', async () => (await kernel.locator('.codicon-testing-passed-icon').count()) > 0, 90_000);
  await editor.lens('✓ right at ');
  await editor.screenshot('tests');
  step('the Test Explorer ran the kernel, and the line above it followed');
  await editor.runCommand('Test: Debug Tests in Current File');
  await editor.page.locator('.tab', { hasText: 'reduce_sum.txt' }).waitFor({ timeout: 90_000 });
  await editor.place('See it again: klineage check');
  await editor.screenshot('debug-text');
  step('what is known of it is a text to read');
  await editor.runCommand('View: Close Editors in Other Groups');
  await editor.page.keyboard.press('Control+b');
}

/** What the views show, in words for a screen reader too, and that a row opens what it is about. */
async function views() {
  await editor.openFile('softmax.cu');
  await editor.clickOn('softmax_forward1(');
  await editor.runCommand('Kernel Lineage: Focus on Lineage View');
  const newest = editor.row('Lineage', 'softmax_forward4');
  await newest.waitFor();
  assert.match(plain(await newest.getAttribute('aria-label')), /optimisation.*: softmax_forward4 [0-9a-f]{7}, \d{4}-\d\d-\d\d/);
  await until('the difference of a step', async () => {
    await newest.click();
    return editor.page.locator('.tab', { hasText: '→' }).first().waitFor({ timeout: 5_000 }).then(() => true, () => false);
  });
  await editor.page.keyboard.press('ArrowRight');
  await editor.runCommand('Kernel Lineage: Focus on Devices View');
  await editor.row('Devices', 'Emulated device').waitFor();
  await editor.row('Devices', 'No GPU').or(editor.row('Devices', 'GiB')).first().waitFor();
  await editor.runCommand('Kernel Lineage: Focus on Runs View');
  const run = editor.row('Runs', 'reduction.cu');
  await run.waitFor();
  await editor.screenshot('views');
  await until('the page of a run', async () => {
    await run.click(); // a row that is drawn anew as it is clicked opens nothing
    return editor.shown().locator('h1').first().waitFor({ timeout: 5_000 }).then(() => true, () => false);
  });
  step(`the views: ${plain(await newest.getAttribute('aria-label'))}; ${plain(await run.getAttribute('aria-label'))}`);
  await editor.runCommand('Kernel Lineage: Focus on Skills View');
  await editor.row('Skills', 'Admitted').or(editor.row('Skills', 'Hypotheses')).first().waitFor();
  for (const view of ['Lineage', 'Skills', 'Runs', 'Devices']) {
    await until(`the keyboard in ${view}`, async () => {
      await editor.runCommand(`Kernel Lineage: Focus on ${view} View`); // a page that opens late takes the keyboard away
      const inside = () => editor.pane(view).evaluate((pane) => pane.contains(document.activeElement));
      return until('', inside, 5_000).catch(() => false);
    });
    assert.deepEqual(await unnamed(editor.pane(view)), [], view);
  }
  await editor.screenshot('skills');
  await editor.runCommand('View: Close All Editors');
  await editor.runCommand('View: Close Primary Side Bar');
  await editor.openFile('reduction.cu');
}

/** A mistake in a workload is underlined at its line, and what may stand there is offered. */
async function workloadFile() {
  const place = path.join(workspace, '.klineage/workloads');
  fs.mkdirSync(place, { recursive: true });
  const lines = ['kernel = "reduce_sum"', 'language = "cuda"', 'source = "kernels/reduction.cu"', '[dims]', 'n = [300]',
    '[[args]]', 'name = "out"', 'kind = "ouput"', 'dtype = "float32"', 'shape = [3]', '[launch]', 'grid = [3]', ''];
  fs.writeFileSync(path.join(place, 'reduce_sum.toml'), lines.join('\n'));
  await editor.openFile('reduce_sum.toml');
  await editor.page.locator('.squiggly-error').first().waitFor();
  const said = await editor.hover('"ouput"', 'What the kernel does with it'); // the last part of it to come
  assert.match(said, /args\[0\]\.kind: Input should be 'output'/);
  await editor.clickOn('"ouput"');
  await editor.page.keyboard.press('Escape');
  await editor.page.keyboard.press('Control+Space');
  await editor.page.locator('.suggest-widget .monaco-list-row', { hasText: '"inout"' }).first().waitFor();
  await editor.screenshot('workload');
  step('a workload is checked and completed as it is written');
  await editor.page.keyboard.press('Escape');
  await editor.runCommand('View: Close All Editors');
  fs.rmSync(place, { recursive: true });
  await editor.openFile('reduction.cu');
}
