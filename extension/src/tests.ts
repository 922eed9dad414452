// The Test Explorer: each kernel of an open file is a test, the cases that its last check ran are below it.
import * as vscode from 'vscode';
import { ExecuteCommandRequest } from 'vscode-languageclient/node';

import { virtualDocuments } from './documents';
import type { Server } from './server';

interface Finding {
  readonly line: number;
  readonly message: string;
}

/** What the server knows of a kernel (`klineage.kernels`). */
interface Kernel {
  readonly kernel: string;
  /** Where it begins: 1-based, and in the editor's units. */
  readonly line: number;
  readonly character: number;
  readonly state: 'right' | 'wrong' | 'unknown' | null;
  readonly reason: string;
  readonly findings: readonly Finding[];
  /** Cases that agreed. */
  readonly passed: readonly string[];
}

export function registerTests(context: vscode.ExtensionContext, server: Server): void {
  const controller = vscode.tests.createTestController('klineage.kernels', 'GPU Kernels');
  const ask = async <T>(command: string, argument: unknown): Promise<T | undefined> =>
    (await server.running?.sendRequest(ExecuteCommandRequest.type, { command, arguments: [argument] })) as T | undefined;
  const kernelsOf = async (uri: vscode.Uri): Promise<readonly Kernel[]> =>
    (await ask<Kernel[]>('klineage.kernels', { uri: uri.toString(), line: 0, character: 0 })) ?? [];

  /** The file's item with its kernels as they are now; none for a file without a kernel. */
  const refresh = async (uri: vscode.Uri): Promise<void> => {
    const kernels = await kernelsOf(uri);
    if (kernels.length === 0) {
      controller.items.delete(uri.toString());
      return;
    }
    const file =
      controller.items.get(uri.toString()) ??
      controller.createTestItem(uri.toString(), vscode.workspace.asRelativePath(uri), uri);
    file.children.replace(kernels.map((kernel) => item(controller, uri, kernel)));
    controller.items.add(file);
  };
  controller.refreshHandler = async () => {
    await Promise.all(vscode.workspace.textDocuments.map(({ uri }) => refresh(uri)));
  };

  const run = async (
    request: vscode.TestRunRequest,
    cancelled: vscode.CancellationToken,
    then: (test: vscode.TestItem, place: unknown) => Promise<void> = async () => undefined,
  ): Promise<void> => {
    const running = controller.createTestRun(request);
    const wanted = (request.include ?? [...controller.items].map(([, file]) => file)).flatMap(kernelItems);
    wanted.forEach((test) => running.enqueued(test));
    try {
      for (const test of new Set(wanted)) {
        if (cancelled.isCancellationRequested || test.uri === undefined) {
          break;
        }
        running.started(test);
        const { line, character } = test.range!.start; // they are no properties of its own
        const place = { uri: test.uri.toString(), line, character };
        try {
          await ask('klineage.check', place);
          const kernel = (await kernelsOf(test.uri)).find(({ kernel: name }) => name === test.label);
          report(controller, running, test, kernel);
          await then(test, place);
        } catch (error) {
          // A newer text has ended the check, or the server is gone.
          running.errored(test, new vscode.TestMessage(`${test.label} was not checked: ${String(error)}`));
        }
      }
    } finally {
      running.end();
    }
  };
  /** All that a check knows of a kernel, as a text to read, to search and to hand on. */
  const asText = async (test: vscode.TestItem, place: unknown): Promise<void> => {
    const text = await ask<string | null>('klineage.debugText', place);
    if (text) {
      const uri = virtualDocuments.add(`${test.uri}`, `/${test.label}.txt`, text);
      await vscode.window.showTextDocument(uri, { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true, preview: true });
    }
  };
  controller.createRunProfile('Check', vscode.TestRunProfileKind.Run, (request, cancelled) => run(request, cancelled), true);
  const { Debug } = vscode.TestRunProfileKind;
  controller.createRunProfile('Debug Text', Debug, (request, cancelled) => run(request, cancelled, asText), true);
  context.subscriptions.push(
    controller,
    server.onChecked((uri) => void refresh(vscode.Uri.parse(uri))),
    vscode.workspace.onDidCloseTextDocument(({ uri }) => controller.items.delete(uri.toString())),
  );
}

function kernelItems(test: vscode.TestItem): vscode.TestItem[] {
  if (test.parent === undefined) {
    return [...test.children].map(([, kernel]) => kernel);
  }
  return [test.parent.parent === undefined ? test : test.parent];
}

function item(controller: vscode.TestController, uri: vscode.Uri, kernel: Kernel): vscode.TestItem {
  const test = controller.createTestItem(kernel.kernel, kernel.kernel, uri);
  test.range = new vscode.Range(kernel.line - 1, kernel.character, kernel.line - 1, kernel.character);
  test.description = kernel.state ?? 'not checked yet';
  test.children.replace(kernel.passed.map((name) => controller.createTestItem(name, name, uri)));
  return test;
}

function report(
  controller: vscode.TestController,
  running: vscode.TestRun,
  test: vscode.TestItem,
  kernel: Kernel | undefined,
): void {
  if (kernel === undefined || kernel.state === null || kernel.state === 'unknown') {
    const why = kernel?.reason ?? 'the kernel is not there any more';
    running.appendOutput(`${test.label} is not decided: ${why}\r\n`, undefined, test);
    running.skipped(test);
    return;
  }
  test.children.replace(kernel.passed.map((name) => controller.createTestItem(name, name, test.uri)));
  test.children.forEach((passed) => running.passed(passed));
  running.appendOutput(`${test.label}: ${kernel.reason.replaceAll('\n', '\r\n')}\r\n`, undefined, test);
  if (kernel.state === 'right') {
    running.passed(test);
    return;
  }
  const messages = kernel.findings.map(({ line, message }) => {
    const shown = new vscode.TestMessage(message);
    shown.location = new vscode.Location(test.uri!, new vscode.Position(line - 1, 0));
    return shown;
  });
  running.failed(test, messages.length > 0 ? messages : [new vscode.TestMessage(kernel.reason)]);
}
