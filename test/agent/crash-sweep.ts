import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { runLife, type Share, sweepCrashes, tempDir } from '@hermes-fleet/protocol/testing';
import type { Script } from './script-server.ts';

/**
 * A worker's process dies before each of its writes, and so in the middle of every kind of tool call; and after each of its
 * commits, of which nobody has been told. The next process resumes its task (docs/agent.md#resume).
 */
const CHILD = join(import.meta.dirname, 'crash-child.ts');
const CONCURRENCY = 2;
const CHECK = 'grep -qx roses poem.md && grep -qx ran marks.txt && echo checked >> marks.txt';

const PROGRESS = { accomplished: ['notes'], remaining: [], decisions: ['prose'], blockers: [] };

/** Every kind of call that a worker can make. Calls that must not be made twice leave a trace where possible. */
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
        // The last call: when an earlier one is interrupted, it does not run, and CHECK fails.
        ['shell_exec', { command: 'echo ran >> marks.txt' }],
      ],
      [['publish_file', { path: 'notes.md' }]],
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

/** Calls that may have had an effect when the process dies, and must not be repeated. */
const FILES = ['write_file', 'edit_file', 'scratchpad_write', 'memory_write'];
const ONCE = new Set([...FILES, 'shell_exec', 'mcp__board__post']);

/** Tools that the script does not call, and why. The tools fleet_* and a2a_* are not offered here; libs/fleet/gateway tests them. */
const NOT_CALLED: Readonly<Record<string, string>> = {
  web_fetch: 'disabled: it needs a network; a restart treats it like any other read',
  ask_caller: 'needs a caller who answers: test/fleet tests its crashes',
  shell_start: 'its process does not outlast the gateway: libs/agent/loop tests that',
  shell_output: 'as shell_start',
  shell_stop: 'as shell_start',
};

interface ToolEvent {
  readonly tool: string;
  readonly phase: 'started' | 'ended';
  readonly ok?: boolean;
}
interface Survivor {
  readonly outcome: { status: string; remaining?: string[]; artifacts: { filesChanged: string[] } };
  readonly entries: readonly { readonly inputTokens: number }[];
  /** The artifacts in the ledger. */
  readonly published: readonly { readonly name?: string; readonly parts: readonly { base64?: string }[] }[];
  readonly writes: number;
  readonly commits: number;
  /** The tools in the first model request. */
  readonly offered: readonly string[];
  /** The tool events in the ledger when the process started, and when it ended. */
  readonly callsBefore: readonly ToolEvent[];
  readonly callsAfter: readonly ToolEvent[];
}

/** Where a process dies: right before this write, or right after this commit. `dieAt` 0: it does not die. */
interface Death {
  readonly dieAt: number;
  readonly at: 'write' | 'commit';
}

/** A worker in this directory, up to its end or its death. */
interface Life extends Death {
  readonly dir: string;
}

const ALIVE: Death = { dieAt: 0, at: 'write' };
const where = ({ dieAt, at }: Death): string => `${at === 'write' ? 'before' : 'after'} ${at} ${dieAt}`;

/** Runs a process that has these lives, one after the other. Resolves with those that came to their end. */
async function runProcess(lives: readonly Life[], end: 'killed' | 'well'): Promise<Survivor[]> {
  const order = { lives, script: SCRIPT, config: { tools: { web: { enabled: false } } } };
  return (await runLife(CHILD, [JSON.stringify(order)], end)).map((line) => JSON.parse(line));
}

function makeDir(t: TestContext): string {
  const dir = tempDir(t);
  mkdirSync(join(dir, 'state'), { mode: 0o700 });
  return dir;
}

const read = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '');
const linesIn = (text: string): string[] => text.split('\n').filter(Boolean);
const linesOf = (path: string): string[] => linesIn(read(path));

function treeOf(dir: string): string {
  const [context = ''] = readdirSync(join(dir, 'workspace/contexts'));
  return join(dir, 'workspace/contexts', context, 'tree');
}

/** Calls that a dead process started and did not end. A sub-agent's calls are nested in the `delegate` call. */
function interrupted(events: readonly ToolEvent[]): string[] {
  const open: string[] = [];
  for (const { tool, phase } of events) {
    if (phase === 'started') open.push(tool);
    else open.splice(open.lastIndexOf(tool), 1);
  }
  return open;
}

const times = (tools: readonly string[], wanted: string): number =>
  tools.filter((tool) => tool === wanted).length;

/** Checks the traces of a task that is done, wherever its process died. */
function checkDone(dir: string, { outcome, published }: Survivor, at: string): void {
  const tree = treeOf(dir);
  assert.deepEqual(linesOf(join(tree, 'marks.txt')), ['ran', 'checked'], at);
  assert.deepEqual(linesOf(join(dir, 'board')), ['posted'], at);
  assert.equal(read(join(tree, 'notes.md')), 'one\ntwo and more\n', at);
  assert.equal(read(join(tree, 'poem.md')), 'roses\n', at);
  const files = published.map(({ name, parts }) => [name, ...parts.map(({ base64 = '' }) => atob(base64))]);
  assert.deepEqual(files, [['notes.md', 'one\ntwo and more\n']], `${at}: published`);
  assert.deepEqual(JSON.parse(read(join(tree, 'PROGRESS.json'))), PROGRESS, at);
  assert.equal(read(join(tree, '.scratch/crash-test/found.md')), 'found', at);
  assert.equal(read(join(dir, 'state/memory/habits.md')), 'tests first', at);
  assert.deepEqual(outcome.artifacts.filesChanged, ['marks.txt', 'notes.md', 'poem.md'], at);
}

/** Checks a resumed task, wherever its process died. */
function check(dir: string, survivor: Survivor, death: Death): 'done' | 'partial' {
  const { outcome, entries } = survivor;
  const open = interrupted(survivor.callsBefore);
  const at = `${where(death)}, in ${open.join(' > ') || 'no call'}`;
  for (const file of [join(treeOf(dir), 'marks.txt'), join(dir, 'board')]) {
    const lines = linesOf(file);
    assert.equal(new Set(lines).size, lines.length, `${at}: a call was made twice: ${lines}`);
  }
  // The start of a call is durable before the call, so repeated calls without a trace show here.
  const started = survivor.callsAfter.filter(({ phase }) => phase === 'started').map(({ tool }) => tool);
  for (const tool of ONCE)
    assert.ok(times(started, tool) <= times(CALLED, tool), `${at}: ${tool} was made twice`);
  const billed = linesOf(join(dir, 'bill')).length;
  assert.ok(entries.length >= billed, `${at}: a model call is not in the token store`);
  assert.ok(entries.every(({ inputTokens }) => inputTokens > 0));
  const why = `${at}: ${JSON.stringify(outcome)}`;
  // Only an interrupted call that must not be repeated can end a task early or fail a call.
  if (!open.some((tool) => ONCE.has(tool))) {
    assert.equal(outcome.status, 'done', why);
    const failed = survivor.callsAfter.filter(({ ok }) => ok === false);
    assert.deepEqual(failed, [], at);
  }
  if (outcome.status === 'done') {
    checkDone(dir, survivor, at);
    return 'done';
  }
  assert.equal(outcome.status, 'partial', why);
  assert.ok((outcome.remaining ?? []).length > 0, `${at}: the result names nothing that remains`);
  return 'partial';
}

/** Checks a task that nothing interrupted: it makes every kind of call that is offered. */
function checkUndisturbed(dir: string, whole: Survivor): void {
  assert.equal(check(dir, whole, ALIVE), 'done');
  const made = whole.callsAfter.filter(({ phase }) => phase === 'ended').map(({ tool }) => tool);
  assert.deepEqual(made.sort(), CALLED.toSorted());
  const missing = whole.offered.filter((tool) => !CALLED.includes(tool) && !(tool in NOT_CALLED));
  assert.deepEqual(missing, [], 'kinds of calls that no process dies in');
}

/** Registers the test of workers that die before their writes and after their commits. */
export function testWorkerCrashes(share: Share): void {
  test('a worker that dies before any of its writes or after any of its commits repeats nothing, loses nothing, and completes its task', async (t) => {
    const ends = { done: 0, partial: 0 };
    const diedIn = new Set<string>();
    let all = 0;
    /** Each process resumes the task of the one that died before it, then starts a task of its own and dies in it. */
    const waiting: Life[] = [];
    async function resume(begun: readonly Life[]): Promise<void> {
      const died = waiting.splice(0);
      const resumed = died.map(({ dir }) => ({ dir, ...ALIVE }));
      const survivors = await runProcess([...resumed, ...begun], begun.length > 0 ? 'killed' : 'well');
      const expected = `${died.length} ended before it died ${begun.map(where).join()}`;
      assert.equal(survivors.length, died.length, expected);
      for (const [index, { dir, ...death }] of died.entries()) {
        const again = survivors[index] ?? assert.fail();
        for (const tool of interrupted(again.callsBefore)) diedIn.add(tool);
        ends[check(dir, again, death)] += 1;
        rmSync(dir, { recursive: true, force: true });
      }
    }
    const tried = await sweepCrashes(t, {
      share,
      atOnce: CONCURRENCY,
      async start() {
        const home = makeDir(t);
        const [whole] = await runProcess([{ dir: home, ...ALIVE }], 'well');
        assert.ok(whole, 'the process was killed');
        checkUndisturbed(home, whole);
        const deaths = (at: Death['at'], last: number): Death[] =>
          Array.from({ length: last }, (_, n) => ({ dieAt: n + 1, at }));
        const points = [...deaths('write', whole.writes), ...deaths('commit', whole.commits)];
        all = points.length;
        return points;
      },
      async act(death) {
        const life = { dir: makeDir(t), ...death };
        await resume([life]);
        return life;
      },
      check: (life) => void waiting.push(life),
    });
    await resume([]);
    t.diagnostic(`${tried} deaths: ${ends.done} done, ${ends.partial} partial`);
    assert.equal(ends.done + ends.partial, tried);
    if (tried === all)
      assert.deepEqual([...diedIn].sort(), [...new Set(CALLED)].sort(), 'each kind was interrupted');
    else if (share !== 'one') assert.ok(diedIn.size > 0, 'a call was interrupted');
  });
}
