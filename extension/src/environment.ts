// An environment of the extension's own, for who has no `klineage`: made from the wheels that the VSIX carries, each
// held to its hash; no index is asked. The CUDA compiler is NVIDIA's and is no part of it: it is fetched when a person says so.
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import * as path from 'node:path';
import { promisify } from 'node:util';
import * as vscode from 'vscode';

import { MODULE, surroundings } from './python';

const run = promisify(execFile);
const OUTPUT = 1 << 24; // bytes that a step may print
const COMPILER = 'compiler.txt';
const COMPILER_SIZE = '96 MB';
/** What a person did not ask for: no settings of pip's or the person's, and nothing but wheels. */
const PIP = ['install', '--isolated', '--require-hashes', '--no-deps', '--only-binary', ':all:', '--no-cache-dir', '--no-compile',
  '--disable-pip-version-check', '--no-warn-script-location', '--quiet'];

/** The wheels of this VSIX. One that was built for every platform carries none. */
export class Wheels {
  private constructor(
    private readonly folder: string,
    private readonly names: readonly string[],
    /** Where their environment is, or will be. */
    private readonly place: string,
  ) {}

  static of(context: vscode.ExtensionContext): Wheels | undefined {
    const folder = context.asAbsolutePath('dist/wheels');
    const lock = path.join(folder, 'lock.txt');
    if (!fs.existsSync(lock)) {
      return undefined;
    }
    const key = createHash('sha256').update(fs.readFileSync(lock)).digest('hex').slice(0, 12);
    const place = path.join(context.globalStorageUri.fsPath, 'environments', key);
    return new Wheels(folder, fs.readdirSync(folder).filter((name) => name.endsWith('.whl')), place);
  }

  /** The Pythons that the wheels are for, newest first: `3.12`. */
  get pythons(): string[] {
    const tags = this.names.flatMap((name) => /-cp3(\d+)-cp3\1-/.exec(name)?.[1] ?? []);
    return [...new Set(tags)].sort((a, b) => Number(b) - Number(a)).map((minor) => `3.${minor}`);
  }

  /** The environment's `klineage`, word by word, when it was made. */
  get command(): string[] | undefined {
    return fs.existsSync(this.python(this.place)) ? [this.python(this.place), ...MODULE] : undefined;
  }

  /** Makes the environment in place of what is there. Rejects with a message for people, or when it is aborted. */
  async make(tell: (step: string) => void, signal: AbortSignal): Promise<void> {
    tell('looking for Python');
    const base = await this.interpreter(signal);
    const made = `${this.place}.${process.pid}`; // whoever is interrupted leaves nothing that looks like an environment
    try {
      tell(`an environment of ${base}`);
      await run(base, ['-I', '-m', 'venv', '--without-pip', made], { ...surroundings(), signal });
      tell(`${this.names.length} packages that the extension brings along`);
      await this.install(made, ['--no-index', '--find-links', this.folder, '-r', path.join(this.folder, 'lock.txt')], signal);
      tell('trying it');
      await run(this.python(made), [...MODULE, '--version'], { ...surroundings(), signal });
      fs.rmSync(this.place, { recursive: true, force: true });
      fs.renameSync(made, this.place);
    } finally {
      fs.rmSync(made, { recursive: true, force: true });
    }
  }

  /** Whether a CUDA compiler is at hand, as `klineage doctor` sees it. */
  async hasCompiler(): Promise<boolean> {
    const [python, ...module] = this.command ?? [];
    const { stdout } = await run(python!, [...module, 'doctor', '--json'], { ...surroundings(), maxBuffer: OUTPUT });
    const { findings } = JSON.parse(stdout) as { findings: { what: string; present: boolean }[] };
    return findings.some(({ what, present }) => what === 'NVRTC' && present);
  }

  /** Adds NVIDIA's compiler, from the package index that pip is set up for. */
  async fetchCompiler(signal: AbortSignal): Promise<void> {
    await this.install(this.place, ['-r', path.join(this.folder, COMPILER)], signal);
  }

  private python(place: string): string {
    return path.join(place, 'bin', 'python');
  }

  private async install(place: string, what: string[], signal: AbortSignal): Promise<void> {
    const pip = path.join(this.folder, this.names.find((name) => name.startsWith('pip-'))!, 'pip');
    await run(this.python(place), ['-I', pip, ...PIP, ...what], { ...surroundings(), signal, maxBuffer: OUTPUT });
  }

  /** The first Python on PATH that there are wheels for. */
  private async interpreter(signal: AbortSignal): Promise<string> {
    const seen: string[] = [];
    for (const name of [...this.pythons.map((version) => `python${version}`), 'python3', 'python']) {
      try {
        const ask = 'import sys; print("%d.%d" % sys.version_info[:2]); print(sys.executable)';
        const { stdout } = await run(name, ['-I', '-c', ask], { ...surroundings(), signal });
        const [version, executable] = stdout.trim().split('\n');
        if (version !== undefined && executable !== undefined && this.pythons.includes(version)) {
          return executable;
        }
        seen.push(`${name} is ${version}`);
      } catch {
        signal.throwIfAborted(); // else there is no such program, or one that is no Python
      }
    }
    const needed = `Python ${this.pythons.join(', ')} is needed on PATH`;
    throw new Error(seen.length === 0 ? `${needed}, and there is none` : `${needed}; ${seen.join(', ')}`);
  }
}

/** Makes the environment with a person watching; gives whether it is there. */
export async function makeEnvironment(wheels: Wheels, log: vscode.LogOutputChannel): Promise<boolean> {
  const began = Date.now();
  const made = await watched('Making the environment of Kernel Lineage', log, (tell, signal) => wheels.make(tell, signal));
  if (made) {
    log.info(`The environment was made in ${((Date.now() - began) / 1000).toFixed(1)} s`);
  }
  return made;
}

/** Asks whether to fetch NVIDIA's compiler where there is none; gives whether it was fetched. */
export async function offerCompiler(wheels: Wheels, log: vscode.LogOutputChannel): Promise<boolean> {
  if (await wheels.hasCompiler()) {
    return false;
  }
  const fetch = `Fetch It (${COMPILER_SIZE})`;
  const choice = await vscode.window.showInformationMessage(
    'No CUDA compiler was found here, and no CUDA kernel can be checked without one. NVIDIA publishes it as Python packages ' +
      'under its own licence. A CUDA toolkit serves as well: set CUDA_HOME to it.',
    fetch,
  );
  return choice === fetch && watched("Fetching NVIDIA's compiler", log, (_tell, signal) => wheels.fetchCompiler(signal));
}

async function watched(
  title: string,
  log: vscode.LogOutputChannel,
  work: (tell: (step: string) => void, signal: AbortSignal) => Promise<void>,
): Promise<boolean> {
  return vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title, cancellable: true },
    async (progress, cancelled) => {
      const abort = new AbortController();
      const listening = cancelled.onCancellationRequested(() => abort.abort());
      try {
        await work((step) => progress.report({ message: step }), abort.signal);
        return true;
      } catch (error) {
        if (!abort.signal.aborted) {
          const said = reason(error);
          log.error(`${title}: ${String(error)}`);
          void vscode.window.showErrorMessage(`${title} failed: ${said}`, 'Show Log').then((choice) => choice && log.show());
        }
        return false;
      } finally {
        listening.dispose();
      }
    },
  );
}

/** What a program said last, or the error's own words. */
function reason(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message: string };
  return stderr?.trim().split('\n').at(-1) || message;
}
