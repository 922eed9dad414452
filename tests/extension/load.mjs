// A module of the extension, outside of an editor.
import { createRequire } from 'node:module';
import path from 'node:path';

import { build } from 'esbuild';

export const root = path.resolve(import.meta.dirname, '../..');
export const sources = path.join(root, 'extension/src');

/** What of the editor's interface a row needs. */
const EDITOR = `
  class Kept { constructor(...values) { this.values = values; } }
  module.exports = {
    TreeItemCollapsibleState: { None: 0, Collapsed: 1, Expanded: 2 },
    TreeItem: class { constructor(label, state) { Object.assign(this, { label, state }); } },
    ThemeIcon: Kept, ThemeColor: Kept, EventEmitter: Kept,
  };`;

const CLIENT = 'module.exports = { ExecuteCommandRequest: {} };';

/** `editor` stands for the editor's interface, in place of the little that a row needs. */
export async function load(name, editor) {
  const stub = {
    name: 'editor',
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^vscode$/ }, () => ({ path: 'vscode', namespace: 'editor' }));
      onResolve({ filter: /^vscode-languageclient/ }, () => ({ path: 'client', namespace: 'editor' }));
      onLoad({ filter: /.*/, namespace: 'editor' }, ({ path: wanted }) => ({ contents: wanted !== 'vscode' ? CLIENT : (editor === undefined ? EDITOR : 'module.exports = globalThis.editorOfTest') }));
    },
  };
  const { outputFiles } = await build({
    entryPoints: [path.join(sources, name)], bundle: true, format: 'cjs', platform: 'node', write: false, plugins: [stub],
  });
  globalThis.editorOfTest = editor;
  const module = { exports: {} };
  new Function('module', 'exports', 'require', outputFiles[0].text)(module, module.exports, createRequire(import.meta.url));
  return module.exports;
}
