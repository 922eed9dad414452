// Starts the language server and connects it with the editor; everything else is in the files beside this one.
import * as vscode from 'vscode';

import { registerTools } from './agents';
import { registerCommands } from './commands';
import { Cursor } from './cursor';
import { type Chosen, registerHistory } from './history';
import { createLogger } from './logger';
import { registerMarks } from './marks';
import { SELECTOR } from './selector';
import { Server } from './server';
import { needsRestart } from './settings';
import { Status } from './status';
import { registerTests } from './tests';
import { View, type ViewName, VIEWS } from './views';

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const log = createLogger(context);
  const status = new Status();
  const server = new Server(context, log, status);
  const cursor = new Cursor();
  context.subscriptions.push(
    log,
    cursor,
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
  registerCommands(context, server, cursor, log);
  registerTests(context, server);
  registerViews(context, server, cursor);
  registerMarks(context, server);
  registerTools(context, log);
  const first = vscode.workspace.textDocuments.find(mayHoldKernels);
  if (first !== undefined) {
    await server.restart(`${first.fileName} may hold kernels`);
  }
}

function registerViews(context: vscode.ExtensionContext, server: Server, cursor: Cursor): void {
  const chosen: Chosen = { kernel: undefined };
  const about = (): Record<string, unknown> => {
    if (chosen.kernel !== undefined) {
      return { uri: chosen.kernel.uri, kernel: chosen.kernel.kernel };
    }
    const { place } = cursor;
    return place === undefined ? {} : { uri: place.uri.toString(), line: place.at.line, character: place.at.character };
  };
  const views = Object.fromEntries(VIEWS.map((name) => [name, new View(name, server, about)])) as Record<ViewName, View>;
  const moved = (): void => {
    if (chosen.kernel === undefined) {
      views.lineage.refresh();
    }
  };
  context.subscriptions.push(
    ...Object.values(views),
    server.onChanged((changed) => VIEWS.filter((name) => changed.includes(name)).forEach((name) => views[name].refresh())),
    vscode.window.onDidChangeActiveTextEditor(moved),
    vscode.window.onDidChangeTextEditorSelection(moved),
    ...VIEWS.map((name) => vscode.commands.registerCommand(`klineage.refresh.${name}`, () => views[name].refresh())),
  );
  registerHistory(context, server, views.lineage, chosen);
}

/** Any CUDA C++ file, a Python file with Triton or with CUDA C++ in its strings, and a workload: for others no server is started. */
function mayHoldKernels(document: vscode.TextDocument): boolean {
  return (
    vscode.languages.match(SELECTOR, document) > 0 &&
    (document.languageId !== 'python' || /triton|__global__/.test(document.getText()))
  );
}
