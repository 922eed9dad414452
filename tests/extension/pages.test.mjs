// The pages that the server draws, as they are put into the editor.
import assert from 'node:assert/strict';
import test from 'node:test';

import { load } from './load.mjs';

/** What is shown in the panel of each kind, by `showDrawn`. */
async function shown(kind) {
  const panels = [];
  const editor = {
    ViewColumn: { Beside: -2 },
    window: {
      createWebviewPanel: (_id, _title, _column, options) => {
        panels.push({ options, webview: { html: '' }, onDidDispose: () => undefined, reveal: () => undefined });
        return panels.at(-1);
      },
    },
  };
  const { showDrawn } = await load('pages.ts', editor);
  showDrawn(kind, { title: 'Lineage', html: '<html><head></head><body><main><figure></figure></main></body></html>' });
  return panels[0];
}

test('a timeline has sizes to choose from by keyboard, without a script', async () => {
  const { options, webview } = await shown('timeline');
  const sizes = [...webview.html.matchAll(/<input type="radio" name="size" id="size-(\w+)"( checked)?>/g)];
  assert.deepEqual(sizes.map(([, size, checked]) => [size, Boolean(checked)]), [['fit', false], ['100', true], ['150', false], ['200', false]]);
  sizes.forEach(([, size]) => assert.match(webview.html, new RegExp(`#size-${size}:checked`)));
  assert.equal(options.enableScripts, false);
  assert.match(webview.html, /<main><fieldset/, 'within a landmark');
  assert.doesNotMatch(webview.html, /<script/);
  assert.match(webview.html, /<head><meta http-equiv="Content-Security-Policy" content="default-src 'none'/);
});

test('the page of a verdict has none', async () => {
  const { webview } = await shown('verdict');
  assert.doesNotMatch(webview.html, /type="radio"/);
});
