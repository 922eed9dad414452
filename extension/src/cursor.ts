import * as vscode from 'vscode';

/** Where the cursor is in a file. What is in front of the code, a page of ours or the walkthrough, is no other place. */
export class Cursor implements vscode.Disposable {
  private last: { readonly uri: vscode.Uri; readonly at: vscode.Position } | undefined;
  private readonly listeners: vscode.Disposable;

  constructor() {
    this.note(vscode.window.activeTextEditor);
    this.listeners = vscode.Disposable.from(
      vscode.window.onDidChangeActiveTextEditor((editor) => this.note(editor)),
      vscode.window.onDidChangeTextEditorSelection(({ textEditor }) => this.note(textEditor)),
    );
  }

  /** Where it is, or was when a file was left. */
  get place(): { readonly uri: vscode.Uri; readonly at: vscode.Position } | undefined {
    this.note(vscode.window.activeTextEditor);
    return this.last;
  }

  private note(editor: vscode.TextEditor | undefined): void {
    if (editor?.document.uri.scheme === 'file') {
      this.last = { uri: editor.document.uri, at: editor.selection.active };
    }
  }

  dispose(): void {
    this.listeners.dispose();
  }
}
