// The way of a code action: a job with a visible stage and a Cancel button, the verdict, our own diff, one edit.
import * as path from 'node:path';
import * as vscode from 'vscode';
import { ExecuteCommandRequest, type LanguageClient, WorkDoneProgress } from 'vscode-languageclient/node';

import { KEPT, virtualDocuments } from './documents';
import { inShort, notify } from './notices';
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
  void offer(client, answer);
}

/** What can be done with a candidate, and the commands that do it from the title of its difference. */
export const CHOICES = {
  'klineage.candidate.apply': 'Apply',
  'klineage.candidate.discard': 'Discard',
  'klineage.candidate.details': 'Details',
  'klineage.candidate.keep': 'Keep as a File',
  'klineage.candidate.copy': 'Copy',
} as const;
type Choice = (typeof CHOICES)[keyof typeof CHOICES] | 'Show Difference';

/** Candidates that nobody has decided on, by their jobs. A notification goes after some seconds; these stay. */
const undecided = new Map<string, { readonly client: LanguageClient; readonly answer: ApplyAnswer }>();

/** Shows the verdict, and does what is chosen in its notification. */
async function offer(client: LanguageClient, answer: ApplyAnswer): Promise<void> {
  if (answer.candidate !== null) {
    undecided.set(answer.job, { client, answer });
    await markUndecided();
  }
  if (answer.outcome === 'accepted') {
    await showDifference(answer);
  }
  for (;;) {
    const choice = await ask(answer);
    if (choice === undefined) {
      return; // the difference keeps its buttons
    }
    await carryOut(client, answer, choice);
    if (answer.candidate !== null && !undecided.has(answer.job)) {
      return;
    }
  }
}

/** The notification of a verdict, and what is chosen in it. */
function ask({ candidate, outcome, summary }: ApplyAnswer): Thenable<Choice | undefined> {
  if (outcome === 'accepted') {
    return vscode.window.showInformationMessage(inShort(summary), 'Apply', 'Details', 'Discard');
  }
  const choices: Choice[] = candidate === null ? ['Details'] : ['Show Difference', 'Details', 'Keep as a File', 'Copy'];
  return vscode.window.showWarningMessage(inShort(summary), ...choices);
}

/** Does what a button in the title of a difference says, to the candidate that the difference shows. */
export async function decide(choice: Choice): Promise<void> {
  const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  const shown = input instanceof vscode.TabInputTextDiff ? undecided.get(input.modified.query) : undefined;
  if (shown !== undefined) {
    await carryOut(shown.client, shown.answer, choice);
  }
}

async function carryOut(client: LanguageClient, answer: ApplyAnswer, choice: Choice): Promise<void> {
  const { candidate, job } = answer;
  if (choice === 'Details') {
    await showDetails(answer);
  } else if (choice === 'Show Difference') {
    await showDifference(answer);
  } else if (choice === 'Keep as a File' && candidate !== null) {
    await keep(vscode.Uri.parse(answer.uri), candidate);
  } else if (choice === 'Copy' && candidate !== null) {
    await vscode.env.clipboard.writeText(candidate);
  } else if (undecided.has(job) && (choice === 'Discard' || (await applied(client, job)))) {
    undecided.delete(job);
    await markUndecided();
    await closeDifference(answer);
    await vscode.window.showTextDocument(vscode.Uri.parse(answer.uri));
  }
}

/** Whether the accepted edit was made. One that was refused can be made once the edits since are taken back. */
async function applied(client: LanguageClient, job: string): Promise<boolean> {
  const params = { command: 'klineage.applyAccepted', arguments: [{ job }] };
  const edit = (await client.sendRequest(ExecuteCommandRequest.type, params)) as EditAnswer;
  if (!edit.applied) {
    void notify('Warning', edit.reason);
  }
  return edit.applied;
}

/** Tells the editor which differences have which buttons. */
async function markUndecided(): Promise<void> {
  for (const job of [...undecided.keys()].slice(0, -KEPT)) {
    undecided.delete(job);
  }
  const waiting = [...undecided.values()].map(({ answer }) => answer);
  const shown = (those: ApplyAnswer[]): string[] => those.map((answer) => candidateUri(answer).toString());
  await vscode.commands.executeCommand('setContext', 'klineage.candidates', shown(waiting));
  const accepted = waiting.filter(({ outcome }) => outcome === 'accepted');
  await vscode.commands.executeCommand('setContext', 'klineage.accepted', shown(accepted));
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
    void vscode.window.showWarningMessage('A candidate is not written over the file that it is for.');
    return;
  }
  await vscode.workspace.fs.writeFile(target, Buffer.from(candidate));
  await vscode.window.showTextDocument(target);
}

const candidateUri = ({ job, uri }: ApplyAnswer): vscode.Uri => virtualDocuments.uri(job, vscode.Uri.parse(uri).path);

async function showDifference(answer: ApplyAnswer): Promise<void> {
  if (answer.candidate === null) {
    return;
  }
  const original = vscode.Uri.parse(answer.uri);
  const candidate = virtualDocuments.add(answer.job, original.path, answer.candidate);
  const title = `${answer.title} (${answer.outcome})`;
  // Not as a preview, which the next file that is opened would take the place of.
  await vscode.commands.executeCommand('vscode.diff', original, candidate, title, { preview: false });
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
