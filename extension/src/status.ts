import * as vscode from 'vscode';

import { SELECTOR } from './selector';

/** What the server reports of itself (`klineage/status`). */
export interface ServerStatus {
  readonly state: 'ready' | 'mining' | 'problem';
  readonly message: string;
}

/** The entry in the language status menu ({} in the status bar): quiet unless something is wrong. */
export class Status implements vscode.Disposable {
  private readonly item: vscode.LanguageStatusItem;

  constructor() {
    this.item = vscode.languages.createLanguageStatusItem('klineage', SELECTOR);
    this.item.name = 'Kernel Lineage';
    this.item.command = { command: 'klineage.showLog', title: 'Show Log' };
    this.starting();
  }

  starting(): void {
    this.show('Kernel Lineage is starting', vscode.LanguageStatusSeverity.Information, true);
  }

  failed(message: string): void {
    this.show(`Kernel Lineage: ${message}`, vscode.LanguageStatusSeverity.Error, false);
  }

  report(status: ServerStatus): void {
    const severity =
      status.state === 'problem' ? vscode.LanguageStatusSeverity.Warning : vscode.LanguageStatusSeverity.Information;
    this.show(`Kernel Lineage: ${status.message}`, severity, status.state === 'mining');
  }

  private show(text: string, severity: vscode.LanguageStatusSeverity, busy: boolean): void {
    this.item.text = text;
    this.item.severity = severity;
    this.item.busy = busy;
  }

  dispose(): void {
    this.item.dispose();
  }
}
