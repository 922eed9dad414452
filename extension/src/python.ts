// Which `klineage` is started, and why: the first of a chain of candidates that answers `--version`.
import { execFile } from 'node:child_process';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { promisify } from 'node:util';
import * as vscode from 'vscode';

import type { Settings } from './settings';

/** A command that starts `klineage`, where it comes from, and what it said when it was tried. */
export interface Resolved {
  readonly command: string;
  readonly args: readonly string[];
  readonly source: string;
  readonly version: string;
}

export interface Attempt {
  readonly source: string;
  readonly command: string;
  readonly outcome: string;
}

export interface Resolution {
  readonly resolved: Resolved | undefined;
  readonly attempts: readonly Attempt[];
}

interface Candidate {
  readonly source: string;
  readonly words: readonly string[];
  /** A setting that a person made: when it does not work, nothing else is tried in its place. */
  readonly chosen: boolean;
}

// Isolated: neither the folder that it starts in nor a variable is a place of modules.
export const MODULE = ['-I', '-m', 'kernel_lineage'];
const VERSION_TIMEOUT_MS = 20_000;
const run = promisify(execFile);

/**
 * Where a server starts and with which variables: in no folder of the workspace, none of Python's own, and programs
 * are looked up neither where it starts nor, before the workspace is trusted, in the workspace.
 */
export function surroundings(): { cwd: string; env: NodeJS.ProcessEnv } {
  const env: NodeJS.ProcessEnv = {};
  for (const [name, value] of Object.entries(process.env)) {
    if (/^path$/i.test(name)) {
      env[name] = (value ?? '').split(path.delimiter).filter(isSafe).join(path.delimiter);
    } else if (!/^PYTHON/i.test(name)) {
      env[name] = value;
    }
  }
  return { cwd: __dirname, env };
}

function isSafe(entry: string): boolean {
  if (!path.isAbsolute(entry)) {
    return false;
  }
  return (
    vscode.workspace.isTrusted ||
    !(vscode.workspace.workspaceFolders ?? []).some(({ uri }) => {
      const inside = path.relative(real(uri.fsPath), real(entry));
      return inside === '' || !(inside.startsWith('..') || path.isAbsolute(inside));
    })
  );
}

function real(place: string): string {
  return fs.existsSync(place) ? fs.realpathSync(place) : path.resolve(place);
}

/** `own` is the command of the extension's own environment, when one was made. */
export async function resolveServer(
  settings: Settings,
  own: readonly string[] | undefined,
  log: vscode.LogOutputChannel,
): Promise<Resolution> {
  const attempts: Attempt[] = [];
  for (const candidate of await candidates(settings, own)) {
    const [command, ...args] = candidate.words;
    if (command === undefined) {
      continue;
    }
    const answer = await version(command, args);
    const shown = candidate.words.join(' ');
    attempts.push({ source: candidate.source, command: shown, outcome: answer.text });
    log.info(`${candidate.source}: ${shown}: ${answer.text}`);
    if (answer.ok) {
      return { resolved: { command, args, source: candidate.source, version: answer.text }, attempts };
    }
    if (candidate.chosen) {
      break;
    }
  }
  return { resolved: undefined, attempts };
}

async function candidates(settings: Settings, own: readonly string[] | undefined): Promise<Candidate[]> {
  if (settings.serverCommand.length > 0) {
    return [{ source: 'setting klineage.server.command', words: settings.serverCommand, chosen: true }];
  }
  if (settings.interpreter !== '') {
    return [{ source: 'setting klineage.interpreter', words: [settings.interpreter, ...MODULE], chosen: true }];
  }
  const found: Candidate[] = [];
  if (vscode.workspace.isTrusted) {
    // Both can be programs that the workspace brings along.
    const active = await activeInterpreter();
    if (active !== undefined) {
      found.push({ source: 'the Python extension', words: [active, ...MODULE], chosen: false });
    }
    for (const folder of vscode.workspace.workspaceFolders ?? []) {
      for (const name of ['.venv', 'venv']) {
        const program = inEnvironment(path.join(folder.uri.fsPath, name));
        if (fs.existsSync(program)) {
          found.push({ source: `${name} of ${folder.name}`, words: [program], chosen: false });
        }
      }
    }
  }
  found.push({ source: 'PATH', words: ['klineage'], chosen: false });
  found.push({ source: 'PATH', words: [process.platform === 'win32' ? 'python' : 'python3', ...MODULE], chosen: false });
  if (own !== undefined) {
    found.push({ source: "the extension's own environment", words: own, chosen: false });
  }
  return found;
}

function inEnvironment(folder: string): string {
  return process.platform === 'win32' ? path.join(folder, 'Scripts', 'klineage.exe') : path.join(folder, 'bin', 'klineage');
}

/** The interpreter that the Python extension uses here, when that extension is installed; it need not be. */
async function activeInterpreter(): Promise<string | undefined> {
  interface PythonApi {
    environments?: {
      getActiveEnvironmentPath(resource?: vscode.Uri): { path: string };
      resolveEnvironment(environment: { path: string }): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
    };
  }
  const extension = vscode.extensions.getExtension<PythonApi>('ms-python.python');
  if (extension === undefined) {
    return undefined;
  }
  const { environments } = await extension.activate();
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const environment = await environments?.resolveEnvironment(environments.getActiveEnvironmentPath(folder));
  return environment?.executable.uri?.fsPath;
}

async function version(command: string, args: readonly string[]): Promise<{ ok: boolean; text: string }> {
  try {
    const { stdout } = await run(command, [...args, '--version'], { ...surroundings(), timeout: VERSION_TIMEOUT_MS });
    const text = stdout.trim();
    return text.startsWith('klineage') ? { ok: true, text } : { ok: false, text: `is not klineage: ${text}` };
  } catch (error) {
    const failed = error as NodeJS.ErrnoException & { stderr?: string };
    const reason = failed.code === 'ENOENT' ? 'no such program' : (failed.stderr?.trim().split('\n').at(-1) ?? '');
    return { ok: false, text: reason === '' ? failed.message : reason };
  }
}
