import * as vscode from 'vscode';
import {
  CloseAction,
  ErrorAction,
  LanguageClient,
  type LanguageClientOptions,
  type ServerOptions,
  TransportKind,
} from 'vscode-languageclient/node';

import { applyWithProgress } from './apply';
import { makeEnvironment, offerCompiler, Wheels } from './environment';
import { noticeOfServer } from './notices';
import { type Resolution, resolveServer, surroundings } from './python';
import { isWorkload, SELECTOR } from './selector';
import { apiKey, readSettings, type Settings } from './settings';
import type { CheckStatus, ServerStatus, Status } from './status';

const MAKE = 'Make an Environment';
/** Commands that end in a verdict and an edit that waits for a person's word. */
const JUDGED_COMMANDS = ['klineage.apply', 'klineage.repair'];
/** After a start or an end nothing that is shown is of this server. */
const EVERYTHING = ['lineage', 'skills', 'runs', 'devices', 'marks'];
/** Commands that a hover card may link to; a link to any other is not followed. */
const LINKED_COMMANDS = ['klineage.apply', 'klineage.showLineage', 'klineage.showCards'];

/** Ticks a step of the walkthrough, however it came about: its button need not have been pressed. */
const done = (step: 'running' | 'checked'): Thenable<unknown> =>
  vscode.commands.executeCommand('setContext', `klineage.${step}`, true);

/** The server process and the client that speaks to it. Starts, stops and restarts are queued, one after another. */
export class Server implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private queue: Promise<void> = Promise.resolve();
  private lastResolution: Resolution | undefined;
  private wanted = false;
  private readonly wheels: Wheels | undefined;
  private readonly checked = new vscode.EventEmitter<string>();
  /** A document, by its address, whose kernels were checked. */
  readonly onChecked = this.checked.event;
  private readonly changed = new vscode.EventEmitter<readonly string[]>();
  /** What is shown of an older state: views by their names, and `marks`. */
  readonly onChanged = this.changed.event;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly log: vscode.LogOutputChannel,
    private readonly status: Status,
  ) {
    this.wheels = Wheels.of(context);
  }

  /** The client when the server is running. */
  get running(): LanguageClient | undefined {
    return this.client?.isRunning() === true ? this.client : undefined;
  }

  /** Whether a server was started once: from then on it is kept. */
  get isWanted(): boolean {
    return this.wanted;
  }

  /** What was tried to find the server, newest start. */
  get resolution(): Resolution | undefined {
    return this.lastResolution;
  }

  /** Never rejects: a start that fails must not keep the next one from being tried. */
  restart(reason: string): Promise<void> {
    this.wanted = true;
    this.queue = this.queue
      .then(() => this.replace(reason))
      .catch((error: unknown) => {
        this.log.error(`Restarting failed: ${String(error)}`);
        this.status.failed('the server did not start');
      });
    return this.queue;
  }

  private async replace(reason: string): Promise<void> {
    this.log.info(`Starting the server: ${reason}`);
    this.status.starting();
    await this.stop();
    const settings = readSettings();
    this.lastResolution = await resolveServer(settings, this.wheels?.command, this.log);
    const { resolved } = this.lastResolution;
    if (resolved === undefined) {
      this.status.failed('no klineage was found');
      void this.explainMissing();
      return;
    }
    this.log.info(`Using ${resolved.version} from ${resolved.source}`);
    const server: ServerOptions = {
      command: resolved.command,
      args: [...resolved.args, 'serve'],
      transport: TransportKind.stdio,
      options: { ...surroundings(), env: await this.environment() },
    };
    const client = new LanguageClient('klineage', 'Kernel Lineage', server, this.options(settings));
    client.onNotification('window/showMessage', noticeOfServer); // in place of the client's own, which shows all of it
    client.onNotification('klineage/status', (status: ServerStatus) => this.status.report(status));
    client.onNotification('klineage/changed', ({ views }: { views: string[] }) => this.changed.fire(views));
    client.onNotification('klineage/check', (check: CheckStatus) => {
      this.status.reportCheck(check);
      if (check.state !== 'checking') {
        this.checked.fire(check.uri);
      }
      if (check.state === 'right' || check.state === 'wrong') {
        void done('checked');
      }
    });
    this.client = client;
    await client.start();
    this.status.running(resolved.version);
    void done('running');
    this.changed.fire(EVERYTHING);
  }

  private options(settings: Settings): LanguageClientOptions {
    return {
      documentSelector: SELECTOR,
      outputChannel: this.log,
      initializationOptions: {
        trusted: vscode.workspace.isTrusted,
        confirmsEdits: true,
        commandLinks: true,
        device: settings.device,
        check: settings.check,
        hypotheses: settings.hypotheses,
        hints: settings.hints,
        checkSeconds: settings.checkSeconds,
        remote: settings.remote,
        modelBaseUrl: settings.modelBaseUrl,
        modelName: settings.modelName,
      },
      markdown: { isTrusted: { enabledCommands: LINKED_COMMANDS } },
      errorHandler: {
        error: () => ({ action: ErrorAction.Continue }),
        closed: () => this.closed(),
      },
      middleware: {
        provideCompletionItem: (document, position, context, token, next) =>
          isWorkload(document) ? next(document, position, context, token) : undefined,
        executeCommand: (command, args, next) => {
          const client = this.running;
          if (JUDGED_COMMANDS.includes(command) && client !== undefined) {
            return applyWithProgress(client, command, args[0], this.log);
          }
          return next(command, args);
        },
      },
    };
  }

  /** The key goes to the server in its environment, which the server clears at once: its own children do not get it. */
  private async environment(): Promise<NodeJS.ProcessEnv> {
    const key = await apiKey.get(this.context);
    const { env } = surroundings();
    return key === undefined ? env : { ...env, KLINEAGE_API_KEY: key };
  }

  private closed(): { action: CloseAction; handled: boolean } {
    this.status.failed('the server stopped');
    this.changed.fire(EVERYTHING);
    void vscode.window
      .showErrorMessage('The Kernel Lineage server stopped unexpectedly.', 'Restart', 'Show Log')
      .then((choice) => {
        if (choice === 'Restart') {
          void this.restart('the person asked for it after a crash');
        } else if (choice === 'Show Log') {
          this.log.show();
        }
      });
    return { action: CloseAction.DoNotRestart, handled: true };
  }

  private async explainMissing(): Promise<void> {
    const [remedy, ...make] =
      this.wheels === undefined
        ? ['run "pip install kernel-lineage" in the environment of your project, or say where it is.']
        : ['the extension brings it along and makes an environment of its own from it, without a network.', MAKE];
    const choice = await vscode.window.showWarningMessage(
      `Kernel Lineage needs its Python package: ${remedy}`,
      ...make,
      'Open Settings',
      'Show Log',
    );
    if (choice === MAKE) {
      await this.makeEnvironment();
    } else if (choice === 'Open Settings') {
      await vscode.commands.executeCommand('workbench.action.openSettings', 'klineage.interpreter');
    } else if (choice === 'Show Log') {
      this.log.show();
    }
  }

  /** Makes the extension's own environment, and starts the server in it. */
  async makeEnvironment(): Promise<void> {
    if (this.wheels === undefined) {
      const said = 'This build of the extension brings no Python packages along: run "pip install kernel-lineage" instead.';
      void vscode.window.showWarningMessage(said);
      return;
    }
    if (!(await makeEnvironment(this.wheels, this.log))) {
      return;
    }
    await this.restart('its environment was made');
    if (await offerCompiler(this.wheels, this.log)) {
      await this.restart('the compiler was fetched');
    }
  }

  private async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    try {
      if (client?.needsStop() === true) {
        await client.stop();
      }
    } catch (error) {
      // It hung or is gone; the client ends the process, and what comes next needs neither.
      this.log.warn(`The server before did not stop in good order: ${String(error)}`);
    }
  }

  dispose(): void {
    this.changed.dispose();
    this.checked.dispose();
    void this.stop();
  }
}
