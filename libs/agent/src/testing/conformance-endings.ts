import assert from 'node:assert/strict';
import { FleetError } from '@hermes-fleet/protocol';
import { needsScript, needsTools, processesWith, type Row, runOn } from './conformance.ts';
import { block } from './harness.ts';

const written = (path: string, content: string) => ({ calls: [['write_file', { path, content }]] }) as const;
const run = (command: string) => ({ calls: [['shell_exec', { command }]] }) as const;

/** Longer than any test, so that what is left of it is found. */
const SLEEP_S = 3210;
/** An abort reaches everything within 200 ms; a busy machine gets more. */
const AT_ONCE_MS = 5000;

const CANCELED = new FleetError('CANCELED', 'canceled by the caller');
const DEADLINE = new FleetError('DEADLINE_EXCEEDED', 'the deadline has passed');

/** How a run ends that is not let finish: by its budget, its caller, its deadline, its provider. */
export const END_ROWS: readonly Row[] = [
  {
    name: 'when the budget is gone the run ends partial, with what it did, and its spending stays within it',
    except: needsScript,
    async run(t, subject) {
      const limit = subject.callTokens * 5;
      const bench = await subject.bench(t, (call) => ({ ...run(`echo ${call}`), output: 300 }), {
        config: { limits: { max_output_tokens: 1000 } },
      });
      const { result, context } = await runOn(bench, { limit });
      assert.equal(result.status, 'partial', JSON.stringify(result));
      assert.match(
        result.remaining?.join() ?? '',
        /ran echo 1.*budget|budget.*ran echo 1|does not fit into/s,
      );
      assert.ok(context.budget.spent() <= limit + 500, `${context.budget.spent()} of ${limit}`);
      assert.ok(bench.asked.length >= 2);
      assert.ok(
        bench.guards.some((guard) => guard.startsWith('budget ')),
        bench.guards.join(),
      );
    },
  },
  {
    name: 'a budget that takes no call at all costs nothing',
    except: needsTools,
    async run(t, subject) {
      const bench = await subject.bench(t, () => ({ text: 'Hello.' }));
      const { result, context } = await runOn(bench, { brief: block('sh', 'true'), limit: 100 });
      assert.deepEqual(
        [result.status, result.error?.code],
        ['error', 'budget_exhausted'],
        JSON.stringify(result),
      );
      assert.deepEqual([bench.asked.length, context.budget.spent()], [0, 0]);
    },
  },
  {
    name: 'near its end the model is told to wrap up, without tools, and its word is taken',
    except: needsScript,
    async run(t, subject) {
      const rest = '```outcome\n{"status":"partial","remaining":["the rest"]}\n```';
      const bench = await subject.bench(t, (call, { raw }) => {
        if (raw.includes('Wrap up now.')) return { text: `Half.\n${rest}` };
        return { ...run(`echo ${call}`), output: 200 };
      });
      const { result } = await runOn(bench, { limit: subject.callTokens * 5 });
      assert.ok(bench.guards.includes('budget wrap_up'), bench.guards.join());
      assert.deepEqual([result.status, result.remaining], ['partial', ['the rest']], JSON.stringify(result));
    },
  },
  {
    name: 'a cancel reaches a model that hangs, and what was spent is counted',
    except: needsScript,
    async run(t, subject) {
      const bench = await subject.bench(t, () => ({ text: 'I think that this is', hang: true }));
      let canceledAt = 0;
      const { result, context } = await runOn(bench, {
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
      assert.deepEqual(processesWith(bench.agent.place.workspaceRoot), []);
    },
  },
  {
    name: 'a deadline reaches a running command, keeps the work, and leaves no process behind',
    except: needsTools,
    async run(t, subject) {
      const seconds = `${SLEEP_S}.${process.pid}`;
      const command = `echo A > a.txt; sleep ${seconds} & sleep ${seconds}`;
      const bench = await subject.bench(t, (call) => (call === 1 ? written('b.txt', 'B\n') : run(command)));
      let at = 0;
      const running = runOn(bench, {
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
      assert.deepEqual(processesWith(bench.agent.place.workspaceRoot), []);
    },
  },
  {
    name: 'a key that is refused ends the run at once, in our words, without a charge',
    except: needsScript,
    async run(t, subject) {
      const bench = await subject.bench(t, () => ({ refused: 401 }));
      const { result, context } = await runOn(bench);
      assert.deepEqual(
        [result.status, result.error?.code],
        ['error', 'model_failed'],
        JSON.stringify(result),
      );
      assert.match(result.error?.message ?? '', /answered 401; check its key in config\.yaml/);
      assert.doesNotMatch(JSON.stringify(result), /because/);
      assert.deepEqual([bench.asked.length, context.budget.spent()], [1, 0]);
    },
  },
  {
    name: 'a provider that is busy is asked again',
    except: needsScript,
    async run(t, subject) {
      const bench = await subject.bench(t, (call) => (call === 1 ? { refused: 429 } : { text: 'Here.' }));
      const { result, context } = await runOn(bench);
      assert.deepEqual(
        [result.status, result.text, bench.asked.length],
        ['done', 'Here.', 2],
        JSON.stringify(result),
      );
      assert.equal(context.budget.usage().outputTokens, 20, 'the refusal costs nothing');
    },
  },
  {
    name: 'a run that never ends stops at its step limit',
    except: needsScript,
    async run(t, subject) {
      const bench = await subject.bench(t, (call) => run(`echo ${call}`), {
        config: { limits: { max_steps: 3 } },
      });
      const { result } = await runOn(bench);
      assert.equal(result.status, 'partial', JSON.stringify(result));
      assert.match(result.remaining?.[0] ?? '', /limit of 3 steps/);
      assert.equal(bench.asked.length, 3);
    },
  },
];

async function started(text: string): Promise<void> {
  while (processesWith(text).length === 0) await new Promise((resolve) => setImmediate(resolve));
}
