// A folder that nobody has trusted yet and that wants to run: nothing of it does. Then its user trusts it, and it works; what
// its history, comments and names say is shown, and nothing of it acts.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

import { RIGHT } from './kernels.mjs';
import { play, python, sample } from './play.mjs';

const hostile = { 'klineage.check.seconds': 0, 'klineage.check.when': 'saving' };
const seen = 'The folder names no program any more';
/** What would show itself wherever it is taken for more than words: elements, scripts, images, links, a terminal's sequences. */
const ACTS = '<img src="https://evil.example/i.png" onerror="top.acted=1"><script>top.acted=1</script>'
  + ' ![i](https://evil.example/m.png) [Apply](command:workbench.action.terminal.new) \u001b]8;;https://evil.example\u0007\u001b[31m\u202e';
const EVIL = '<img src=x onerror=top.acted=1>.cu';
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
  const git = (...words) => execFileSync('git', ['-C', workspace, '-c', `user.name=${ACTS.replaceAll(/[<>]/g, '')}`,
    '-c', 'user.email=a@b.example', ...words], { stdio: 'pipe' });
  write(`kernels/${EVIL}`, RIGHT);
  git('add', '.');
  git('commit', '-q', '-m', `${ACTS}\n\n${ACTS}`);
  write(`kernels/${EVIL}`, `// ${ACTS}\n${RIGHT.replace('s /= 2', 's >>= 1').replace('__global__', '// [x](command:y) <b onclick=z>\n__global__')}`);
  git('commit', '-q', '-a', '-m', `optimise: faster ${ACTS}`);
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
  await acting();
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

/** The words of a hostile history and file in every place that shows them. */
async function acting() {
  const { page } = editor;
  const asked = [];
  page.context().on('request', (request) => asked.push(request.url()));
  let dialogs = 0;
  page.on('dialog', (dialog) => {
    dialogs += 1;
    void dialog.dismiss();
  });
  await page.evaluate(() => Object.defineProperty(window, 'acted', { value: undefined, writable: true }));

  await editor.openFile(EVIL);
  const card = editor.page.locator('.monaco-hover:visible');
  const said = await editor.hover('block_sum(', 'versions');
  step(`a hover on a kernel of a hostile history: ${said.replaceAll(/\s+/g, ' ').slice(0, 90)}`);
  await nothingIn(card);
  await editor.screenshot('hostile-hover');
  await page.keyboard.press('Escape');
  await page.mouse.move(5, 5);

  await editor.clickOn('block_sum(');
  await editor.runCommand('Kernel Lineage: Focus on Lineage View');
  const row = editor.row('Lineage', '< img src');
  await row.waitFor();
  await row.hover();
  await page.waitForTimeout(1_500); // for a tooltip, which may come or not
  await nothingIn(page.locator('.pane-body:visible, .monaco-hover:visible'));
  await page.mouse.move(5, 5);
  await editor.runCommand('Kernel Lineage: Draw the Lineage of the Kernel at the Cursor');
  await editor.shown().locator('svg.lineage .row').first().waitFor();
  await nothingIn(editor.shown().locator('body'));
  assert.match(await editor.shown().locator('body').innerText(), /faster <img src=/, 'the words themselves are shown');
  await editor.screenshot('hostile-timeline');
  step('lineage, its tooltip and the timeline show the words, and nothing of them acts');

  await editor.runCommand('View: Close Editors in Other Groups').catch(() => undefined);
  await editor.runCommand('Kernel Lineage: Focus on Runs View');
  const run = editor.row('Runs', '< img');
  await run.waitFor();
  await run.click();
  await editor.shown().locator('h1').first().waitFor();
  await nothingIn(editor.shown().locator('body'));
  await editor.screenshot('hostile-run');
  step('the page of a run names the file, and nothing of its name acts');

  const elsewhere = asked.filter((url) => /^https?:/.test(url) && /evil\.example/.test(url));
  assert.deepEqual(elsewhere, [], 'nothing was asked of another machine');
  assert.equal(dialogs, 0);
  for (const frame of page.frames()) {
    assert.equal(await frame.evaluate(() => window.acted).catch(() => undefined), undefined, `a script ran in ${frame.url()}`);
  }
  step('no script ran, no dialog opened, nothing was loaded from elsewhere');
}

/** No element of the hostile words within some elements: no image, script or handler, no link but to our own commands. */
async function nothingIn(place) {
  for (const one of await place.all()) {
    const found = await one.evaluate((root) => {
      const handlers = [...root.querySelectorAll('*')].filter((e) => [...e.attributes].some((a) => /^on/i.test(a.name)));
      const links = [...root.querySelectorAll('a')].map((a) => a.dataset.href ?? a.getAttribute('href') ?? '')
        .filter((href) => href !== '' && !/^command:klineage\.|^#/.test(href));
      const loaded = [...root.querySelectorAll('img, iframe, object, embed')].map((e) => e.outerHTML);
      const scripts = [...root.querySelectorAll('script')].filter((e) => /acted/.test(e.textContent)).map((e) => e.outerHTML);
      return { handlers: handlers.map((e) => e.outerHTML), links, loaded, scripts, control: /[\u001b\u202e]/.test(root.textContent) };
    });
    assert.deepEqual(found, { handlers: [], links: [], loaded: [], scripts: [], control: false });
  }
}
