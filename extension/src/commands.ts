import * as vscode from 'vscode';
import { ExecuteCommandRequest, type LanguageClient } from 'vscode-languageclient/node';

import { CHOICES, decide } from './apply';
import type { Cursor } from './cursor';
import { virtualDocuments } from './documents';
import { notify } from './notices';
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

/** What the server answers to `klineage.check`. */
interface CheckAnswer extends CheckStatus {
  /** A kernel that was not run because nothing says how, as the argument of `klineage.draftWorkload`. */
  readonly lacks: { readonly uri: string; readonly kernel: string } | null;
}

const WRITE = 'Write Down How It Is Run';

/** Where a command is about: a document and a position in the editor's units. */
interface Place {
  readonly uri: string;
  readonly line: number;
  readonly character?: number;
}

export function registerCommands(
  context: vscode.ExtensionContext,
  server: Server,
  cursor: Cursor,
  log: vscode.LogOutputChannel,
): void {
  const commands: Record<string, (...args: never[]) => unknown> = {
    'klineage.applySkill': (place?: Place) => chooseSkill(server, cursor, place),
    'klineage.showLineage': (place?: Place) => showPage(server, cursor, 'klineage.lineage', place),
    'klineage.showCards': (place?: Place) => showPage(server, cursor, 'klineage.cards', place),
    'klineage.showTimeline': (place?: Place) => drawTimeline(server, cursor, place),
    'klineage.showFinding': showFinding,
    'klineage.checkKernel': (place?: Place) => checkKernel(server, cursor, place),
    'klineage.setApiKey': () => setApiKey(context, server),
    'klineage.clearApiKey': () => clearApiKey(context, server),
    'klineage.makeEnvironment': () => server.makeEnvironment(),
    'klineage.restart': () => server.restart('the person asked for it'),
    'klineage.showLog': () => log.show(),
    'klineage.debugInformation': () => showDebugInformation(context, server),
    ...Object.fromEntries(Object.entries(CHOICES).map(([id, choice]) => [id, () => decide(choice)])),
  };
  for (const [id, run] of Object.entries(commands)) {
    context.subscriptions.push(vscode.commands.registerCommand(id, run as (...args: unknown[]) => unknown));
  }
  context.subscriptions.push(virtualDocuments.register());
}

/** The menu of code actions with ours only; those that cannot apply are there too, each with its reason. */
async function chooseSkill(server: Server, cursor: Cursor, place?: Place): Promise<void> {
  const about = asked(server, cursor, place);
  if (about === undefined) {
    return;
  }
  if (place !== undefined || vscode.window.activeTextEditor?.document.uri.scheme !== 'file') {
    await reveal(about.at);
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

/** The server and the place that a command was given, else the cursor's; without one of them it says what to do. */
function asked(server: Server, cursor: Cursor, place: Place | undefined): { client: LanguageClient; at: Place } | undefined {
  const client = server.running;
  const here = cursor.place;
  const convert = client?.code2ProtocolConverter;
  const at = place ?? (here && convert && { uri: convert.asUri(here.uri), ...convert.asPosition(here.at) });
  if (client !== undefined && at !== undefined) {
    return { client, at };
  }
  const said = server.isWanted && client === undefined
    ? 'The server of Kernel Lineage does not run (yet); the log says why.'
    : 'Open a file with a kernel, on a disk, and put the cursor into the kernel.';
  void vscode.window.showInformationMessage(said);
  return undefined;
}

async function drawTimeline(server: Server, cursor: Cursor, place?: Place): Promise<void> {
  const about = asked(server, cursor, place);
  if (about === undefined) {
    return;
  }
  const { client, at } = about;
  const params = { command: 'klineage.timeline', arguments: [at] };
  const drawn = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Window, title: 'Drawing the lineage' },
    async () => (await client.sendRequest(ExecuteCommandRequest.type, params)) as Timeline | null,
  );
  if (drawn === null || drawn.html === null) {
    void notify('Information', drawn?.reason ?? 'There is no kernel at the cursor.');
    return;
  }
  showDrawn('timeline', { title: drawn.title, html: drawn.html });
}

/** A page of the server about the kernel at a place: its lineage, or the cards of its skills. */
async function showPage(server: Server, cursor: Cursor, command: string, place?: Place): Promise<void> {
  const about = asked(server, cursor, place);
  if (about === undefined) {
    return;
  }
  const { client, at } = about;
  const answer = (await client.sendRequest(ExecuteCommandRequest.type, { command, arguments: [at] })) as Page | null;
  if (answer === null) {
    void vscode.window.showInformationMessage('There is no kernel at the cursor.');
    return;
  }
  const uri = virtualDocuments.add(command, `/${answer.title}.md`, answer.markdown);
  await vscode.commands.executeCommand('markdown.showPreviewToSide', uri);
}

/** Diagnostics say what is wrong; a check that finds nothing would otherwise end without a word. */
async function checkKernel(server: Server, cursor: Cursor, place?: Place): Promise<void> {
  const about = asked(server, cursor, place);
  if (about === undefined) {
    return;
  }
  const { client, at } = about;
  const params = { command: 'klineage.check', arguments: [at] };
  const { state, message, lacks } = (await client.sendRequest(ExecuteCommandRequest.type, params)) as CheckAnswer;
  if (state === 'wrong') {
    return;
  }
  const choices = lacks === null ? [] : [WRITE];
  // Not awaited: the check is over when its answer is shown, not when the person has chosen.
  void notify('Information', message, ...choices).then(async (choice) => {
    if (choice === WRITE) {
      await vscode.commands.executeCommand('klineage.draftWorkload', lacks);
    }
  });
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
