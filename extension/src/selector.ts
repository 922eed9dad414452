import type { DocumentSelector } from 'vscode-languageclient/node';

/** The documents that the server is told of: CUDA C++ by its name, whatever language an editor calls it, and Python. */
export const SELECTOR = [
  { scheme: 'file', pattern: '**/*.{cu,cuh}' },
  { scheme: 'file', language: 'cuda-cpp' },
  { scheme: 'file', language: 'cuda' },
  { scheme: 'file', language: 'python' },
] satisfies DocumentSelector;
