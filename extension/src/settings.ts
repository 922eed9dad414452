import * as vscode from 'vscode';

export type Device = 'auto' | 'cuda' | 'emulated';
export type CheckWhen = 'typing' | 'saving' | 'off';

/** The user's settings, as they are now. */
export interface Settings {
  readonly serverCommand: readonly string[];
  readonly interpreter: string;
  readonly device: Device;
  /** When kernels are checked on the emulated device by themselves. */
  readonly check: CheckWhen;
  /** What checking one document may take. */
  readonly checkSeconds: number;
  /** Offer also skills that no verified use has admitted. */
  readonly hypotheses: boolean;
  /** Show measured figures beside the code. */
  readonly hints: boolean;
  /** Where a candidate is judged when not here. */
  readonly remote: string;
  readonly modelBaseUrl: string;
  readonly modelName: string;
}

const SECTION = 'klineage';
const RESTARTS = ['server.command', 'interpreter', 'device', 'check', 'codeActions', 'hints', 'remote', 'model'].map((name) => `${SECTION}.${name}`);

export function readSettings(): Settings {
  const section = vscode.workspace.getConfiguration(SECTION);
  return {
    serverCommand: section.get<string[]>('server.command', []),
    interpreter: section.get<string>('interpreter', ''),
    device: section.get<Device>('device', 'auto'),
    check: section.get<CheckWhen>('check.when', 'typing'),
    checkSeconds: section.get<number>('check.seconds', 10),
    hypotheses: section.get<boolean>('codeActions.hypotheses', false),
    hints: section.get<boolean>('hints.measured', false),
    remote: section.get<string>('remote', ''),
    modelBaseUrl: section.get<string>('model.baseUrl', ''),
    modelName: section.get<string>('model.name', ''),
  };
}

/** Whether a change of settings reaches the server only through a restart. */
export function needsRestart(event: vscode.ConfigurationChangeEvent): boolean {
  return RESTARTS.some((name) => event.affectsConfiguration(name));
}

const KEY = 'klineage.apiKey';

/** The API key lives in the editor's secret storage only: no settings file, no workspace, no log. */
export const apiKey = {
  get: (context: vscode.ExtensionContext): Thenable<string | undefined> => context.secrets.get(KEY),
  set: (context: vscode.ExtensionContext, key: string): Thenable<void> => context.secrets.store(KEY, key),
  clear: (context: vscode.ExtensionContext): Thenable<void> => context.secrets.delete(KEY),
};
