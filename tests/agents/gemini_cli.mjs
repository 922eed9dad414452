// A real coding agent on our plugin: Gemini CLI with a scripted model in place of its own, which is asked for nothing.
// It checks a kernel, tries to edit it past the gate, and asks what else can be done; what reached it is printed.
//   usage: PATH=$PWD/.venv/bin:$PATH node tests/agents/gemini_cli.mjs FOLDER_WITH_GEMINI_CLI   (npm i @google/gemini-cli)
import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

import { RIGHT } from '../editor/vscode/kernels.mjs';

const gemini = path.resolve(process.argv[2], 'node_modules/.bin/gemini');
const base = fs.mkdtempSync(path.join(os.tmpdir(), 'klineage-gemini-'));
const [home, project] = ['home', 'project'].map((name) => path.join(base, name));
const kernel = path.join(project, 'sum.cu');
const edit = { file_path: kernel, old_string: '0.0f;\n    __syncthreads();', new_string: '0.0f;', instruction: 'Drop the barrier.' };
const CALLS = [
  ['check_kernel', { file: 'sum.cu' }],
  ['replace', edit],
  ['applicable_skills', { file: 'sum.cu', kernel: 'block_sum' }],
];
const answers = [];

/** One turn of the model: the next call, or the end. */
function turn(request) {
  const declared = (request.tools ?? []).flatMap((tool) => (tool.functionDeclarations ?? []).map(({ name }) => name));
  const said = (request.contents?.at(-1)?.parts ?? []).flatMap((part) => part.functionResponse?.response ?? []).map((r) => JSON.stringify(r));
  const [, job] = said.join().match(/"state\\":\\"running\\",\\"job\\":\\"(\w+)/) ?? [];
  if (job === undefined) {
    answers.push(...said);
  }
  const next = job === undefined ? CALLS[declared.length > 0 ? answers.length : -1] : ['job_result', { job }];
  if (next === undefined) {
    return { text: 'Done.' };
  }
  const name = declared.find((one) => one === next[0] || one.endsWith(`_${next[0]}`));
  assert.ok(name, `the agent has no tool ${next[0]}: ${declared}`);
  return { functionCall: { name, args: next[1] } };
}

const model = http.createServer((request, response) => {
  let body = '';
  request.on('data', (part) => { body += part; });
  request.on('end', () => {
    const content = { role: 'model', parts: [turn(JSON.parse(body))] };
    const answer = JSON.stringify({ candidates: [{ content, finishReason: 'STOP', index: 0 }] });
    const streams = request.url.includes('stream');
    response.setHeader('content-type', streams ? 'text/event-stream' : 'application/json');
    response.end(streams ? `data: ${answer}\n\n` : answer);
  });
});

try {
  for (const folder of [path.join(home, '.gemini'), project]) {
    fs.mkdirSync(folder, { recursive: true });
  }
  fs.writeFileSync(kernel, RIGHT);
  const settings = {
    security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
    privacy: { usageStatisticsEnabled: false },
    general: { disableAutoUpdate: true },
  };
  fs.writeFileSync(path.join(home, '.gemini/settings.json'), JSON.stringify(settings));
  await new Promise((resolve) => model.listen(0, '127.0.0.1', resolve));
  const env = {
    ...process.env, HOME: home, GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: `http://127.0.0.1:${model.address().port}`,
  };
  for (const name of ['XDG_CONFIG_HOME', 'XDG_CACHE_HOME', 'XDG_DATA_HOME']) {
    delete env[name];
  }
  const started = { cwd: project, env };
  execFileSync('git', ['init', '-q'], started);
  execFileSync('git', ['add', '-A'], started);
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@localhost', 'commit', '-qm', 'A sum'], started);
  execFileSync('klineage', ['plugin', 'gemini', '--into', path.join(base, 'plugin')], started);
  execFileSync(gemini, ['extensions', 'install', path.join(base, 'plugin'), '--consent'], { ...started, input: 'y\ny\n', stdio: 'pipe' });
  // Trust is given in a terminal.
  execFileSync('script', ['-qec', 'klineage trust', '/dev/null'], { ...started, input: 'y\n', stdio: 'pipe' });
  await promisify(execFile)(gemini, ['--approval-mode', 'yolo', '-m', 'gemini-2.5-flash', '-p', 'Make block_sum faster.'], started);
  answers.forEach((answer, at) => console.log(`${CALLS[at][0]}: ${answer.slice(0, 400)}`));
  assert.match(answers[0], /\\"state\\":\\"right\\"/);
  assert.match(answers[1], /Refused: this edit changes a kernel that the gate has not accepted/);
  assert.match(answers[2], /warp-shuffle-reduction/);
  assert.equal(fs.readFileSync(kernel, 'utf8'), RIGHT, 'the kernel is as it was');
} finally {
  model.close();
  fs.rmSync(base, { recursive: true, force: true, maxRetries: 5 });
}
