import * as vscode from 'vscode';

import { CODE } from './selector';

/** What the server reports of itself (`klineage/status`). */
export interface ServerStatus {
  readonly state: 'ready' | 'mining' | 'problem';
  readonly message: string;
}

/** How the check of a document on the emulated device goes (`klineage/check`). */
export interface CheckStatus {
  readonly uri: string;
  readonly state: 'edited' | 'checking' | 'right' | 'wrong' | 'unclear';
  readonly message: string;
}

/** The entry in the language status menu ({} in the status bar): quiet unless something is wrong. */
export class Status implements vscode.Disposable {
  private readonly item: vscode.LanguageStatusItem;
  private readonly check: vscode.LanguageStatusItem;

  constructor() {
    this.item = vscode.languages.createLanguageStatusItem('klineage', CODE);
    this.item.name = 'Kernel Lineage';
    this.check = vscode.languages.createLanguageStatusItem('klineage.check', CODE);
    this.check.name = 'Kernel Lineage: Emulated Device';
    this.check.command = { command: 'klineage.checkKernel', title: 'Check Now' };
    this.nothingChecked();
    this.show('Kernel Lineage waits for a file with a kernel', vscode.LanguageStatusSeverity.Information, false);
  }

  starting(): void {
    this.nothingChecked();
    this.show('Kernel Lineage is starting', vscode.LanguageStatusSeverity.Information, true);
  }

  running(version: string): void {
    const trust = vscode.workspace.isTrusted ? '' : '; this workspace is not trusted, so nothing is compiled or run';
    this.show(`${version} is running${trust}`, vscode.LanguageStatusSeverity.Information, false);
  }

  failed(message: string): void {
    this.nothingChecked();
    this.show(`Kernel Lineage: ${message}`, vscode.LanguageStatusSeverity.Error, false);
    this.item.command = { command: 'klineage.restart', title: 'Restart' };
  }

  report(status: ServerStatus): void {
    const severity =
      status.state === 'problem' ? vscode.LanguageStatusSeverity.Warning : vscode.LanguageStatusSeverity.Information;
    this.show(`Kernel Lineage: ${status.message}`, severity, status.state === 'mining');
  }

  /** The newest check. What is wrong is said by diagnostics; what was not decided is said here only. */
  reportCheck(check: CheckStatus): void {
    this.check.text = check.message;
    this.check.busy = check.state === 'checking';
  }

  private nothingChecked(): void {
    this.check.text = 'No kernel was checked yet';
    this.check.busy = false;
  }

  private show(text: string, severity: vscode.LanguageStatusSeverity, busy: boolean): void {
    this.item.text = text;
    this.item.severity = severity;
    this.item.command = { command: 'klineage.showLog', title: 'Show Log' };
    this.item.busy = busy;
  }

  dispose(): void {
    this.item.dispose();
    this.check.dispose();
  }
}
