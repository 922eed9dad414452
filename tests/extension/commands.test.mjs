// Commands outside of an editor: what a check that did not run anything leads to.
import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from './load.mjs';

const PLACE = { uri: 'file:///a.cu', line: 3, character: 0 };

/** An editor in which a button of each notification is pressed, by default the first, and what then ran. */
async function checked(answer, pressed = 1) {
  const shown = [];
  const ran = [];
  const texts = [];
  const commands = new Map();
  const editor = {
    window: { showInformationMessage: async (...words) => (shown.push(words), words.at(pressed)) },
    commands: {
      registerCommand: (id, run) => commands.set(id, run),
      executeCommand: async (...words) => ran.push(words),
    },
    workspace: { registerTextDocumentContentProvider: (_scheme, provider) => texts.push(provider) },
    Uri: { parse: String, from: ({ path }) => path },
    EventEmitter: class { fire() {} },
  };
  const { registerCommands } = await load('commands.ts', editor);
  const server = { running: { sendRequest: async () => answer } };
  registerCommands({ subscriptions: [] }, server, {}, {});
  await commands.get('klineage.checkKernel')(PLACE);
  await new Promise(setImmediate);
  return { shown, ran, open: (uri) => texts[0].provideTextDocumentContent(uri) };
}

test('where nothing says how a kernel is run, the notice has the button that writes it down', async () => {
  const lacks = { uri: PLACE.uri, kernel: 'first' };
  const { shown, ran } = await checked({ state: 'unclear', message: 'first is not decided', lacks });
  assert.deepEqual(shown, [['first is not decided', 'Write Down How It Is Run']]);
  assert.deepEqual(ran, [['klineage.draftWorkload', lacks]]);
});

test('a check that ran has no such button, and one that shows what is wrong no notice', async () => {
  const right = await checked({ state: 'right', message: 'first is right', lacks: null });
  assert.deepEqual([right.shown, right.ran], [[['first is right']], []]);
  const wrong = await checked({ state: 'wrong', message: 'a race', lacks: null });
  assert.deepEqual([wrong.shown, wrong.ran], [[], []]);
});

const LONG = `first is not decided: a.cu leaves the shape of x open. ${'Nothing allocates `x`. '.repeat(12)}`;

test('a message that a notification would cut is its first sentence, with a button that opens the whole', async () => {
  const { shown, ran, open } = await checked({ state: 'unclear', message: LONG, lacks: null });
  assert.deepEqual(shown, [['first is not decided: a.cu leaves the shape of x open.', 'Details']]);
  assert.deepEqual(ran, [['markdown.showPreview', '/Details.md']]);
  assert.equal(open('/Details.md').replaceAll('\\', ''), LONG);
});

test('its other buttons stay, and stand before that one', async () => {
  const lacks = { uri: PLACE.uri, kernel: 'first' };
  const { shown, ran } = await checked({ state: 'unclear', message: LONG, lacks });
  assert.deepEqual(shown[0].slice(1), ['Write Down How It Is Run', 'Details']);
  assert.deepEqual(ran, [['klineage.draftWorkload', lacks]]);
});

test('a first sentence that is too long ends with a word', async () => {
  const { inShort } = await load('notices.ts', { EventEmitter: class {} });
  const short = inShort(`a reason of ${'many words, '.repeat(30)}`);
  assert.match(short, /^a reason of many.* (many|words) …$/);
  assert.ok(short.length <= 202);
  assert.equal(inShort('short. And whole.'), 'short. And whole.');
});

test('what the server says by itself is cut in the same way, and keeps its kind', async () => {
  const said = [];
  const window = { showWarningMessage: (...words) => said.push(['warning', ...words]), showInformationMessage: (...words) => said.push(['note', ...words]) };
  const { noticeOfServer } = await load('notices.ts', { EventEmitter: class {}, window });
  noticeOfServer({ type: 2, message: LONG });
  noticeOfServer({ type: 3, message: 'a.toml sees a wrong first' });
  assert.deepEqual(said, [
    ['warning', 'first is not decided: a.cu leaves the shape of x open.', 'Details'],
    ['note', 'a.toml sees a wrong first'],
  ]);
});
