import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Script } from './script-server.ts';

/**
 * A worker's process dies at every write that it makes, and so in the middle of every kind of tool call; the next one
 * takes its task up (design 3, Resume).
 */
const CHILD = join(import.meta.dirname, 'crash-child.ts');
const AT_A_TIME = 2;
const GIVE_UP_MS = 60_000;
const CHECK = 'grep -qx roses poem.md && grep -qx ran marks.txt && echo checked >> marks.txt';

const PROGRESS = { accomplished: ['notes'], remaining: [], decisions: ['prose'], blockers: [] };

/** Every kind of call that a worker can make; those that must not be made twice leave a mark that tells, where they can. */
const SCRIPT: Script = [
  { word: 'Write the poem', steps: [[['write_file', { path: 'poem.md', content: 'roses\n' }]]] },
  {
    word: 'the script says',
    steps: [
      [
        ['write_file', { path: 'notes.md', content: 'one\ntwo\n' }],
        ['edit_file', { path: 'notes.md', old_text: 'two', new_text: 'two and more' }],
        ['progress_update', PROGRESS],
        ['scratchpad_write', { name: 'found.md', content: 'found' }],
        ['memory_write', { name: 'habits.md', content: 'tests first' }],
        ['mcp__board__post', { line: 'posted' }],
        // The last of them: where one before it was cut off, it is not run, and CHECK finds that out.
        ['shell_exec', { command: 'echo ran >> marks.txt' }],
      ],
      [['delegate', { agent: 'writer', brief: 'Write the poem to poem.md' }]],
      [['shell_exec', { command: CHECK }]],
      [
        ['list_files', {}],
        ['find_files', { pattern: '**/*.md' }],
        ['grep_files', { pattern: 'more' }],
        ['progress_read', {}],
        ['scratchpad_list', {}],
        ['scratchpad_read', { name: 'found.md' }],
        ['memory_list', {}],
        ['memory_read', { name: 'habits.md' }],
        ['read_file', { path: 'notes.md' }],
        ['read_file', { path: 'poem.md' }],
        ['read_file', { path: 'marks.txt' }],
      ],
    ],
  },
];
const CALLED = SCRIPT.flatMap(({ steps }) => steps.flat()).map(([tool]) => tool);

/** What may have been done when a process dies in the middle of it, and would be done twice. */
const FILES = ['write_file', 'edit_file', 'scratchpad_write', 'memory_write'];
const ONCE = new Set([...FILES, 'shell_exec', 'mcp__board__post']);

/** Kinds that the script does not call, and why; fleet_* and a2a_* are not offered here, and are tested in libs/fleet. */
const NOT_CALLED: Readonly<Record<string, string>> = {
  web_fetch: 'switched off: it needs a network; to a restart it is a read like any other',
  ask_caller: 'needs somebody who answers: test/fleet has its crashes',
};

interface ToolEvent {
  readonly tool: string;
  readonly phase: 'started' | 'ended';
  readonly ok?: boolean;
}
interface Survivor {
  readonly outcome: { status: string; remaining?: string[]; artifacts: { filesChanged: string[] } };
  readonly entries: readonly { readonly inputTokens: number }[];
  readonly writes: number;
  /** The names of the tools in the model's first request. */
  readonly offered: readonly string[];
  /** What the ledger told of calls when this life began, and when it ended. */
  readonly callsBefore: readonly ToolEvent[];
  readonly callsAfter: readonly ToolEvent[];
}

/**
 * A process that dies right before its write number `dieAt`, after all that it did since the one before; 0: it lives.
 * Resolves with undefined when it has died.
 */
function live(dir: string, dieAt: number): Promise<Survivor | undefined> {
  const order = { dir, script: SCRIPT, dieAt, config: { tools: { web: { enabled: false } } } };
  return new Promise((resolve, reject) => {
    const cache = process.env.NODE_COMPILE_CACHE ?? join(tmpdir(), 'fleet-crash-cache');
    const env = { ...process.env, NODE_COMPILE_CACHE: cache };
    const options = { env, timeout: GIVE_UP_MS, killSignal: 'SIGTERM' as const, maxBuffer: 16 * 1024 * 1024 };
    execFile(process.execPath, [CHILD, JSON.stringify(order)], options, (error, stdout, stderr) => {
      if (error?.signal === 'SIGKILL') resolve(undefined);
      else if (error) reject(new Error(`a life ended otherwise: ${error.message}\n${stderr}`));
      else resolve(JSON.parse(stdout));
    });
  });
}

function makeDir(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'fleet-crash-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  mkdirSync(join(dir, 'state'), { mode: 0o700 });
  return dir;
}

async function survive(dir: string): Promise<Survivor> {
  const life = await live(dir, 0);
  assert.ok(life, 'it died of something else');
  return life;
}

const read = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '');
const linesOf = (path: string): string[] => read(path).split('\n').filter(Boolean);

function treeOf(dir: string): string {
  const [context = ''] = readdirSync(join(dir, 'workspace/contexts'));
  return join(dir, 'workspace/contexts', context);
}

/** Calls that a dead process had started and not ended; a sub-agent's are under way inside its caller's. */
function underWay(events: readonly ToolEvent[]): string[] {
  const open: string[] = [];
  for (const { tool, phase } of events) {
    if (phase === 'started') open.push(tool);
    else open.splice(open.lastIndexOf(tool), 1);
  }
  return open;
}

const times = (tools: readonly string[], wanted: string): number =>
  tools.filter((tool) => tool === wanted).length;

/** All that a task that is done has to leave behind, wherever a process of it died. */
function judgeDone(dir: string, { outcome }: Survivor, at: string): void {
  const tree = treeOf(dir);
  assert.deepEqual(linesOf(join(tree, 'marks.txt')), ['ran', 'checked'], at);
  assert.deepEqual(linesOf(join(dir, 'board')), ['posted'], at);
  assert.equal(read(join(tree, 'notes.md')), 'one\ntwo and more\n', at);
  assert.equal(read(join(tree, 'poem.md')), 'roses\n', at);
  assert.deepEqual(JSON.parse(read(join(tree, 'PROGRESS.json'))), PROGRESS, at);
  assert.equal(read(join(tree, '.scratch/crash-test/found.md')), 'found', at);
  assert.equal(read(join(dir, 'state/memory/habits.md')), 'tests first', at);
  assert.deepEqual(outcome.artifacts.filesChanged, ['marks.txt', 'notes.md', 'poem.md'], at);
}

/** What must hold of a task that was taken up after a death, however far it got. */
function judge(dir: string, life: Survivor, dieAt: number): 'done' | 'partial' {
  const { outcome, entries } = life;
  const cutOff = underWay(life.callsBefore);
  const at = `before write ${dieAt}, in ${cutOff.join(' > ') || 'no call'}`;
  for (const file of [join(treeOf(dir), 'marks.txt'), join(dir, 'board')]) {
    const lines = linesOf(file);
    assert.equal(new Set(lines).size, lines.length, `${at}: a call was made twice: ${lines}`);
  }
  // A call is told of, durably, before it is made: also one that leaves the same behind twice would show.
  const started = life.callsAfter.filter(({ phase }) => phase === 'started').map(({ tool }) => tool);
  for (const tool of ONCE)
    assert.ok(times(started, tool) <= times(CALLED, tool), `${at}: ${tool} was made twice`);
  const billed = linesOf(join(dir, 'bill')).length;
  assert.ok(entries.length >= billed, `${at}: a call of the model is not in the account`);
  assert.ok(entries.every(({ inputTokens }) => inputTokens > 0));
  const why = `${at}: ${JSON.stringify(outcome)}`;
  // Only what may have been done, and must not be done again, can end a task early or fail a call.
  if (!cutOff.some((tool) => ONCE.has(tool))) {
    assert.equal(outcome.status, 'done', why);
    const failed = life.callsAfter.filter(({ ok }) => ok === false);
    assert.deepEqual(failed, [], at);
  }
  if (outcome.status === 'done') {
    judgeDone(dir, life, at);
    return 'done';
  }
  assert.equal(outcome.status, 'partial', why);
  assert.ok((outcome.remaining ?? []).length > 0, `${at}: it does not say what is left`);
  return 'partial';
}

test('a worker that dies at any of its writes repeats nothing, loses nothing, and ends what it began', async (t) => {
  const home = makeDir(t);
  const whole = await survive(home);
  assert.equal(judge(home, whole, 0), 'done');
  const made = whole.callsAfter.filter(({ phase }) => phase === 'ended').map(({ tool }) => tool);
  assert.deepEqual(made.sort(), CALLED.toSorted());
  const missing = whole.offered.filter((tool) => !CALLED.includes(tool) && !(tool in NOT_CALLED));
  assert.deepEqual(missing, [], 'kinds of calls that no process dies in');
  const ends = { done: 0, partial: 0 };
  const diedIn = new Set<string>();
  const next = Array.from({ length: whole.writes }, (_, index) => index + 1).values();
  async function sweep(): Promise<void> {
    for (const dieAt of next) {
      const dir = makeDir(t);
      assert.equal(await live(dir, dieAt), undefined, `it did not die before write ${dieAt}`);
      const again = await survive(dir);
      for (const tool of underWay(again.callsBefore)) diedIn.add(tool);
      ends[judge(dir, again, dieAt)] += 1;
      rmSync(dir, { recursive: true, force: true });
    }
  }
  await Promise.all(Array.from({ length: AT_A_TIME }, sweep));
  t.diagnostic(`${whole.writes} deaths: ${ends.done} done, ${ends.partial} partial`);
  assert.deepEqual([...diedIn].sort(), [...new Set(CALLED)].sort(), 'each kind was cut off');
});
