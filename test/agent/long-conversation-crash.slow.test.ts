import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import {
  LONG_TASK_STEPS,
  longTaskStep,
  newestStep,
  summaryIn,
  windowModel,
} from '@hermes-fleet/loop/testing';
import { tempDir } from '@hermes-fleet/protocol/testing';

/**
 * A worker's process dies by SIGKILL in the middle of a long conversation (docs/agent.md#long-conversations), and the next
 * one resumes it from the ledger. The model is in this process, so it sees the requests of all lives.
 */
const CHILD = join(import.meta.dirname, 'crash-child.ts');
const WINDOW = 32_768;
const TIMEOUT_MS = 240_000;

/** The model requests at which the process dies. */
type Death =
  | 'before a summary is saved'
  | 'in the step after a summary'
  | 'five steps later'
  | 'after a prune';

test('a long task whose process is killed in a summary, after it, and after a prune ends done, with the same summary', {
  timeout: TIMEOUT_MS,
}, async (t) => {
  const dir = tempDir(t);
  mkdirSync(join(dir, 'state'), { mode: 0o700 });
  const deaths: Death[] = [];
  let child: ChildProcess | undefined;
  let stepsWithSummary = 0;
  let stepsWithStub = 0;

  async function die(death: Death): Promise<void> {
    if (deaths.includes(death)) return;
    deaths.push(death);
    const ended = once(child ?? assert.fail(), 'exit');
    child?.kill('SIGKILL');
    await ended;
  }

  const model = await windowModel(t, {
    window: WINDOW,
    step: longTaskStep,
    async before(kind, request) {
      if (kind === 'summary') return die('before a summary is saved');
      if (JSON.stringify(request.messages).includes('pruned to save room')) stepsWithStub += 1;
      if (stepsWithStub === 2) await die('after a prune');
      if (summaryIn(request) !== undefined) stepsWithSummary += 1;
      if (stepsWithSummary === 1) await die('in the step after a summary');
      if (stepsWithSummary === 6) await die('five steps later');
    },
  });
  const config = {
    model: 'openai-compatible/m',
    base_url: model.url,
    context_window: WINDOW,
    limits: { max_steps: 80 },
    tools: { web: { enabled: false } },
  };

  /** Resolves with what a process printed; empty when it was killed. */
  async function live(): Promise<string> {
    const order = JSON.stringify({ lives: [{ dir, dieAt: 0 }], config });
    const cache = process.env.NODE_COMPILE_CACHE ?? join(tmpdir(), 'fleet-crash-cache');
    const env = { ...process.env, NODE_COMPILE_CACHE: cache };
    const started = spawn(process.execPath, [CHILD, order], { env, stdio: ['ignore', 'pipe', 'inherit'] });
    t.after(() => started.kill('SIGKILL'));
    child = started;
    return text(started.stdout ?? assert.fail());
  }

  let printed = '';
  while (printed === '' && deaths.length < 5) printed = await live();
  const { outcome } = JSON.parse(printed);
  assert.equal(outcome.status, 'done', printed);
  assert.equal(outcome.artifacts.filesChanged.length, 20);
  assert.deepEqual(deaths, [
    'after a prune',
    'before a summary is saved',
    'in the step after a summary',
    'five steps later',
  ]);
  assert.deepEqual(model.refused, []);
  assert.ok(model.largest() <= WINDOW, String(model.largest()));
  // The first summary was lost with the process, and asked for again. The saved one is in all that follows.
  const texts = model.stepRequests.flatMap((request) => summaryIn(request) ?? []);
  assert.match(texts[0] ?? '', /Summary number 2\.$/);
  const changes = texts.filter((each, index) => index > 0 && each !== texts[index - 1]).length;
  assert.equal(model.summaryRequests.length, 2 + changes);
  // Each death in a step repeats the model's call of that step with the same conversation, and no other.
  assert.equal(model.stepRequests.length, LONG_TASK_STEPS + 1 + 3);
  const repeated = model.stepRequests.flatMap((request, index) => {
    const before = model.stepRequests[index - 1];
    return before !== undefined && newestStep(before) === newestStep(request) ? [{ before, request }] : [];
  });
  assert.equal(repeated.length, 3);
  for (const { before, request } of repeated) assert.deepEqual(request.messages, before.messages);
});
