// Whether our pages can be read by everybody: axe-core over what a webview shows, in the colours of four themes. The pages
// have no scripts, so that a copy of what they show is asked, in a page of its own.
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

const AXE = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const THEMES = ['vscode-light', 'vscode-high-contrast', 'vscode-high-contrast-light', 'vscode-dark'];

export class Audit {
  constructor(editor) {
    this.editor = editor;
    this.pages = new Map();
  }

  /** Keeps what the page beside the code shows, under a name. */
  async keep(name) {
    const html = await this.editor.shown().locator('html').evaluate((root) => root.outerHTML);
    this.pages.set(name, html.replaceAll(/<script[\s\S]*?<\/script>|<meta http-equiv="Content-Security-Policy"[^>]*>/gi, ''));
  }

  /** What is wrong with the pages, a line for each rule that one breaks. Some page of ours must be shown, for its colours. */
  async problems() {
    const { editor } = this;
    const page = await editor.page.context().newPage();
    const wrong = [];
    for (const kind of THEMES) {
      const style = await editor.theme(kind);
      for (const [name, html] of this.pages) {
        await page.setContent(html);
        await page.evaluate(([colours, shown]) => {
          document.documentElement.setAttribute('style', colours);
          document.body.className = shown;
          document.body.dataset.vscodeThemeKind = shown;
        }, [style, kind]);
        await page.screenshot({ path: path.join(editor.shots, `${name}-${kind}.png`) });
        await page.evaluate(AXE);
        const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }));
        for (const { id, help, nodes } of violations) {
          const where = nodes.slice(0, 3).map((n) => `${n.html.slice(0, 160)} ${n.any[0]?.message ?? ''}`).join('\n    ');
          wrong.push(`${name}, ${kind}: ${id}: ${help} (${nodes.length})\n    ${where}`);
        }
      }
    }
    await page.close();
    return wrong;
  }
}

/** Rows of one of our views that a screen reader could not name, or that are no items of a tree. */
export const unnamed = (pane) =>
  pane.locator('.monaco-list-row').evaluateAll((rows) =>
    rows
      .filter((row) => row.getAttribute('role') !== 'treeitem' || !/\p{L}/u.test(row.getAttribute('aria-label') ?? ''))
      .map((row) => row.outerHTML.slice(0, 200)),
  );
