import assert from 'node:assert/strict';
import { test } from 'node:test';
import { block } from '../testing/harness.ts';
import { decide, type PastCall, readRunbook } from './runbook.ts';

const TOOLS = new Set(['shell_exec', 'write_file', 'read_file']);

test('blocks of a brief become actions by their title', () => {
  const brief = [
    'prose `sh` inline',
    block('sh', 'echo 1\necho 2'),
    block('ts src/a.ts', 'export {};'),
    block('README.md', '# Hi'),
    block('sh scripts/run.sh', 'true'),
    block('ts', 'ignored'),
    block('', 'ignored'),
    block('sh', '   '),
    '~~~~bash\n```\nnested\n```\n~~~~',
    '````md doc.md\n```sh\nnot run\n```\n````',
  ].join('\n\n');
  assert.deepEqual(readRunbook(brief), [
    { tool: 'shell_exec', command: 'echo 1\necho 2' },
    { tool: 'write_file', path: 'src/a.ts', content: 'export {};\n' },
    { tool: 'write_file', path: 'README.md', content: '# Hi\n' },
    { tool: 'write_file', path: 'scripts/run.sh', content: 'true\n' },
    { tool: 'shell_exec', command: '```\nnested\n```' },
    { tool: 'write_file', path: 'doc.md', content: '```sh\nnot run\n```\n' },
  ]);
});

test('no line of a brief takes more than linear time', { timeout: 20_000 }, () => {
  const long = 500_000;
  for (const line of [`\`\`\`${' '.repeat(long)}\``, `${'~'.repeat(long)}\``, `${'`'.repeat(long)}x\``]) {
    assert.deepEqual(readRunbook(line), []);
  }
});

const BRIEF = block('a.txt', 'a') + block('b.txt', 'b') + block('sh', 'make') + block('c.txt', 'c');
const past = (tool: string, input: PastCall['input'], outcome: PastCall['outcome'] = 'ok'): PastCall => ({
  tool,
  input,
  outcome,
  output: tool === 'shell_exec' ? { exit_code: outcome === 'ok' ? 0 : 2 } : 'result',
});
const next = (calls: PastCall[]): string => {
  const decision = decide({ brief: BRIEF, past: calls, tools: TOOLS, json: false });
  if (decision.kind === 'finish') return decision.text;
  return decision.calls.map(({ tool, input }) => `${tool} ${input.path ?? input.command}`).join(', ');
};

test('the next step follows from the brief and the conversation alone', () => {
  const a = past('write_file', { path: 'a.txt' });
  const b = past('write_file', { path: 'b.txt' });
  const make = past('shell_exec', { command: 'make' });
  const c = past('write_file', { path: 'c.txt' });
  const read = ['a.txt', 'b.txt', 'c.txt'].map((path) => past('read_file', { path }));
  assert.equal(next([]), 'write_file a.txt, write_file b.txt');
  assert.equal(next([a]), 'write_file b.txt');
  assert.equal(next([a, b]), 'shell_exec make');
  assert.equal(next([a, b, make]), 'write_file c.txt, read_file a.txt, read_file b.txt, read_file c.txt');
  assert.equal(next([a, b, make, c]), 'read_file a.txt, read_file b.txt, read_file c.txt');
  assert.equal(next([a, b, make, c, ...read.slice(0, 2)]), 'read_file c.txt');
  assert.match(next([a, b, make, c, ...read]), /^Done.*\n- wrote a\.txt\n.*\n- ran `make`: exit code 0/);
});

test('a write of unknown outcome is repeated, a command is not', () => {
  const unknown = past('write_file', { path: 'a.txt' }, 'unknown');
  assert.equal(next([unknown]), 'write_file a.txt, write_file b.txt');
  const a = past('write_file', { path: 'a.txt' });
  const b = past('write_file', { path: 'b.txt' });
  const stopped = next([a, b, past('shell_exec', { command: 'make' }, 'unknown')]);
  assert.match(stopped, /outcome unknown/);
  assert.match(stopped, /"status":"partial","remaining":\["run: make","write: c.txt"\]/);
});

test('a failure ends the run, as error when nothing came before it', () => {
  const failed = next([past('write_file', { path: 'a.txt' }, 'failed')]);
  assert.match(failed, /"status":"error"/);
  const a = past('write_file', { path: 'a.txt' });
  const b = past('write_file', { path: 'b.txt' });
  const later = next([a, b, past('shell_exec', { command: 'make' }, 'failed')]);
  assert.match(later, /exit code 2/);
  assert.match(later, /"status":"partial"/);
});
