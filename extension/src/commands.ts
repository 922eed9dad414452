import * as vscode from 'vscode';
import { ExecuteCommandRequest, type LanguageClient } from 'vscode-languageclient/node';

import { virtualDocuments } from './documents';
import { showDrawn } from './pages';
import type { Server } from './server';
import { apiKey, readSettings } from './settings';
import type { CheckStatus } from './status';

interface Page {
  readonly title: string;
  readonly markdown: string;
}

/** What the server answers to `klineage.timeline`. */
interface Timeline {
  readonly title: string;
  readonly html: string | null;
  /** Why there is no page. */
  readonly reason: string;
}

/** Where a command is about: a document and a position in the editor's units. */
interface Place {
  readonly uri: string;
  readonly line: number;
  readonly character?: number;
}

export function registerCommands(
  context: vscode.ExtensionContext,
  server: Server,
  log: vscode.LogOutputChannel,
): void {
  const commands: Record<string, (...args: never[]) => unknown> = {
    'klineage.applySkill': chooseSkill,
    'klineage.showLineage': (place?: Place) => showPage(server, 'klineage.lineage', place),
    'klineage.showCards': (place?: Place) => showPage(server, 'klineage.cards', place),
    'klineage.showTimeline': (place?: Place) => drawTimeline(server, place),
    'klineage.showFinding': showFinding,
    'klineage.checkKernel': (place?: Place) => checkKernel(server, place),
    'klineage.setApiKey': () => setApiKey(context, server),
    'klineage.clearApiKey': () => clearApiKey(context, server),
    'klineage.makeEnvironment': () => server.makeEnvironment(),
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
async function chooseSkill(place?: Place): Promise<void> {
  if (place !== undefined) {
    await reveal(place);
  }
  await vscode.commands.executeCommand('editor.action.codeAction', {
    kind: 'refactor.rewrite.klineage',
    apply: 'never',
  });
}

/** The line of a finding, with its hover. */
async function showFinding(place: Place): Promise<void> {
  await reveal(place);
  await vscode.commands.executeCommand('editor.action.showHover');
}

async function reveal({ uri, line, character }: Place): Promise<void> {
  const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(uri));
  const at = new vscode.Position(line, character ?? document.lineAt(line).firstNonWhitespaceCharacterIndex);
  await vscode.window.showTextDocument(document, { selection: new vscode.Range(at, at) });
}

/** The place that a command was given, else the cursor's. */
function placeOr(client: LanguageClient, place: Place | undefined): Place | undefined {
  const editor = vscode.window.activeTextEditor;
  return (
    place ??
    (editor && {
      uri: client.code2ProtocolConverter.asUri(editor.document.uri),
      ...client.code2ProtocolConverter.asPosition(editor.selection.active),
    })
  );
}

async function drawTimeline(server: Server, place?: Place): Promise<void> {
  const client = server.running;
  const at = client && placeOr(client, place);
  if (client === undefined || at === undefined) {
    return;
  }
  const params = { command: 'klineage.timeline', arguments: [at] };
  const drawn = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Window, title: 'Drawing the lineage' },
    async () => (await client.sendRequest(ExecuteCommandRequest.type, params)) as Timeline | null,
  );
  if (drawn === null || drawn.html === null) {
    void vscode.window.showInformationMessage(drawn?.reason ?? 'There is no kernel at the cursor.');
    return;
  }
  showDrawn('timeline', { title: drawn.title, html: drawn.html });
}

/** A page of the server about the kernel at a place: its lineage, or the cards of its skills. */
async function showPage(server: Server, command: string, place?: Place): Promise<void> {
  const client = server.running;
  const at = client && placeOr(client, place);
  if (client === undefined || at === undefined) {
    return;
  }
  const answer = (await client.sendRequest(ExecuteCommandRequest.type, { command, arguments: [at] })) as Page | null;
  if (answer === null) {
    void vscode.window.showInformationMessage('There is no kernel at the cursor.');
    return;
  }
  const uri = virtualDocuments.add(command, `/${answer.title}.md`, answer.markdown);
  await vscode.commands.executeCommand('markdown.showPreviewToSide', uri);
}

/** Diagnostics say what is wrong; a check that finds nothing would otherwise end without a word. */
async function checkKernel(server: Server, place?: Place): Promise<void> {
  const client = server.running;
  const at = client && placeOr(client, place);
  if (client === undefined || at === undefined) {
    return;
  }
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
