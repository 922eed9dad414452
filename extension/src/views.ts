// The tree views. The server says what a row shows and what it opens; here it is drawn and asked for again.
import * as vscode from 'vscode';
import { ExecuteCommandRequest } from 'vscode-languageclient/node';

import type { Server } from './server';

export const VIEWS = ['lineage', 'skills', 'runs', 'devices'] as const;
export type ViewName = (typeof VIEWS)[number];

/** A command with what it is about. */
interface Link {
  readonly command: string;
  readonly title: string;
  readonly arguments: readonly unknown[];
}

/** One row, as the server describes it (`editor/views/tree.py`). */
export interface Row {
  readonly id: string;
  readonly label: string;
  readonly description: string;
  readonly tooltip: string;
  readonly icon: string;
  readonly color: string;
  readonly spoken: string;
  readonly kind: string;
  readonly open: Link | null;
  readonly data: Readonly<Record<string, unknown>>;
  readonly expanded: boolean;
  readonly children: readonly Row[];
}

interface Tree {
  readonly state: string;
  readonly reason: string;
  readonly about: string;
  readonly nodes: readonly Row[];
}

/** What the server is asked about: where the editor is, or the kernel that a person chose. */
export type About = () => Record<string, unknown>;

const PAUSE = 250; // ms in which several changes are one

/** One view: it asks when it is seen, and again when something has changed. */
export class View implements vscode.TreeDataProvider<Row>, vscode.Disposable {
  readonly shown: vscode.TreeView<Row>;
  private readonly changed = new vscode.EventEmitter<undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private pause: NodeJS.Timeout | undefined;
  private stale = true;
  private turn = 0;
  /** An answer that has not been drawn yet. */
  private fresh: Tree | undefined;
  private drawn = '';
  private rows: readonly Row[] = [];

  constructor(
    readonly name: ViewName,
    private readonly server: Server,
    private readonly about: About,
  ) {
    this.shown = vscode.window.createTreeView(`klineage.${name}View`, {
      treeDataProvider: this,
      canSelectMany: name === 'lineage',
      showCollapseAll: name === 'lineage' || name === 'skills',
    });
    this.shown.onDidChangeVisibility(({ visible }) => {
      if (visible && !server.isWanted) {
        void server.restart(`the view ${name} is shown`);
      } else if (visible && this.stale) {
        this.refresh();
      }
    });
  }

  refresh(): void {
    this.stale = true;
    clearTimeout(this.pause);
    this.pause = setTimeout(() => void (this.shown.visible && this.renew()), PAUSE);
  }

  /** Draws what has changed only: a row that is drawn anew under a click opens nothing. */
  private async renew(): Promise<void> {
    this.turn += 1;
    const { turn } = this;
    const tree = await this.ask();
    if (turn !== this.turn) {
      return; // a newer answer is on its way
    }
    this.stale = false;
    if (JSON.stringify(tree) !== this.drawn) {
      this.fresh = tree;
      this.changed.fire(undefined);
    }
  }

  getTreeItem(row: Row): vscode.TreeItem {
    return treeItem(row);
  }

  async getChildren(row?: Row): Promise<Row[]> {
    if (row !== undefined) {
      return [...row.children];
    }
    const tree = this.fresh ?? (await this.ask());
    this.fresh = undefined;
    this.stale = false;
    this.drawn = JSON.stringify(tree);
    this.rows = tree.nodes;
    this.shown.description = tree.about;
    // Words of the moment; the states that a person can do something about have words and buttons of their own.
    this.shown.message = tree.state === 'problem' ? tree.reason : '';
    await vscode.commands.executeCommand('setContext', `klineage.${this.name}.state`, tree.state);
    return [...tree.nodes];
  }

  getParent(row: Row): Row | undefined {
    return this.rows.find(({ children }) => children.includes(row));
  }

  private async ask(): Promise<Tree> {
    const none = { reason: '', about: '', nodes: [] };
    const { running } = this.server;
    if (running === undefined) {
      return { ...none, state: 'no-server' };
    }
    const params = { command: 'klineage.view', arguments: [{ view: this.name, ...this.about() }] };
    try {
      return (await running.sendRequest(ExecuteCommandRequest.type, params)) as Tree;
    } catch (error) {
      return { ...none, state: 'problem', reason: String(error) };
    }
  }

  dispose(): void {
    clearTimeout(this.pause);
    this.shown.dispose();
    this.changed.dispose();
  }
}

/** A row as the editor draws it. */
export function treeItem(row: Row): vscode.TreeItem {
  const { None, Expanded, Collapsed } = vscode.TreeItemCollapsibleState;
  const item = new vscode.TreeItem(row.label, row.children.length === 0 ? None : row.expanded ? Expanded : Collapsed);
  item.id = row.id;
  item.description = row.description;
  item.tooltip = row.tooltip || row.label;
  item.contextValue = row.kind;
  item.accessibilityInformation = { label: row.spoken || [row.label, row.description].filter(Boolean).join(', ') };
  if (row.icon !== '') {
    item.iconPath = new vscode.ThemeIcon(row.icon, row.color === '' ? undefined : new vscode.ThemeColor(row.color));
  }
  if (row.open !== null) {
    item.command = { ...row.open, arguments: [...row.open.arguments] };
  }
  return item;
}
