// The Test Explorer outside of an editor: a check in the background is a result of its test, once.
import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from './load.mjs';

class Items extends Map {
  replace(items) {
    assert.equal(new Set(items.map(({ id }) => id)).size, items.length, 'no two tests have one id');
    this.clear();
    items.forEach((item) => this.add(item));
  }
  add(item) {
    item.parent = this.owner;
    this.set(item.id, item);
  }
}

/** An editor that writes down what tests are told. */
function editorWith(told) {
  class Place { constructor(...values) { this.values = values; this.start = { line: values[0], character: values[1] }; } }
  const run = () => Object.fromEntries(
    ['enqueued', 'started', 'passed', 'failed', 'skipped', 'errored', 'appendOutput', 'end'].map((what) => [
      what, (item, more) => ['passed', 'failed', 'skipped'].includes(what) && told.push([what, item.id, more]),
    ]),
  );
  const controller = {
    items: new Items(), profiles: {},
    createTestItem(id, label, uri) {
      const item = { id, label, uri, children: new Items() };
      item.children.owner = item;
      return item;
    },
    createTestRun: run,
    invalidateTestResults: (items) => items.forEach((item) => told.push(['outdated', item.id])),
    createRunProfile(name, kind, handler) { this.profiles[name] = handler; },
  };
  return {
    controller,
    tests: { createTestController: () => controller },
    TestRunRequest: Place, Range: Place, Position: Place, TestMessage: class { constructor(message) { this.message = message; } },
    Location: class { constructor(uri, position) { Object.assign(this, { uri, position }); } },
    TestRunProfileKind: { Run: 1, Debug: 3 },
    EventEmitter: class {},
    Uri: { parse: (text) => ({ toString: () => text }) },
    workspace: { asRelativePath: String, onDidCloseTextDocument: () => undefined, textDocuments: [] },
  };
}

const RACE = { line: 7, message: 'sum: race on shared buf[0]' };
const kernel = (name, state, more = {}) => ({ kernel: name, line: 3, character: 0, state, wrong: state === 'wrong', outdated: false, reason: '', findings: [], passed: [], ...more });

test('what a check in the background says is the state of its test, until it says something else', async () => {
  const told = [];
  const editor = editorWith(told);
  const { registerTests } = await load('tests.ts', editor);
  let kernels = [];
  let checked;
  const asked = [];
  const running = { sendRequest: async (_type, { command }) => { asked.push(command); return command === 'klineage.kernels' ? kernels : {}; } };
  registerTests({ subscriptions: [] }, { running, onChecked: (listener) => { checked = listener; } });
  const check = async (...now) => {
    kernels = now;
    told.length = 0;
    checked('file:///sum.cu');
    await new Promise((resolve) => setTimeout(resolve, 5));
    return told.map(([what, id, more]) => [what, id, ...(more ? [`${more[0].message} at ${more[0].location.position.values[0]}`] : [])]);
  };
  const first = await check(
    kernel('sum', 'wrong', { findings: [RACE] }), kernel('twice', 'right', { passed: ['n 1'] }), kernel('fill', 'unknown', { reason: 'no launch' }),
    kernel('later', null), kernel('sum', null),
  );
  assert.deepEqual(first, [
    ['failed', 'sum', 'sum: race on shared buf[0] at 6'], ['passed', 'n 1'], ['passed', 'twice'], ['skipped', 'fill'],
  ]);
  const file = editor.controller.items.get('file:///sum.cu');
  assert.equal(file.children.get('fill').description, 'not decided: no launch');
  assert.deepEqual([...file.children.keys()], ['sum', 'twice', 'fill', 'later', 'sum:1']);
  const second = await check(kernel('sum', 'right'), kernel('twice', 'right', { passed: ['n 1'] }));
  assert.deepEqual(second, [['passed', 'sum']], 'only what is new');
  const shown = { wrong: true, passed: ['n 1'], findings: [{ line: 4, message: 'overflow' }] };
  const third = await check(kernel('sum', 'right'), kernel('twice', 'unknown', shown));
  assert.deepEqual(third, [['passed', 'n 1'], ['failed', 'twice', 'overflow at 3']], 'as the line above the kernel says');
  await check(kernel('sum', 'right'), kernel('twice', 'unknown'));
  assert.equal(file.children.get('twice').children.size, 0, 'no case makes it look as if it had passed');
  const edited = await check(kernel('sum', 'unknown', { outdated: true }), kernel('twice', 'unknown'));
  assert.deepEqual(edited, [['outdated', 'sum']], 'an edit makes a result one of before, and no other one');
  assert.equal(file.children.get('sum').description, 'edited since its check');
  assert.deepEqual(await check(kernel('sum', 'right'), kernel('twice', 'unknown')), [['passed', 'sum']], 'checked again it is a result');

  kernels = [kernel('sum', 'wrong', { findings: [RACE] })];
  told.length = 0;
  const request = { include: [file.children.get('sum')] };
  const run = editor.controller.profiles.Check(request, { isCancellationRequested: false });
  checked('file:///sum.cu'); // the check of the run itself ends
  await run;
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.ok(asked.includes('klineage.check'), 'the server checks, so that the line above the kernel says it too');
  assert.deepEqual(told.map(([what, id]) => [what, id]), [['failed', 'sum']], 'a run tells its tests alone');
});
