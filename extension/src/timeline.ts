// The lineage of one kernel as the report draws it, in a page without scripts that takes the editor's colours.
import * as vscode from 'vscode';

/** What the server answers to `klineage.timeline`. */
export interface Timeline {
  readonly title: string;
  /** The report's page, everything of the repository escaped; null when there is none. */
  readonly html: string | null;
  readonly reason: string;
}

const POLICY = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">`;
/** The page's own names for colours, given the editor's. */
const THEME = `<style>:root { color-scheme: light dark;
  --ink: var(--vscode-foreground); --soft: var(--vscode-descriptionForeground); --card: var(--vscode-editor-background);
  --bg: var(--vscode-editor-background); --line: var(--vscode-editorWidget-border, var(--vscode-panel-border));
  --accent: var(--vscode-textLink-foreground); --good: var(--vscode-charts-green); --bad: var(--vscode-charts-red);
  --warn: var(--vscode-charts-orange); --chip: var(--vscode-textCodeBlock-background);
  --add: var(--vscode-diffEditor-insertedTextBackground); --del: var(--vscode-diffEditor-removedTextBackground); }
  body { background: var(--vscode-editor-background); color: var(--vscode-foreground); }
  :focus-visible { outline: 1px solid var(--vscode-focusBorder); }</style>`;

let panel: vscode.WebviewPanel | undefined;

export function showTimeline({ title, html, reason }: Timeline): void {
  if (html === null) {
    void vscode.window.showInformationMessage(reason);
    return;
  }
  if (panel === undefined) {
    panel = vscode.window.createWebviewPanel('klineage.timeline', title, vscode.ViewColumn.Beside, {
      enableScripts: false,
      enableFindWidget: true,
      localResourceRoots: [],
    });
    panel.onDidDispose(() => (panel = undefined));
  }
  panel.title = title;
  panel.webview.html = html.replace('<head>', `<head>${POLICY}`).replace('</head>', `${THEME}</head>`);
  panel.reveal(undefined, false);
}
