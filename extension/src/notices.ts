// Notices of any length: the editor cuts a notification after a few lines, and the reason often stands at the end.
import * as vscode from 'vscode';

import { virtualDocuments } from './documents';

/** Characters that a notification shows in any case. */
const LONGEST = 200;
const DETAILS = 'Details';
const MARKS = /[\\`*_{}[\]()#+\-!<>|~&]/g;

/** A message, or its first sentence where a notification would cut it: as much of that as is shown. */
export function inShort(message: string): string {
  if (message.length <= LONGEST) {
    return message;
  }
  const sentence = /^[^]*?[.!?](?=\s)/.exec(message)?.[0] ?? message;
  return sentence.length <= LONGEST ? sentence : `${message.slice(0, LONGEST).replace(/[\s,;:]+\S*$/, '')} …`;
}

type Kind = 'Error' | 'Warning' | 'Information';

/** What the server says by itself (`window/showMessage`); its numbers are those of the protocol. */
export function noticeOfServer({ type, message }: { readonly type: number; readonly message: string }): void {
  void notify(type === 1 ? 'Error' : type === 2 ? 'Warning' : 'Information', message);
}

/** Shows a notice and gives what is chosen in it. A long one has a button that opens the whole of it. */
export async function notify<Choice extends string>(
  kind: Kind,
  message: string,
  ...choices: Choice[]
): Promise<Choice | undefined> {
  const show: typeof vscode.window.showInformationMessage = vscode.window[`show${kind}Message`];
  const short = inShort(message);
  if (short === message) {
    return show(message, ...choices);
  }
  const choice = await show<Choice | typeof DETAILS>(short, ...choices, DETAILS);
  if (choice !== DETAILS) {
    return choice;
  }
  const text = message.replace(MARKS, '\\$&').replaceAll('\n', '  \n');
  const uri = virtualDocuments.add('klineage.notice', '/Details.md', text);
  await vscode.commands.executeCommand('markdown.showPreview', uri);
  return undefined;
}
