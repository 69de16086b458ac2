import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { AgentConfigSchema, createAgent, loopExecutor } from '@hermes-fleet/loop';
import { type ChatRequest, type Reply, say, scriptedServer, use } from '@hermes-fleet/loop/testing';
import {
  type AdmittedTask,
  type Clock,
  defineTool,
  systemClock,
  systemIds,
} from '@hermes-fleet/protocol/ports';
import { silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { z } from 'zod';
import { countCommits } from '../support/count-commits.ts';
import { ledgerRun, openTestLedger, startTask } from '../support/ledger-run.ts';

/**
 * A step of the agent commits twice at most: before its model call, with what the step before it wrote, and after it. Calls
 * that must not run at the same time wait for a commit each (docs/agent.md#the-loop).
 */
const USAGE = { prompt_tokens: 4_000, completion_tokens: 20, total_tokens: 4_020 };
const TURNS = 3;

/** No timer fires, so that the text of an answer is reported at its end alone. */
const clock: Clock = {
  ...systemClock,
  timer: () => ({ [Symbol.dispose]() {} }),
};

/** Tools that only read, and end one after the other: each some turns of the event loop after the one before. */
function lookTool() {
  let last = Promise.resolve();
  return defineTool({
    name: 'mcp__far__look',
    description: 'Look.',
    mutates: false,
    repeatable: true,
    inputSchema: z.strictObject({ at: z.int() }),
    async run({ at }) {
      last = last.then(async () => {
        for (let turn = 0; turn < TURNS; turn += 1) await new Promise(setImmediate);
      });
      await last;
      return { ok: true, output: `seen ${at}` };
    },
  });
}

/** The commits of a task: before the first request to the model, between two requests, and after the last one. */
async function commitsOf(
  t: TestContext,
  script: (turn: number, request: ChatRequest) => Reply,
  configure: (url: string) => z.input<typeof AgentConfigSchema> = () => ({}),
  ends = 'done',
): Promise<number[]> {
  const dir = tempDir(t);
  const commits = countCommits(t);
  const seen: number[] = [];
  const server = await scriptedServer(t, (turn, request) => {
    seen.push(commits());
    return script(turn, request);
  });
  const ledger = openTestLedger(join(dir, 'ledger.db'));
  const stateDir = join(dir, 'state');
  mkdirSync(stateDir, { mode: 0o700 });
  const agent = await createAgent({
    executor: loopExecutor,
    profile: { name: 'neo', tier: 'haiku' },
    config: AgentConfigSchema.parse({
      model: 'openai-compatible/m',
      base_url: server.url,
      context_window: 128_000,
      hooks: { verifyBeforeComplete: false },
      ...configure(server.url),
    }),
    place: { workspaceRoot: join(dir, 'workspace'), stateDir },
    runtime: { env: { read: () => undefined }, clock, ids: systemIds },
    observe: { log: silentLog },
    tools: { sources: [async () => [lookTool()]] },
  });
  t.after(async () => {
    await agent.close();
    await ledger.close();
  });
  const task: AdmittedTask = {
    id: randomUUID(),
    contextId: 'context',
    deadlineAt: undefined,
    parts: [],
    resumes: 0,
    caller: { name: 'tester', scopes: new Set(['dispatch']) },
    dispatch: {
      type: 'TASK_DISPATCH',
      protocolVersion: '2.0',
      brief: 'Do what the script says.',
      task: { taskId: 'task', write: true },
    },
  };
  await startTask(ledger, task);
  const { context } = ledgerRun(ledger, task, {
    model: 'openai-compatible/m',
    limit: undefined,
    signal: new AbortController().signal,
    ask: () => Promise.reject(new Error('nobody answers')),
  });
  seen.unshift(commits());
  const { status } = await agent.executor.run(task, context);
  assert.equal(status, ends);
  seen.push(commits());
  return seen.slice(1).map((count, index) => count - (seen[index] ?? 0));
}

const DONE = say('Done.', USAGE);
const write = (path: string): [string, object] => ['write_file', { path, content: 'x\n' }];
const look = (at: number): [string, object] => ['mcp__far__look', { at }];

/** A model that makes these steps, and then says that it is done. */
const steps =
  (...all: readonly Reply[]) =>
  (turn: number): Reply =>
    all[turn - 1] ?? DONE;

test('an answer without calls: the reservation; then text, settlement and checkpoint together', async (t) => {
  assert.deepEqual(await commitsOf(t, steps()), [1, 1]);
});

test('a call: its start with the answer, and its end with the reservation of the next step', async (t) => {
  const both = steps(use([look(1)], USAGE), use([write('a.txt')], USAGE));
  assert.deepEqual(await commitsOf(t, both), [1, 2, 2, 1]);
});

test('text before a call takes no commit of its own', async (t) => {
  const called = use([write('a.txt')], USAGE);
  assert.ok('finish' in called);
  const script = steps({ ...called, deltas: [{ content: 'I write.' }, ...called.deltas] });
  assert.deepEqual(await commitsOf(t, script), [1, 2, 1]);
});

test('of three calls that change things, each is durable before the next begins', async (t) => {
  const script = steps(use([write('a.txt'), write('b.txt'), write('c.txt')], USAGE));
  assert.deepEqual(await commitsOf(t, script), [1, 4, 1]);
});

test('calls that only read share two commits, whenever each of them ends', async (t) => {
  const script = steps(use([1, 2, 3, 4, 5].map(look), USAGE));
  assert.deepEqual(await commitsOf(t, script), [1, 2, 1]);
});

test('a sub-agent: each of its steps takes two commits, and so does the step that called it', async (t) => {
  let made = 0;
  const script = (_: number, { messages }: ChatRequest): Reply => {
    const isSub = JSON.stringify(messages).includes('Write the poem to poem.md') && made > 0;
    made += 1;
    if (made === 1)
      return use([['delegate', { agent: 'writer', brief: 'Write the poem to poem.md' }]], USAGE);
    return isSub && made === 2 ? use([write('poem.md')], USAGE) : DONE;
  };
  // Requests: the task, the sub-agent, the sub-agent again, the task.
  assert.deepEqual(await commitsOf(t, script), [1, 2, 2, 2, 1]);
});

test('a follow-up prompt is saved with the reservation of the call that sends it', async (t) => {
  const config = () => ({ hooks: { verifyBeforeComplete: true } });
  const script = steps(use([write('a.txt')], USAGE), DONE, use([['read_file', { path: 'a.txt' }]], USAGE));
  assert.deepEqual(await commitsOf(t, script, config), [1, 2, 2, 2, 1]);
});

test('a wrap-up prompt is saved with the reservation of the call that sends it', async (t) => {
  const script = steps(use([look(1)], USAGE), use([look(2)], USAGE));
  assert.deepEqual(await commitsOf(t, script, () => ({ limits: { max_steps: 2 } }), 'partial'), [1, 2, 2, 1]);
});

test('an attempt that failed settles and reports with one commit, and the next one reserves with another', async (t) => {
  const script = steps({ status: 503, body: '{}' }, { cut: true, deltas: [{ content: 'I begin' }] });
  assert.deepEqual(await commitsOf(t, script), [1, 2, 2, 1]);
});

test('a fallback reserves with the commit that reports it', async (t) => {
  const config = (url: string) => ({
    fallback_models: [{ model: 'openai-compatible/n', base_url: url }],
    model_calls: { new_task_patience_s: 0 },
  });
  const script = steps({ status: 503, body: '{}' });
  assert.deepEqual(await commitsOf(t, script, config), [1, 2, 1]);
});

test('a summary takes two commits, of which each is shared with the step beside it', async (t) => {
  const kinds: string[] = [];
  const page = 'a line of the file that says a little of this and that\n'.repeat(50);
  const config = () => ({ context_window: 12_000, limits: { max_output_tokens: 1_000 } });
  const script = (turn: number, { tool_choice: choice }: ChatRequest): Reply => {
    const isSummary = choice === 'none';
    kinds.push(isSummary ? 'summary' : 'step');
    if (isSummary) return say('## Goal\nTo write files.');
    return turn > 14 ? say('Done.') : use([['write_file', { path: `${turn}.txt`, content: page }]]);
  };
  // Between a request and the next one; the commit before the first request and the one after the last are left out.
  const between = (await commitsOf(t, script, config)).slice(1, -1);
  const summaries = kinds.filter((kind) => kind === 'summary');
  assert.ok(summaries.length > 0, 'no summary was asked for');
  assert.deepEqual(
    between,
    kinds.slice(0, -1).map((kind) => (kind === 'summary' ? 1 : 2)),
    kinds.join(),
  );
});
