// Offers the tools of `klineage mcp` to the editor's coding agents, started as the language server is.
import * as vscode from 'vscode';

import { Wheels } from './environment';
import { resolveServer, surroundings } from './python';
import { readSettings } from './settings';

const ID = 'klineage.tools';

/** What of the editor's interface is newer than the oldest editor that is supported (1.101). */
interface ServersOfAgents {
  registerMcpServerDefinitionProvider?(
    id: string,
    provider: { provideMcpServerDefinitions(): Promise<unknown[]> },
  ): vscode.Disposable;
}
type StdioServer = new (
  label: string,
  command: string,
  args: string[],
  env: Record<string, string | null>,
  version?: string,
) => { cwd?: vscode.Uri };

/** One server for each folder of a trusted workspace; none before, and none where the editor knows no such servers. */
export function registerTools(context: vscode.ExtensionContext, log: vscode.LogOutputChannel): void {
  const agents = vscode.lm as unknown as ServersOfAgents;
  const { McpStdioServerDefinition: StdioServerDefinition } = vscode as unknown as { McpStdioServerDefinition?: StdioServer };
  if (agents.registerMcpServerDefinitionProvider === undefined || StdioServerDefinition === undefined) {
    return;
  }
  const provideMcpServerDefinitions = async (): Promise<unknown[]> => {
    const folders = vscode.workspace.workspaceFolders ?? [];
    if (!vscode.workspace.isTrusted || folders.length === 0) {
      return [];
    }
    const { resolved } = await resolveServer(readSettings(), Wheels.of(context)?.command, log);
    if (resolved === undefined) {
      return [];
    }
    const { cwd, env } = surroundings();
    return folders.map((folder) => {
      const label = folders.length === 1 ? 'Kernel Lineage' : `Kernel Lineage (${folder.name})`;
      const args = [...resolved.args, 'mcp', folder.uri.fsPath, '--trusted'];
      const server = new StdioServerDefinition(label, resolved.command, args, clean(env), resolved.version);
      server.cwd = vscode.Uri.file(cwd);
      return server;
    });
  };
  context.subscriptions.push(agents.registerMcpServerDefinitionProvider(ID, { provideMcpServerDefinitions }));
}

/** The editor adds these to its own variables: what `surroundings` leaves out is taken away. */
function clean(env: NodeJS.ProcessEnv): Record<string, string | null> {
  const changed: Record<string, string | null> = {};
  for (const name of Object.keys(process.env)) {
    if (env[name] !== process.env[name]) {
      changed[name] = env[name] ?? null;
    }
  }
  return changed;
}
