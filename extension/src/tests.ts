// The Test Explorer: each kernel of an open file is a test, the cases that its last check ran are below it. What a check
// in the background says is the state of its test; nobody has to run it.
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
  /** Whether anything is shown against it, as the line above it says; its cases may be right all the same. */
  readonly wrong: boolean;
  /** Whether it was edited since: what its last check said is no result of the kernel as it stands. */
  readonly outdated: boolean;
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

  /** What each test was last told, and the documents whose tests are being run. */
  const told = new WeakMap<vscode.TestItem, string | undefined>();
  const runs = new Set<string>();

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
    const tests = kernels.map((kernel, n) => item(controller, file, kernel, kernels.slice(0, n)));
    file.children.replace(tests);
    controller.items.add(file);
    if (runs.has(file.id)) {
      return; // the run tells it
    }
    const outdated = tests.filter((_, n) => kernels[n]?.outdated === true);
    if (outdated.length > 0) {
      controller.invalidateTestResults(outdated);
      outdated.forEach((test) => told.delete(test)); // the same again will be news
    }
    const news = tests.flatMap((test, n) =>
      !outdated.includes(test) && said(kernels[n]) !== told.get(test) ? [{ test, kernel: kernels[n]! }] : [],
    );
    if (news.length > 0) {
      const request = new vscode.TestRunRequest(news.map(({ test }) => test));
      const running = controller.createTestRun(request, 'Checked in the background', false);
      news.forEach(({ test, kernel }) => tell(running, test, kernel));
      running.end();
    }
  };
  const tell = (running: vscode.TestRun, test: vscode.TestItem, kernel: Kernel | undefined): void => {
    told.set(test, said(kernel));
    report(controller, running, test, kernel);
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
    const files = [...new Set(wanted.map((test) => `${test.uri}`))].filter((file) => !runs.has(file));
    files.forEach((file) => runs.add(file));
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
          const kernel = (await kernelsOf(test.uri)).find((one) => one.kernel === test.label && one.state !== null);
          tell(running, test, kernel);
          await then(test, place);
        } catch (error) {
          // A newer text has ended the check, or the server is gone.
          running.errored(test, new vscode.TestMessage(`${test.label} was not checked: ${String(error)}`));
        }
      }
    } finally {
      running.end();
      files.forEach((file) => runs.delete(file));
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

/** The kernel's test; the one that is there keeps what it was told. */
function item(
  controller: vscode.TestController,
  file: vscode.TestItem,
  kernel: Kernel,
  above: readonly Kernel[],
): vscode.TestItem {
  const namesakes = above.filter((one) => one.kernel === kernel.kernel).length;
  const id = namesakes === 0 ? kernel.kernel : `${kernel.kernel}:${namesakes}`;
  const test = file.children.get(id) ?? controller.createTestItem(id, kernel.kernel, file.uri);
  test.range = new vscode.Range(kernel.line - 1, kernel.character, kernel.line - 1, kernel.character);
  const decided = kernel.wrong ? 'wrong' : (kernel.state ?? 'not checked yet');
  const undecided = decided === 'unknown' ? `not decided: ${kernel.reason}` : decided;
  test.description = kernel.outdated ? 'edited since its check' : undecided;
  return test;
}

/** What a test is told of its kernel; the same again is no news. Nothing is told of one that no check has come to. */
function said(kernel: Kernel | undefined): string | undefined {
  return kernel === undefined || kernel.state === null
    ? undefined
    : JSON.stringify([kernel.state, kernel.wrong, kernel.reason, kernel.findings, kernel.passed]);
}

function report(
  controller: vscode.TestController,
  running: vscode.TestRun,
  test: vscode.TestItem,
  kernel: Kernel | undefined,
): void {
  if (kernel === undefined || kernel.state === null || (kernel.state === 'unknown' && !kernel.wrong)) {
    test.children.replace([]); // cases that passed before would show a test that has passed
    const why = kernel?.reason ?? 'the kernel is not there any more';
    running.appendOutput(`${test.label} is not decided: ${why}\r\n`, undefined, test);
    running.skipped(test);
    return;
  }
  test.children.replace(kernel.passed.map((name) => controller.createTestItem(name, name, test.uri)));
  test.children.forEach((passed) => running.passed(passed));
  running.appendOutput(`${test.label}: ${kernel.reason.replaceAll('\n', '\r\n')}\r\n`, undefined, test);
  if (!kernel.wrong) {
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
