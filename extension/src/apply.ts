// The way of a code action: a job with a visible stage and a Cancel button, the verdict, our own diff, one edit.
import * as path from 'node:path';
import * as vscode from 'vscode';
import { ExecuteCommandRequest, type LanguageClient, WorkDoneProgress } from 'vscode-languageclient/node';

import { virtualDocuments } from './documents';
import { showDrawn } from './pages';

/** What the server answers to `klineage.apply` and `klineage.repair`. */
interface ApplyAnswer {
  readonly job: string;
  readonly uri: string;
  readonly title: string;
  readonly outcome: 'accepted' | 'rejected' | 'inconclusive' | 'refused';
  /** One line for people: the verdict and that nothing was changed. */
  readonly summary: string;
  /** Markdown, where there is no verdict. */
  readonly details: string;
  /** The verdict as a page; "" where there is none. */
  readonly page: string;
  /** The whole file with the candidate's edits, when there is a candidate. */
  readonly candidate: string | null;
}

interface EditAnswer {
  readonly applied: boolean;
  readonly reason: string;
}

const KEEP = 'Keep as a File';
const COPY = 'Copy';
let jobs = 0;

export async function applyWithProgress(
  client: LanguageClient,
  command: string,
  request: unknown,
  log: vscode.LogOutputChannel,
): Promise<void> {
  const title = (request as { title?: string } | undefined)?.title ?? 'Kernel Lineage';
  const answer = await vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title, cancellable: true },
    async (progress, cancelled) => {
      jobs += 1;
      const workDoneToken = `klineage-apply-${jobs}`;
      const listening = client.onProgress(WorkDoneProgress.type, workDoneToken, (value) => {
        if (value.kind === 'report' && value.message !== undefined) {
          progress.report({ message: value.message });
        }
      });
      const params = { command, arguments: [request], workDoneToken };
      try {
        return (await client.sendRequest(ExecuteCommandRequest.type, params, cancelled)) as ApplyAnswer;
      } catch (error) {
        if (cancelled.isCancellationRequested) {
          return undefined;
        }
        throw error;
      } finally {
        listening.dispose();
      }
    },
  );
  if (answer === undefined) {
    log.info(`${title}: cancelled`);
    void vscode.window.showInformationMessage(`${title}: cancelled. Nothing was changed.`);
    return;
  }
  log.info(`${title}: ${answer.outcome}: ${answer.summary}`);
  // Not awaited: the command is done when the verdict is shown, not when the person has answered.
  void (answer.outcome === 'accepted' ? offerEdit(client, answer) : explain(answer));
}

async function offerEdit(client: LanguageClient, answer: ApplyAnswer): Promise<void> {
  await showDifference(answer);
  for (;;) {
    const choice = await vscode.window.showInformationMessage(answer.summary, 'Apply', 'Details', 'Discard');
    if (choice === 'Details') {
      await showDetails(answer);
      continue;
    }
    if (choice === 'Apply') {
      await closeDifference(answer);
      const params = { command: 'klineage.applyAccepted', arguments: [{ job: answer.job }] };
      const edit = (await client.sendRequest(ExecuteCommandRequest.type, params)) as EditAnswer;
      if (!edit.applied) {
        void vscode.window.showWarningMessage(edit.reason);
      }
    }
    return;
  }
}

/** What can be done with a candidate that was not accepted: it is looked at, kept as a file of its own, or copied. */
async function explain(answer: ApplyAnswer): Promise<void> {
  const { candidate } = answer;
  const actions = candidate === null ? ['Details'] : ['Show Difference', 'Details', KEEP, COPY];
  for (;;) {
    const choice = await vscode.window.showWarningMessage(answer.summary, ...actions);
    if (choice === 'Show Difference') {
      await showDifference(answer);
    } else if (choice === 'Details') {
      await showDetails(answer);
    } else if (choice === KEEP && candidate !== null) {
      await keep(vscode.Uri.parse(answer.uri), candidate);
    } else if (choice === COPY && candidate !== null) {
      await vscode.env.clipboard.writeText(candidate);
    } else {
      return;
    }
  }
}

/** Writes the candidate where a person says, by default beside the file that it is a candidate for. */
async function keep(original: vscode.Uri, candidate: string): Promise<void> {
  const { dir, name, ext } = path.posix.parse(original.path);
  const defaultUri = original.with({ path: path.posix.join(dir, `${name}.candidate${ext}`) });
  const target = await vscode.window.showSaveDialog({ defaultUri, title: 'Keep the candidate as a file' });
  if (target === undefined) {
    return;
  }
  if (target.toString() === original.toString()) {
    void vscode.window.showWarningMessage('The candidate was not accepted: it is not written over the file that it is for.');
    return;
  }
  await vscode.workspace.fs.writeFile(target, Buffer.from(candidate));
  await vscode.window.showTextDocument(target);
}

async function showDifference(answer: ApplyAnswer): Promise<void> {
  if (answer.candidate === null) {
    return;
  }
  const original = vscode.Uri.parse(answer.uri);
  const candidate = virtualDocuments.add(answer.job, original.path, answer.candidate);
  await vscode.commands.executeCommand('vscode.diff', original, candidate, `${answer.title} (${answer.outcome})`);
}

async function closeDifference(answer: ApplyAnswer): Promise<void> {
  const tabs = vscode.window.tabGroups.all
    .flatMap((group) => group.tabs)
    .filter((tab) => tab.input instanceof vscode.TabInputTextDiff && tab.input.modified.query === answer.job);
  await vscode.window.tabGroups.close(tabs);
}

async function showDetails(answer: ApplyAnswer): Promise<void> {
  if (answer.page !== '') {
    showDrawn('verdict', { title: answer.title, html: answer.page });
    return;
  }
  const uri = virtualDocuments.add(answer.job, `/${answer.title}.md`, answer.details);
  await vscode.commands.executeCommand('markdown.showPreview', uri);
}
