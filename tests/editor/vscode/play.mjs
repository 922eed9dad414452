// One scenario from end to end: a workspace, a real editor on it, the steps, pictures, and everything removed again.
//   usage: node SCENARIO.mjs [--shots FOLDER] [--editor FOLDER]
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { openEditor } from './editor.mjs';

export const root = path.resolve(import.meta.dirname, '../../..');
export const python = path.join(root, '.venv/bin/python');
/** Whether the editor that plays is the oldest that is supported: what no editor changes is seen in the newest alone. */
export const isOldest = () => /oldest/.test(values.editor);
/** Where `setup` has put a CUDA compiler, as a toolkit would be. */
export const toolkit = path.join(fs.realpathSync(path.join(root, '.venv')), 'lib', pythonFolder(), 'site-packages/nvidia/cu13');
const { values } = parseArgs({
  options: {
    editor: { type: 'string', default: path.join(root, '.cache/editor') }, // as install.sh makes it
    shots: { type: 'string', default: path.join(root, 'build/editor') },
  },
});

/** The sample repository: four histories of kernels, with workloads. */
export function sample(workspace) {
  const build = 'import sys, pathlib; from kernel_lineage.demo.sample import build_sample_repository as build; build(pathlib.Path(sys.argv[1]))';
  execFileSync(python, ['-c', build, workspace]);
}

/** A workspace of these files: { 'kernels/a.cu': 'text' }. */
export const files = (texts) => (workspace) => {
  for (const [name, text] of Object.entries(texts)) {
    fs.mkdirSync(path.join(workspace, path.dirname(name)), { recursive: true });
    fs.writeFileSync(path.join(workspace, name), text);
  }
};

/**
 * Plays `scenario({ editor, workspace, base, step })`. `prepare(workspace, base)` makes the workspace; what else is given is
 * for `openEditor`. The device is the one without a GPU, also where there is one: the scenarios say what happens then.
 */
export async function play({ name, prepare = sample, settings = {}, vsix = 'kernel-lineage.vsix', ...options }, scenario) {
  const started = Date.now();
  const step = (what) => console.log(`${((Date.now() - started) / 1000).toFixed(1).padStart(6)} s  ${name}: ${what}`);
  const base = fs.mkdtempSync(path.join(os.tmpdir(), 'klineage-sample-'));
  const workspace = path.join(base, 'sample');
  fs.mkdirSync(workspace);
  let editor;
  try {
    await prepare(workspace, base);
    editor = await openEditor({
      cache: path.resolve(values.editor),
      vsix: path.join(root, 'dist', vsix),
      workspace,
      shots: values.shots,
      settings: { 'klineage.device': 'emulated', 'klineage.check.seconds': 60, ...settings },
      ...(typeof options.env === 'function' ? { ...options, env: options.env(base) } : options),
    });
    step('the editor is open');
    await scenario({ editor, workspace, base, step });
  } catch (error) {
    await editor?.screenshot(`failed-${name}`);
    await editor?.runCommand('Kernel Lineage: Show Debug Information').catch(() => {});
    await editor?.screenshot(`failed-${name}-debug-information`);
    console.error(`screenshots are in ${values.shots}`);
    throw error;
  } finally {
    await editor?.close();
    fs.rmSync(base, { recursive: true, force: true });
  }
}

function pythonFolder() {
  return fs.readdirSync(path.join(root, '.venv/lib')).find((name) => name.startsWith('python'));
}
