// The extension's own parts, outside of an editor: a row as it is drawn, and that the manifest and the code agree.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test from 'node:test';

import { load, root, sources } from './load.mjs';

const manifest = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8')).contributes;
const code = fs.readdirSync(sources).map((name) => fs.readFileSync(path.join(sources, name), 'utf8')).join('\n');

const ROW = {
  id: 'v1', label: 'softmax 1a2b3c4', description: 'optimisation', tooltip: '', icon: 'rocket', color: '', spoken: '',
  kind: 'version before', open: null, data: {}, expanded: false, children: [],
};

test('a row says the same to a screen reader, with a theme icon and its command', async () => {
  const { treeItem } = await load('views.ts');
  const plain = treeItem(ROW);
  assert.deepEqual(plain.accessibilityInformation, { label: 'softmax 1a2b3c4, optimisation' });
  assert.deepEqual(plain.iconPath.values, ['rocket', undefined]);
  assert.equal(plain.state, 0);
  assert.equal(plain.tooltip, ROW.label);
  assert.equal(plain.command, undefined);
  const open = { command: 'klineage.openVersion', title: 'Open', arguments: [{ version: 'v1' }] };
  const full = treeItem({ ...ROW, spoken: 'version one', color: 'testing.iconPassed', open, children: [ROW], expanded: true });
  assert.deepEqual(full.accessibilityInformation, { label: 'version one' });
  assert.deepEqual(full.iconPath.values[1].values, ['testing.iconPassed']);
  assert.equal(full.state, 2);
  assert.deepEqual(full.command, open);
});

test('the wheels that a VSIX carries say for which Pythons they are, and where their environment will be', async () => {
  const { Wheels } = await load('environment.ts');
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'klineage-wheels-'));
  const context = { asAbsolutePath: (name) => path.join(folder, name), globalStorageUri: { fsPath: path.join(folder, 'kept') } };
  assert.equal(Wheels.of(context), undefined, 'a build that carries none');
  fs.mkdirSync(path.join(folder, 'dist/wheels'), { recursive: true });
  const names = ['numpy-2.5.5-cp312-cp312-manylinux_2_28_x86_64.whl', 'numpy-2.4.6-cp311-cp311-manylinux_2_28_x86_64.whl',
    'cryptography-50.0.2-cp311-abi3-manylinux_2_28_x86_64.whl', 'pip-26.3-py3-none-any.whl'];
  for (const name of ['lock.txt', ...names]) {
    fs.writeFileSync(path.join(folder, 'dist/wheels', name), '');
  }
  const wheels = Wheels.of(context);
  assert.deepEqual(wheels.pythons, ['3.12', '3.11']);
  assert.equal(wheels.command, undefined, 'not made yet');
  fs.rmSync(folder, { recursive: true });
});

test('every command of the manifest is registered, and every menu names one of them', () => {
  const declared = new Set(manifest.commands.map(({ command }) => command));
  const named = Object.values(manifest.menus).flat().map(({ command }) => command);
  const linked = manifest.viewsWelcome.flatMap(({ contents }) => [...contents.matchAll(/\(command:(klineage\.[\w.]+)\)/g)]);
  for (const command of [...named, ...linked.map(([, command]) => command)]) {
    assert.ok(declared.has(command), `${command} is declared`);
  }
  for (const command of declared) {
    const refresh = command.startsWith('klineage.refresh.');
    assert.ok(refresh || code.includes(`'${command}'`), `${command} is registered`);
  }
});

test('a view that is empty says what to do next, in every state that it can be in', () => {
  const states = fs.readFileSync(path.join(root, 'server/kernel_lineage/editor/views/tree.py'), 'utf8');
  const known = [...states.split('class State')[1].split('class Link')[0].matchAll(/^ {4}[A-Z_]+ = "([\w-]+)"/gm)].map(([, s]) => s);
  assert.ok(known.includes('mining'));
  const said = (view) => manifest.viewsWelcome.filter((w) => w.view === `klineage.${view}View`).map((w) => w.when.split('== ')[1]);
  // A problem is shown in its own words; a kernel that was found has a version.
  const lineage = known.filter((state) => !['ready', 'problem'].includes(state));
  assert.deepEqual(said('lineage').sort(), [...lineage, 'no-server'].sort());
  for (const { id } of manifest.views.klineage) {
    const view = id.slice('klineage.'.length, -'View'.length);
    assert.ok(said(view).includes('no-server'), view);
    assert.ok(said(view).length > 1, view);
  }
});
