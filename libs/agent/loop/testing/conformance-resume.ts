import assert from 'node:assert/strict';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import type { RunOutcome } from '@hermes-fleet/protocol/ports';
import {
  type ConformanceCase,
  type Fixture,
  hasEnded,
  lastCheckpoint,
  needsScript,
  runTask,
  type Script,
  startRun,
} from './conformance.ts';
import { memoryTokens } from './harness.ts';

const SHUTTING_DOWN = new FleetError('SHUTTING_DOWN', 'the profile is shutting down');
const INTERRUPTED = new Error('interrupted');

const LOOK = 'echo SEEN; cat a.txt b.txt; true';
const content = (path: string): string => `content of ${path}`;

/** Reads both files and writes the missing ones. Its steps depend on the conversation alone. */
const twoFiles: Script = (_call, { results }) => {
  const seen = results.at(-1) ?? '';
  if (!seen.includes('SEEN')) return { calls: [['shell_exec', { command: LOOK }]] };
  const missing = ['a.txt', 'b.txt'].find((path) => !seen.includes(content(path)));
  if (missing === undefined) return { text: 'Both are there.' };
  return { calls: [['write_file', { path: missing, content: `${content(missing)}\n` }]] };
};

function checkBoth(result: RunOutcome, when = ''): void {
  const { status, text, artifacts } = result;
  const facts = [status, text, artifacts.filesChanged];
  assert.deepEqual(
    facts,
    ['done', 'Both are there.', ['a.txt', 'b.txt']],
    `${when} ${JSON.stringify(result)}`,
  );
}

/** Restarts of the profile during a run (docs/agent.md#resume). */
export const RESUME_CASES: readonly ConformanceCase[] = [
  {
    name: 'an interrupted run resumes from its checkpoint, in the same budget',
    skipFor: needsScript,
    async run(t, executor) {
      const fixture = await executor.setUp(t, twoFiles);
      const options = { limit: 200_000, store: memoryTokens() };
      const first = startRun(fixture, {
        ...options,
        onEvent: (event, { controller }) => hasEnded(event, 'write_file') && controller.abort(SHUTTING_DOWN),
      });
      await assert.rejects(first.result, { code: 'SHUTTING_DOWN' });
      const spent = first.context.budget.spent();
      const calls = fixture.requests.length;
      assert.ok(calls > 0 && spent > 0);
      const { result, context } = await runTask(fixture, {
        ...options,
        again: first.task,
        checkpoint: lastCheckpoint(first.context),
      });
      checkBoth(result);
      assert.match(fixture.requests[calls]?.raw ?? '', /SEEN/, 'the conversation contains the earlier calls');
      assert.ok(context.budget.spent() > spent);
    },
  },
  {
    name: 'a stopping profile lets the running step end, and the next start resumes after it',
    skipFor: needsScript,
    async run(t, executor) {
      const fixture = await executor.setUp(t, twoFiles);
      const first = startRun(fixture, {
        onEvent: (event, { pausing }) => hasEnded(event, 'write_file') && pausing.abort(SHUTTING_DOWN),
      });
      await assert.rejects(first.result, { code: 'SHUTTING_DOWN' });
      const { result } = await runTask(fixture, {
        again: first.task,
        checkpoint: lastCheckpoint(first.context),
      });
      checkBoth(result);
      assert.doesNotMatch(fixture.requests.at(-1)?.results.join() ?? '', /outcome unknown: check/);
    },
  },
  {
    name: 'a run that is interrupted after any save comes to the same result',
    skipFor: needsScript,
    async run(t, executor) {
      const fixture = await executor.setUp(t, twoFiles);
      const whole = await runTask(fixture, { contextId: 'whole' });
      checkBoth(whole.result);
      const saves = whole.context.checkpoints.length;
      assert.ok(saves >= 5, String(saves));
      for (let at = 1; at < saves; at += 1) {
        const { task, checkpoint } = await interruptAfter(fixture, at);
        const { result } = await runTask(fixture, { again: task, ...(checkpoint && { checkpoint }) });
        checkBoth(result, `interrupted after save ${at}`);
      }
    },
  },
  {
    name: 'a question is answered in the same run, and asked under the same key after a restart',
    skipFor: needsScript,
    async run(t, executor) {
      const fixture = await executor.setUp(t, (_call, { raw }) =>
        raw.includes('Make it blue')
          ? { text: 'Blue it is.' }
          : { calls: [['ask_caller', { question: 'Which color?' }]] },
      );
      const asked: [string, string][] = [];
      const first = startRun(fixture, {
        answer(question, key) {
          asked.push([question, key]);
          first.context.pausing.abort(SHUTTING_DOWN);
          return Promise.reject(SHUTTING_DOWN);
        },
      });
      await assert.rejects(first.result, { code: 'SHUTTING_DOWN' });
      const { result } = await runTask(fixture, {
        again: first.task,
        checkpoint: lastCheckpoint(first.context),
        async answer(question, key) {
          asked.push([question, key]);
          return 'Make it blue.';
        },
      });
      assert.deepEqual([result.status, result.text], ['done', 'Blue it is.'], JSON.stringify(result));
      assert.equal(asked.length, 2);
      assert.equal(asked[0]?.[0], 'Which color?');
      assert.deepEqual(asked[0], asked[1], 'the same question, by the same key');
    },
  },
];

/** Interrupts a run at its n-th save. As after a crash, nothing later is durable. */
async function interruptAfter(fixture: Fixture, saves: number) {
  let checkpoint: JsonObject | undefined;
  const { result, task, context } = startRun(fixture, {
    contextId: `interrupted-${saves}`,
    onSave(run) {
      if (run.checkpoints.length > saves) throw INTERRUPTED;
      checkpoint = run.checkpoints.at(-1);
      if (run.checkpoints.length === saves) run.controller.abort(SHUTTING_DOWN);
    },
  });
  await assert.rejects(result);
  assert.ok(context.checkpoints.length >= saves);
  return { task, checkpoint };
}
