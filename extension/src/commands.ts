import * as vscode from 'vscode';
import { ExecuteCommandRequest } from 'vscode-languageclient/node';

import { virtualDocuments } from './documents';
import type { Server } from './server';
import { apiKey, readSettings } from './settings';
import type { CheckStatus } from './status';

interface LineageAnswer {
  readonly title: string;
  readonly markdown: string;
}

export function registerCommands(
  context: vscode.ExtensionContext,
  server: Server,
  log: vscode.LogOutputChannel,
): void {
  const commands: Record<string, (...args: never[]) => unknown> = {
    'klineage.applySkill': chooseSkill,
    'klineage.showLineage': (place?: { uri: string; line: number; character: number }) => showLineage(server, place),
    'klineage.checkKernel': () => checkKernel(server),
    'klineage.setApiKey': () => setApiKey(context, server),
    'klineage.clearApiKey': () => clearApiKey(context, server),
    'klineage.restart': () => server.restart('the person asked for it'),
    'klineage.showLog': () => log.show(),
    'klineage.debugInformation': () => showDebugInformation(context, server),
  };
  for (const [id, run] of Object.entries(commands)) {
    context.subscriptions.push(vscode.commands.registerCommand(id, run as (...args: unknown[]) => unknown));
  }
  context.subscriptions.push(virtualDocuments.register());
}

/** The menu of code actions with ours only; those that cannot apply are there too, each with its reason. */
async function chooseSkill(): Promise<void> {
  await vscode.commands.executeCommand('editor.action.codeAction', {
    kind: 'refactor.rewrite.klineage',
    apply: 'never',
  });
}

async function showLineage(server: Server, place?: { uri: string; line: number; character: number }): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const client = server.running;
  if (client === undefined || (editor === undefined && place === undefined)) {
    return;
  }
  const at = place ?? {
    uri: client.code2ProtocolConverter.asUri(editor!.document.uri),
    ...client.code2ProtocolConverter.asPosition(editor!.selection.active),
  };
  const params = { command: 'klineage.lineage', arguments: [at] };
  const answer = (await client.sendRequest(ExecuteCommandRequest.type, params)) as LineageAnswer | null;
  if (answer === null) {
    void vscode.window.showInformationMessage('There is no kernel at the cursor.');
    return;
  }
  const uri = virtualDocuments.add('lineage', `/${answer.title}.md`, answer.markdown);
  await vscode.commands.executeCommand('markdown.showPreview', uri);
}

/** Diagnostics say what is wrong; a check that finds nothing would otherwise end without a word. */
async function checkKernel(server: Server): Promise<void> {
  const editor = vscode.window.activeTextEditor;
  const client = server.running;
  if (client === undefined || editor === undefined) {
    return;
  }
  const at = {
    uri: client.code2ProtocolConverter.asUri(editor.document.uri),
    ...client.code2ProtocolConverter.asPosition(editor.selection.active),
  };
  const params = { command: 'klineage.check', arguments: [at] };
  const answer = (await client.sendRequest(ExecuteCommandRequest.type, params)) as CheckStatus;
  if (answer.state !== 'wrong') {
    void vscode.window.showInformationMessage(answer.message);
  }
}

async function setApiKey(context: vscode.ExtensionContext, server: Server): Promise<void> {
  const key = await vscode.window.showInputBox({
    title: 'API key of the model endpoint',
    prompt: 'Kept in the secret storage of this editor and sent only to klineage.model.baseUrl.',
    password: true,
    ignoreFocusOut: true,
    validateInput: (value) => (value.trim() === '' ? 'A key is needed.' : undefined),
  });
  if (key !== undefined) {
    await apiKey.set(context, key.trim());
    await server.restart('the API key changed');
  }
}

async function clearApiKey(context: vscode.ExtensionContext, server: Server): Promise<void> {
  await apiKey.clear(context);
  await server.restart('the API key was forgotten');
}

async function showDebugInformation(context: vscode.ExtensionContext, server: Server): Promise<void> {
  const settings = readSettings();
  const resolution = server.resolution;
  const information = {
    extension: (context.extension.packageJSON as { version: string }).version,
    editor: `${vscode.env.appName} ${vscode.version}`,
    remote: vscode.env.remoteName ?? null,
    platform: `${process.platform} ${process.arch}`,
    trusted: vscode.workspace.isTrusted,
    server: resolution?.resolved ?? null,
    serverInfo: server.running?.initializeResult?.serverInfo ?? null,
    attempts: resolution?.attempts ?? [],
    settings,
    apiKey: (await apiKey.get(context)) === undefined ? 'not set' : 'set',
  };
  const document = await vscode.workspace.openTextDocument({
    language: 'json',
    content: JSON.stringify(information, null, 2),
  });
  await vscode.window.showTextDocument(document);
}
