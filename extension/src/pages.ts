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

/**
 * A timeline takes the panel's width, and no less than its words need: in a narrow panel it is scrolled, or made to fit.
 * Its size is a choice that needs no script: the arrow keys change it.
 */
const SIZES = [
  { id: 'fit', name: 'Fit', width: 'min(100%, 1400px)' },
  ...[100, 150, 200].map((size) => ({
    id: String(size),
    name: `${size} %`,
    width: `calc(${size / 100} * clamp(var(--words), 100%, 1400px))`,
  })),
];
const WHOLE = `<style>
  main { max-width: none; padding: 0 16px 40px; } h1 { margin: 12px 0 0; font-size: 20px; }
  .size { position: sticky; top: 0; z-index: 1; display: flex; gap: 12px; margin: 0; padding: 6px 0; border: 0;
    background: var(--vscode-editor-background); font-size: 13px; }
  .size legend { float: left; padding: 0; } .size label { display: flex; align-items: center; gap: 4px; }
  .size input { margin: 0; accent-color: var(--vscode-focusBorder); }
  figure { padding: 8px; } figure svg { --words: 1080px; } figure svg.words { --words: 820px; }
  figure svg, figure svg.words { min-width: 0; max-width: none; }
  svg.lineage a:focus-visible .subject { fill: var(--accent); text-decoration: underline; }
  ${SIZES.map(({ id, width }) => `body:has(#size-${id}:checked) figure svg { width: ${width}; }`).join('\n  ')}</style>`;
const CHOICE = `<fieldset class="size"><legend>Size</legend>${SIZES.map(
  ({ id, name }) =>
    `<label><input type="radio" name="size" id="size-${id}"${id === '100' ? ' checked' : ''}>${name}</label>`,
).join('')}</fieldset>`;

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
  const page = html.replace('<head>', `<head>${POLICY}`).replace('</head>', `${THEME}${kind === 'timeline' ? WHOLE : ''}</head>`);
  panel.webview.html = kind === 'timeline' ? page.replace('<main>', `<main>${CHOICE}`) : page;
  panel.reveal(undefined, false);
}
