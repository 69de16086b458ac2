import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Script } from './script-server.ts';

/**
 * A worker's process dies at every write that it makes, and after every kind of tool call; the next one takes its task up
 * (design 3, Resume).
 */
const CHILD = join(import.meta.dirname, 'crash-child.ts');
const AT_A_TIME = 2;
const GIVE_UP_MS = 60_000;
const CHECK = 'grep -qx roses poem.md && grep -qx ran marks.txt && echo checked >> marks.txt';

/** Every kind of call that a worker's own tools make; commands, which must not be repeated, leave a mark that tells. */
const SCRIPT: Script = [
  { word: 'Write the poem', steps: [[['write_file', { path: 'poem.md', content: 'roses\n' }]]] },
  {
    word: 'the script says',
    steps: [
      [
        ['write_file', { path: 'notes.md', content: 'one\ntwo\n' }],
        ['edit_file', { path: 'notes.md', old_text: 'two', new_text: 'two and more' }],
        ['progress_update', { accomplished: ['notes'], remaining: [], decisions: [], blockers: [] }],
        ['scratchpad_write', { path: 'found.md', content: 'found' }],
        ['memory_write', { name: 'habits.md', content: 'tests first' }],
        ['find_files', { pattern: '**/*.md' }],
        ['grep_files', { pattern: 'more' }],
        ['shell_exec', { command: 'echo ran >> marks.txt' }],
      ],
      [['delegate', { agent: 'writer', brief: 'Write the poem to poem.md' }]],
      [['shell_exec', { command: CHECK }]],
      [
        ['read_file', { path: 'notes.md' }],
        ['read_file', { path: 'poem.md' }],
        ['read_file', { path: 'marks.txt' }],
      ],
    ],
  },
];

interface Entry {
  readonly inputTokens: number;
}
interface Life {
  readonly died: boolean;
  readonly outcome?: { status: string; remaining?: string[]; artifacts: { filesChanged: string[] } };
  readonly entries?: readonly Entry[];
  readonly writes?: number;
}

/** A process that dies right before its write number `dieAt`, after all that it did since the one before; 0: it lives. */
function live(dir: string, dieAt: number): Promise<Life> {
  const order = { dir, script: SCRIPT, dieAt, config: { tools: { web: { enabled: false } } } };
  return new Promise((resolve, reject) => {
    const env = { ...process.env, NODE_COMPILE_CACHE: join(tmpdir(), 'fleet-crash-cache') };
    const bounds = { timeout: GIVE_UP_MS, killSignal: 'SIGTERM' as const, maxBuffer: 16 * 1024 * 1024 };
    const options = { env, ...bounds };
    execFile(process.execPath, [CHILD, JSON.stringify(order)], options, (error, stdout, stderr) => {
      if (error?.signal === 'SIGKILL') resolve({ died: true });
      else if (error) reject(new Error(`a life ended otherwise: ${error.message}\n${stderr}`));
      else resolve({ died: false, ...JSON.parse(stdout) });
    });
  });
}

function makeDir(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'fleet-crash-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  mkdirSync(join(dir, 'state'), { mode: 0o700 });
  return dir;
}

const inTree = (dir: string, file: string): string => {
  const [context = ''] = readdirSync(join(dir, 'workspace/contexts'));
  const path = join(dir, 'workspace/contexts', context, file);
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
};

/** What must hold of a task that was taken up after a death, however far it got. */
function judge(dir: string, life: Life, whole: Life, dieAt: number): 'done' | 'partial' {
  const at = `before write ${dieAt}`;
  const { outcome } = life;
  assert.ok(outcome, at);
  const marks = inTree(dir, 'marks.txt').split('\n').filter(Boolean);
  assert.equal(new Set(marks).size, marks.length, `${at}: a command ran twice: ${marks}`);
  const billed = readFileSync(join(dir, 'bill'), 'utf8').split('\n').length - 1;
  assert.ok((life.entries ?? []).length >= billed, `${at}: a call of the model is not in the account`);
  assert.ok(life.entries?.every(({ inputTokens }) => inputTokens > 0));
  if (outcome.status === 'done') {
    assert.deepEqual(marks, ['ran', 'checked'], at);
    assert.equal(inTree(dir, 'notes.md'), 'one\ntwo and more\n', at);
    assert.equal(inTree(dir, 'poem.md'), 'roses\n', at);
    assert.deepEqual(outcome.artifacts.filesChanged, whole.outcome?.artifacts.filesChanged, at);
    return 'done';
  }
  assert.equal(outcome.status, 'partial', at);
  assert.ok((outcome.remaining ?? []).length > 0, `${at}: it does not say what is left`);
  return 'partial';
}

test('a worker that dies at any of its writes repeats nothing, loses nothing, and ends what it began', async (t) => {
  const whole = await live(makeDir(t), 0);
  assert.equal(whole.outcome?.status, 'done', JSON.stringify(whole.outcome));
  const writes = whole.writes ?? 0;
  assert.ok(writes > 30, `only ${writes} writes`);
  const ends = { done: 0, partial: 0 };
  const next = Array.from({ length: writes }, (_, index) => index + 1).values();
  async function sweep(): Promise<void> {
    for (const dieAt of next) {
      const dir = makeDir(t);
      assert.equal((await live(dir, dieAt)).died, true, `it did not die before write ${dieAt}`);
      const again = await live(dir, 0);
      ends[judge(dir, again, whole, dieAt)] += 1;
      rmSync(dir, { recursive: true, force: true });
    }
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, sweep));
  t.diagnostic(`${writes} deaths: ${ends.done} done, ${ends.partial} partial`);
  // Only a call that may have been carried out, and must not be repeated, ends a task early.
  assert.ok(ends.done > ends.partial, JSON.stringify(ends));
});
