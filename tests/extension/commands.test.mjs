// Commands outside of an editor: what a check that did not run anything leads to.
import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from './load.mjs';

const PLACE = { uri: 'file:///a.cu', line: 3, character: 0 };

/** An editor in which the first button of each notification is pressed, and what then ran. */
async function checked(answer) {
  const shown = [];
  const ran = [];
  const commands = new Map();
  const editor = {
    window: { showInformationMessage: async (...words) => (shown.push(words), words[1]) },
    commands: {
      registerCommand: (id, run) => commands.set(id, run),
      executeCommand: async (...words) => ran.push(words),
    },
    workspace: { registerTextDocumentContentProvider: () => undefined },
    Uri: { parse: String, from: String },
    EventEmitter: class {},
  };
  const { registerCommands } = await load('commands.ts', editor);
  const server = { running: { sendRequest: async () => answer } };
  registerCommands({ subscriptions: [] }, server, {}, {});
  await commands.get('klineage.checkKernel')(PLACE);
  await new Promise(setImmediate);
  return { shown, ran };
}

test('where nothing says how a kernel is run, the notice has the button that writes it down', async () => {
  const lacks = { uri: PLACE.uri, kernel: 'first' };
  const { shown, ran } = await checked({ state: 'unclear', message: 'first is not decided', lacks });
  assert.deepEqual(shown, [['first is not decided', 'Write Down How It Is Run']]);
  assert.deepEqual(ran, [['klineage.draftWorkload', lacks]]);
});

test('a check that ran has no such button, and one that shows what is wrong no notice', async () => {
  assert.deepEqual(await checked({ state: 'right', message: 'first is right', lacks: null }), { shown: [['first is right']], ran: [] });
  assert.deepEqual(await checked({ state: 'wrong', message: 'a race', lacks: null }), { shown: [], ran: [] });
});
