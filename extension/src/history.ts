// What the rows of the views open: versions and their differences, commits, cards, verdicts.
import * as vscode from 'vscode';
import { ExecuteCommandRequest } from 'vscode-languageclient/node';

import { virtualDocuments } from './documents';
import { notify } from './notices';
import { showDrawn } from './pages';
import type { Server } from './server';
import type { Row, View } from './views';

/** A version of a kernel, and the version before it where there is one. */
interface VersionData {
  readonly uri: string;
  readonly kernel: string;
  readonly version: string;
  readonly before?: string;
  readonly commit?: string | null;
}

/** What the server answers to `klineage.version` and `klineage.commit`. */
interface Shown {
  readonly reason?: string;
  readonly title?: string;
  readonly text?: string;
  readonly path?: string;
  /** The working tree's file. */
  readonly uri?: string;
  readonly line?: number;
}

interface Page {
  readonly title: string;
  readonly markdown: string;
  /** The same, drawn. */
  readonly html?: string | null;
}

interface Choice {
  readonly kernel: string;
  readonly path: string;
  readonly uri: string;
  readonly versions: number;
}

/** The kernel that the view of lineages stays with; the cursor's when there is none. */
export interface Chosen {
  kernel: Choice | undefined;
}

type Target = Row | Record<string, unknown> | undefined;

export function registerHistory(
  context: vscode.ExtensionContext,
  server: Server,
  lineage: View,
  chosen: Chosen,
): void {
  const ask = async <T>(command: string, argument: unknown): Promise<T | undefined> =>
    (await server.running?.sendRequest(ExecuteCommandRequest.type, { command, arguments: [argument] })) as T | undefined;

  const document = async (data: VersionData, version: string): Promise<{ uri: vscode.Uri; shown: Shown } | undefined> => {
    const { uri, kernel } = data;
    const shown = await ask<Shown>('klineage.version', { uri, kernel, version });
    if (shown?.uri !== undefined) {
      return { uri: vscode.Uri.parse(shown.uri), shown };
    }
    if (shown?.text === undefined) {
      void notify('Warning', shown?.reason ?? 'The server is not running.');
      return undefined;
    }
    return { uri: virtualDocuments.add(version, `/${shown.path}`, shown.text), shown };
  };

  const openVersion = async (target: Target): Promise<void> => {
    const data = dataOf<VersionData>(target);
    const opened = data && (await document(data, data.version));
    if (opened !== undefined) {
      await vscode.window.showTextDocument(opened.uri, { selection: at(opened.shown), preview: true });
    }
  };

  const compare = async (data: VersionData, before: string, after: string): Promise<void> => {
    const [old, now] = [await document(data, before), await document(data, after)];
    if (old !== undefined && now !== undefined) {
      const title = `${old.shown.title} → ${now.shown.title}`;
      await vscode.commands.executeCommand('vscode.diff', old.uri, now.uri, title, { selection: at(now.shown) });
    }
  };

  const commands: Record<string, (target: Target, selected?: readonly Row[]) => Promise<unknown>> = {
    'klineage.openVersion': openVersion,
    'klineage.compareVersions': async (target) => {
      const data = dataOf<VersionData>(target);
      await (data?.before === undefined ? openVersion(target) : compare(data, data.before, data.version));
    },
    'klineage.compareSelected': async (_target, selected) => {
      const rows = (selected ?? lineage.shown.selection).filter(({ kind }) => kind.startsWith('version'));
      if (rows.length !== 2) {
        void vscode.window.showInformationMessage('Select two versions of the lineage (Ctrl or Shift), then compare them.');
        return;
      }
      const [newer, older] = rows.map((row) => dataOf<VersionData>(row)!);
      await compare(newer!, older!.version, newer!.version);
    },
    'klineage.openCommit': async (target) => {
      const { uri, kernel, version } = dataOf<VersionData>(target) ?? {};
      const shown = await ask<Shown>('klineage.commit', { uri, kernel, version });
      if (shown?.text === undefined) {
        void notify('Warning', shown?.reason ?? 'The server is not running.');
        return;
      }
      const diff = virtualDocuments.add('commit', `/${shown.title}.diff`, shown.text);
      await vscode.window.showTextDocument(diff, { preview: true });
    },
    'klineage.copyCommit': async (target) => vscode.env.clipboard.writeText(dataOf<VersionData>(target)?.commit ?? ''),
    'klineage.chooseLineage': async () => {
      const uri = vscode.window.activeTextEditor?.document.uri ?? vscode.workspace.workspaceFolders?.[0]?.uri;
      const choices = (uri && (await ask<Choice[]>('klineage.lineages', { uri: uri.toString() }))) ?? [];
      const items = choices.map((choice) => ({
        label: choice.kernel,
        description: choice.path,
        detail: `${choice.versions} version${choice.versions === 1 ? '' : 's'}`,
        choice,
      }));
      if (items.length === 0) {
        void vscode.window.showInformationMessage('No lineage was mined here yet: open a kernel of a git repository.');
        return;
      }
      const picked = await vscode.window.showQuickPick(items, { title: 'The lineage of which kernel?', matchOnDescription: true });
      if (picked !== undefined) {
        await follow(picked.choice);
      }
    },
    'klineage.followCursor': async () => follow(undefined),
    'klineage.openCard': async (target) => showPage('card', await ask<Page>('klineage.card', target)),
    'klineage.openRun': async (target) => {
      const { run } = dataOf<{ run: string }>(target) ?? {};
      await showPage(String(run), await ask<Page>('klineage.run', { run }));
    },
    'klineage.cancelRun': async (target) => ask('klineage.stopRun', { run: dataOf<{ run: string }>(target)?.run }),
    'klineage.repeatRun': async (target) => {
      const { command, argument } = dataOf<{ command: string; argument: unknown }>(target) ?? {};
      return command === undefined ? undefined : vscode.commands.executeCommand(command, argument);
    },
    'klineage.forgetRuns': async () => ask('klineage.clearRuns', {}),
  };
  const follow = async (kernel: Choice | undefined): Promise<void> => {
    chosen.kernel = kernel;
    await vscode.commands.executeCommand('setContext', 'klineage.lineage.chosen', kernel !== undefined);
    lineage.refresh();
  };
  for (const [id, run] of Object.entries(commands)) {
    context.subscriptions.push(vscode.commands.registerCommand(id, run));
  }
}

/** What a command is about: it is given a row by a menu, and what the row holds when the row is chosen. */
function dataOf<T>(target: Target): T | undefined {
  return (target !== undefined && 'data' in target ? target.data : target) as T | undefined;
}

function at({ line = 1 }: Shown): vscode.Range {
  return new vscode.Range(line - 1, 0, line - 1, 0);
}

async function showPage(key: string, page: Page | null | undefined): Promise<void> {
  if (page === null || page === undefined) {
    void vscode.window.showInformationMessage('It is not kept any more.');
    return;
  }
  if (page.html) {
    showDrawn('verdict', { title: page.title, html: page.html });
    return;
  }
  await vscode.commands.executeCommand('markdown.showPreview', virtualDocuments.add(key, `/${page.title}.md`, page.markdown));
}
