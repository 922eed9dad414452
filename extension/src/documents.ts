import * as vscode from 'vscode';

const SCHEME = 'klineage';
/** How many documents of ours are kept, the newest. */
export const KEPT = 20;
const texts = new Map<string, string>();
const renewed = new vscode.EventEmitter<vscode.Uri>();

/** Read-only documents of ours: candidates, verdicts and lineages. The newest are kept; nothing touches the disk. */
export const virtualDocuments = {
  uri(key: string, name: string): vscode.Uri {
    return vscode.Uri.from({ scheme: SCHEME, path: name, query: key });
  },

  /** A document with this text; `name` is a path that gives it its title and its language. */
  add(key: string, name: string, text: string): vscode.Uri {
    const uri = this.uri(key, name);
    const isRenewed = texts.delete(uri.toString());
    texts.set(uri.toString(), text);
    for (const old of [...texts.keys()].slice(0, -KEPT)) {
      texts.delete(old);
    }
    if (isRenewed) {
      renewed.fire(uri); // one that is open shows the new text
    }
    return uri;
  },

  register(): vscode.Disposable {
    return vscode.workspace.registerTextDocumentContentProvider(SCHEME, {
      onDidChange: renewed.event,
      provideTextDocumentContent: (uri) => texts.get(uri.toString()) ?? 'This document is gone; run the action again.',
    });
  },
};
