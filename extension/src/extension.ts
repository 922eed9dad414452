// Starts the language server and connects it with the editor; everything else is in the files beside this one.
import * as vscode from 'vscode';

import { registerTools } from './agents';
import { registerCommands } from './commands';
import { createLogger } from './logger';
import { SELECTOR } from './selector';
import { Server } from './server';
import { needsRestart } from './settings';
import { Status } from './status';
import { registerTests } from './tests';

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = createLogger(context);
  const status = new Status();
  const server = new Server(context, log, status);
  context.subscriptions.push(
    log,
    status,
    server,
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (server.isWanted && needsRestart(event)) {
        void server.restart('the settings changed');
      }
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => {
      if (server.isWanted) {
        void server.restart('the workspace is trusted now');
      }
    }),
    vscode.workspace.onDidOpenTextDocument((document) => {
      if (!server.isWanted && mayHoldKernels(document)) {
        void server.restart(`${document.fileName} may hold kernels`);
      }
    }),
  );
  registerCommands(context, server, log);
  registerTests(context, server);
  registerTools(context, log);
  const first = vscode.workspace.textDocuments.find(mayHoldKernels);
  if (first !== undefined) {
    await server.restart(`${first.fileName} may hold kernels`);
  }
}

/** Any CUDA C++ file, and a Python file that speaks of Triton: for others no server is started. */
function mayHoldKernels(document: vscode.TextDocument): boolean {
  return (
    vscode.languages.match(SELECTOR, document) > 0 &&
    (document.languageId !== 'python' || document.getText().includes('triton'))
  );
}
