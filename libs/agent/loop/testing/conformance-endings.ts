import assert from 'node:assert/strict';
import { FleetError } from '@hermes-fleet/protocol';
import { SECRET } from '@hermes-fleet/workspace/testing';
import { type ConformanceCase, needsScript, needsTools, processesWith, runTask } from './conformance.ts';
import { block } from './harness.ts';

const written = (path: string, content: string) => ({ calls: [['write_file', { path, content }]] }) as const;
const run = (command: string) => ({ calls: [['shell_exec', { command }]] }) as const;

/** Longer than any test, so that a process that is left behind is found. */
const SLEEP_S = 3210;
/** An abort takes effect within 200 ms; a loaded machine gets more. */
/** Far less than a command or call lasts here, and enough for a busy machine. */
const AT_ONCE_MS = 60_000;

const CANCELED = new FleetError('CANCELED', 'canceled by the caller');
const DEADLINE = new FleetError('DEADLINE_EXCEEDED', 'the deadline has passed');

/** Runs that end early: by the budget, the caller, the deadline or the provider. */
export const ENDING_CASES: readonly ConformanceCase[] = [
  {
    name: 'a spent budget ends the run as partial, with its work, and is not exceeded',
    skipFor: needsScript,
    async run(t, executor) {
      const limit = executor.callTokens * 5;
      const fixture = await executor.setUp(t, (call) => ({ ...run(`echo ${call}`), output: 300 }), {
        config: { limits: { max_output_tokens: 1000 } },
      });
      const { result, context } = await runTask(fixture, { limit });
      assert.equal(result.status, 'partial', JSON.stringify(result));
      assert.match(
        result.remaining?.join() ?? '',
        /ran echo 1.*budget|budget.*ran echo 1|does not fit into/s,
      );
      assert.ok(context.budget.spent() <= limit + 500, `${context.budget.spent()} of ${limit}`);
      assert.ok(fixture.requests.length >= 2);
      assert.ok(
        fixture.guards.some((guard) => guard.startsWith('budget ')),
        fixture.guards.join(),
      );
    },
  },
  {
    name: 'a budget too small for one call costs nothing',
    skipFor: needsTools,
    async run(t, executor) {
      const fixture = await executor.setUp(t, () => ({ text: 'Hello.' }));
      const { result, context } = await runTask(fixture, { brief: block('sh', 'true'), limit: 100 });
      assert.deepEqual(
        [result.status, result.error?.code],
        ['error', 'budget_exhausted'],
        JSON.stringify(result),
      );
      assert.deepEqual([fixture.requests.length, context.budget.spent()], [0, 0]);
    },
  },
  {
    name: 'near the end of its budget the model wraps up without tools, and its statement counts',
    skipFor: needsScript,
    async run(t, executor) {
      const rest = '```outcome\n{"status":"partial","remaining":["the rest"]}\n```';
      const fixture = await executor.setUp(t, (call, { raw }) => {
        if (raw.includes('Wrap up now.')) return { text: `Half.\n${rest}` };
        return { ...run(`echo ${call}`), output: 200 };
      });
      const { result } = await runTask(fixture, { limit: executor.callTokens * 5 });
      assert.ok(fixture.guards.includes('budget wrap_up'), fixture.guards.join());
      assert.deepEqual([result.status, result.remaining], ['partial', ['the rest']], JSON.stringify(result));
    },
  },
  {
    name: 'a cancel ends a hanging call, and its tokens are counted',
    skipFor: needsScript,
    async run(t, executor) {
      const fixture = await executor.setUp(t, () => ({ text: 'I think that this is', hang: true }));
      let canceledAt = 0;
      const { result, context } = await runTask(fixture, {
        limit: 100_000,
        onEvent({ type }, { controller }) {
          if (type !== 'text' || canceledAt > 0) return;
          canceledAt = Date.now();
          controller.abort(CANCELED);
        },
      });
      assert.ok(canceledAt > 0 && Date.now() - canceledAt < AT_ONCE_MS);
      assert.deepEqual([result.status, result.error?.code], ['error', 'canceled'], JSON.stringify(result));
      assert.ok(context.budget.spent() > 100);
      assert.equal(context.budget.usage().source, 'estimated');
      assert.deepEqual(processesWith(fixture.agent.place.workspaceRoot), []);
    },
  },
  {
    name: 'a deadline ends a running command, keeps the work, and leaves no process',
    skipFor: needsTools,
    async run(t, executor) {
      const seconds = `${SLEEP_S}.${process.pid}`;
      const command = `echo A > a.txt; sleep ${seconds} & sleep ${seconds}`;
      const fixture = await executor.setUp(t, (call) =>
        call === 1 ? written('b.txt', 'B\n') : run(command),
      );
      let at = 0;
      const running = runTask(fixture, {
        brief: block('b.txt', 'B') + block('sh', command),
        onEvent(event, { controller }) {
          const isCommand = event.type === 'progress' && event.data.tool === 'shell_exec';
          if (!isCommand || at > 0) return;
          at = 1;
          void started(`sleep\0${seconds}`).then(() => {
            at = Date.now();
            controller.abort(DEADLINE);
          });
        },
      });
      const { result } = await running;
      assert.ok(at > 1 && Date.now() - at < AT_ONCE_MS);
      assert.equal(result.status, 'partial', JSON.stringify(result));
      assert.match(result.remaining?.join() ?? '', /the deadline has passed/);
      assert.deepEqual(result.artifacts.filesChanged, ['a.txt', 'b.txt']);
      assert.deepEqual(processesWith(seconds), []);
      assert.deepEqual(processesWith(fixture.agent.place.workspaceRoot), []);
    },
  },
  {
    name: 'a rejected key ends the run at once, without a charge, and the error does not quote the key',
    skipFor: needsScript,
    async run(t, executor) {
      const fixture = await executor.setUp(t, () => ({ refused: 401 }));
      const { result, context } = await runTask(fixture);
      assert.deepEqual(
        [result.status, result.error?.code],
        ['error', 'model_failed'],
        JSON.stringify(result),
      );
      const said = /answered 401; check its key in config\.yaml/;
      assert.match(result.error?.message ?? '', said);
      assert.ok(!JSON.stringify(result).includes(SECRET));
      assert.deepEqual([fixture.requests.length, context.budget.spent()], [1, 0]);
    },
  },
  {
    name: 'a busy provider is called again',
    skipFor: needsScript,
    async run(t, executor) {
      const fixture = await executor.setUp(t, (call) => (call === 1 ? { refused: 429 } : { text: 'Here.' }));
      const { result, context } = await runTask(fixture);
      assert.deepEqual(
        [result.status, result.text, fixture.requests.length],
        ['done', 'Here.', 2],
        JSON.stringify(result),
      );
      assert.equal(context.budget.usage().outputTokens, 20, 'the refusal costs nothing');
    },
  },
  {
    name: 'a run that never finishes stops at its step limit',
    skipFor: needsScript,
    async run(t, executor) {
      const fixture = await executor.setUp(t, (call) => run(`echo ${call}`), {
        config: { limits: { max_steps: 3 } },
      });
      const { result } = await runTask(fixture);
      assert.equal(result.status, 'partial', JSON.stringify(result));
      assert.match(result.remaining?.[0] ?? '', /limit of 3 steps/);
      // The loop asks once more, for a wrap-up.
      assert.equal(fixture.requests.length, executor.name === 'claude-code' ? 3 : 4);
    },
  },
];

async function started(text: string): Promise<void> {
  while (processesWith(text).length === 0) await new Promise((resolve) => setImmediate(resolve));
}
