import { languages, type TextDocument } from 'vscode';
import type { DocumentSelector } from 'vscode-languageclient/node';

const WORKLOADS = [{ scheme: 'file', pattern: '**/.klineage/workloads/*.toml' }] satisfies DocumentSelector;
/** Code that may hold kernels: CUDA C++ by its name, whatever language an editor calls it, and Python. */
export const CODE = [
  { scheme: 'file', pattern: '**/*.{cu,cuh}' },
  { scheme: 'file', language: 'cuda-cpp' },
  { scheme: 'file', language: 'cuda' },
  { scheme: 'file', language: 'python' },
] satisfies DocumentSelector;
/** The documents that the server is told of. */
export const SELECTOR = [...CODE, ...WORKLOADS] satisfies DocumentSelector;

/** Completion is for workloads: no key that is typed in code waits for the server. */
export const isWorkload = (document: TextDocument): boolean => languages.match(WORKLOADS, document) > 0;
