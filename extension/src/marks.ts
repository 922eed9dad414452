// Marks in the gutter where a skill can be applied now.
import * as vscode from 'vscode';
import { ExecuteCommandRequest } from 'vscode-languageclient/node';

import { CODE } from './selector';
import type { Server } from './server';

interface Mark {
  /** From 1. */
  readonly line: number;
  readonly skills: readonly string[];
}

export function registerMarks(context: vscode.ExtensionContext, server: Server): void {
  const icon = (theme: string): { gutterIconPath: vscode.Uri } => ({
    gutterIconPath: vscode.Uri.joinPath(context.extensionUri, 'extension', 'marks', `${theme}.svg`),
  });
  const decoration = vscode.window.createTextEditorDecorationType({
    gutterIconSize: '70%',
    light: icon('light'),
    dark: icon('dark'),
    overviewRulerColor: new vscode.ThemeColor('editorOverviewRuler.infoForeground'),
  });
  const draw = async (editor: vscode.TextEditor): Promise<void> => {
    const client = server.running;
    if (vscode.languages.match(CODE, editor.document) === 0) {
      return;
    }
    if (client === undefined) {
      editor.setDecorations(decoration, []); // what a server said that is gone
      return;
    }
    const { uri, version } = editor.document;
    const params = { command: 'klineage.marks', arguments: [{ uri: uri.toString() }] };
    const marks = (await client.sendRequest(ExecuteCommandRequest.type, params)) as Mark[];
    if (editor.document.version !== version) {
      return; // a newer answer is on its way
    }
    editor.setDecorations(
      decoration,
      marks
        .filter(({ line }) => line <= editor.document.lineCount)
        .map(({ line, skills }) => ({
          // Its beginning alone: over the code, the card of the skill says it.
          range: new vscode.Range(line - 1, 0, line - 1, 0),
          // A string would be read as Markdown, in which a skill's title could load an image.
          hoverMessage: new vscode.MarkdownString().appendText(`Can be applied now: ${skills.join(', ')}`),
        })),
    );
  };
  const drawAll = (): void => vscode.window.visibleTextEditors.forEach((editor) => void draw(editor).catch(() => undefined));
  context.subscriptions.push(
    decoration,
    vscode.window.onDidChangeVisibleTextEditors(drawAll),
    server.onChanged((views) => views.includes('marks') && drawAll()),
  );
}
