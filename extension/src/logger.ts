import * as vscode from 'vscode';

/** The one log of the extension and of the server's stderr. */
export function createLogger(context: vscode.ExtensionContext): vscode.LogOutputChannel {
  const log = vscode.window.createOutputChannel('Kernel Lineage', { log: true });
  const version = (context.extension.packageJSON as { version: string }).version;
  log.info(`Kernel Lineage ${version}, ${vscode.env.appName} ${vscode.version}, ${process.platform} ${process.arch}`);
  return log;
}
