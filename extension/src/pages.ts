// What the server draws, the lineage of a kernel or a verdict: pages without scripts that take the editor's colours.
import * as vscode from 'vscode';

/** A page of the report's or the gate's, everything of the repository escaped. */
export interface Drawn {
  readonly title: string;
  readonly html: string;
}

const POLICY = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`;
/** The page's own names for colours, given the editor's; those that are for marks are too pale for words. */
const THEME = `<style>:root { color-scheme: light dark;
  --ink: var(--vscode-foreground); --soft: var(--vscode-descriptionForeground); --card: var(--vscode-editor-background);
  --bg: var(--vscode-editor-background); --line: var(--vscode-editorWidget-border, var(--vscode-panel-border));
  --accent: var(--vscode-textLink-foreground); --good: color-mix(in srgb, var(--vscode-charts-green) 75%, var(--ink));
  --bad: color-mix(in srgb, var(--vscode-charts-red) 75%, var(--ink));
  --warn: color-mix(in srgb, var(--vscode-editorWarning-foreground) 55%, var(--ink)); --chip: var(--vscode-textCodeBlock-background);
  --add: var(--vscode-diffEditor-insertedTextBackground); --del: var(--vscode-diffEditor-removedTextBackground); }
  body { background: var(--vscode-editor-background); color: var(--vscode-foreground); }
  :focus-visible { outline: 1px solid var(--vscode-focusBorder); }</style>`;

const panels = new Map<string, vscode.WebviewPanel>();

/** Shows a page in the one panel of its kind. */
export function showDrawn(kind: 'timeline' | 'verdict', { title, html }: Drawn): void {
  let panel = panels.get(kind);
  if (panel === undefined) {
    panel = vscode.window.createWebviewPanel(`klineage.${kind}`, title, vscode.ViewColumn.Beside, {
      enableScripts: false,
      enableFindWidget: true,
      localResourceRoots: [],
    });
    panel.onDidDispose(() => panels.delete(kind));
    panels.set(kind, panel);
  }
  panel.title = title;
  panel.webview.html = html.replace('<head>', `<head>${POLICY}`).replace('</head>', `${THEME}</head>`);
  panel.reveal(undefined, false);
}
