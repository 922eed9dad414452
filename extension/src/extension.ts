// Starts the language server and connects it with the editor; everything else is in the files beside this one.
import * as vscode from 'vscode';

import { registerTools } from './agents';
import { registerCommands } from './commands';
import { createLogger } from './logger';
import { Server } from './server';
import { needsRestart } from './settings';
import { Status } from './status';

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = createLogger(context);
  const status = new Status();
  const server = new Server(context, log, status);
  context.subscriptions.push(
    log,
    status,
    server,
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (needsRestart(event)) {
        void server.restart('the settings changed');
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void server.restart('the workspace is trusted now')),
  );
  registerCommands(context, server, log);
  registerTools(context, log);
  await server.restart('the extension was activated');
}
