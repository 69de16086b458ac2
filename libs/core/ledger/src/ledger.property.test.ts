import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TaskState } from '@hermes-fleet/protocol';
import { LifecycleEvent, TERMINAL_EVENTS } from '@hermes-fleet/protocol';
import { deadline } from '@hermes-fleet/protocol/testing';
import fc from 'fast-check';
import { collect, never, newTask, openTestLedger } from '../testing/harness.ts';
import { isTerminal } from './states.ts';
import type { TaskRecord } from './types.ts';

const STATES: readonly TaskState[] = [
  'submitted',
  'queued',
  'working',
  'input_required',
  'completed',
  'failed',
  'rejected',
  'canceled',
];

/** Any event with any change, valid or not. */
const append = fc.record({
  task: fc.nat({ max: 2 }),
  type: fc.constantFrom(...LifecycleEvent.options, 'text', 'text', 'text', 'progress', 'nonsense'),
  state: fc.option(fc.constantFrom(...STATES), { nil: undefined, freq: 2 }),
  resumes: fc.option(fc.nat({ max: 9 }), { nil: undefined, freq: 5 }),
  awaited: fc.boolean(),
});

/** The expected task after an acknowledged event, independent of the code under test. */
function fold(
  model: Pick<TaskRecord, 'state' | 'resumes' | 'lastSeq'>,
  event: { seq: number; type: string },
  change: { state?: TaskState | undefined; resumes?: number | undefined },
): Pick<TaskRecord, 'state' | 'resumes' | 'lastSeq'> {
  const implied = new Map<string, TaskState>([
    ['submitted', 'submitted'],
    ['queued', 'queued'],
    ['resumed', 'queued'],
    ['input_required', 'input_required'],
    ['answered', 'queued'],
    ['started', 'working'],
    ['done', 'completed'],
    ['partial', 'completed'],
    ['blocked', 'rejected'],
    ['error', 'failed'],
    ['canceled', 'canceled'],
  ]);
  return {
    state: change.state ?? implied.get(event.type) ?? model.state,
    resumes: change.resumes ?? model.resumes,
    lastSeq: event.seq,
  };
}

test('any sequence of appends keeps the log and the record consistent', deadline, async (t) => {
  const { ledger, reopen } = openTestLedger(t);
  await fc.assert(
    fc.asyncProperty(fc.array(append, { maxLength: 40 }), async (steps) => {
      const accepted = await Promise.all([0, 1, 2].map(() => ledger.accept(newTask())));
      const models = accepted.map(({ task }) => ({ ...task }));
      const logs = accepted.map(({ task }) => [{ seq: task.lastSeq, type: 'submitted' }]);
      const backlog = ledger.outbox.backlog().count;

      const run = async ({ task, type, state, resumes }: (typeof steps)[number]): Promise<void> => {
        const [model, log] = [models[task], logs[task]];
        assert.ok(model && log);
        const change = { ...(state && { state }), ...(resumes !== undefined && { resumes }) };
        try {
          const event = await ledger.append(model.id, { type, data: {} }, change);
          if (!event) return assert.ok(isTerminal(model.state), 'only an ended task takes no event');
          assert.ok(!isTerminal(model.state), 'an ended task takes no event');
          log.push(event);
          Object.assign(model, fold(model, event, change));
        } catch (error) {
          assert.match(String(error), /neither a lifecycle event|cannot leave a task/);
        }
      };
      const running: Promise<void>[] = [];
      for (const step of steps) {
        running.push(run(step));
        if (step.awaited) await Promise.all(running);
      }
      await Promise.all(running);

      for (const [i, model] of models.entries()) {
        const record = ledger.get(model.id);
        const events = ledger.events(model.id);
        const types = events.map(({ type }) => type);
        const terminal = types.filter((type) => TERMINAL_EVENTS.has(type));
        assert.deepEqual(
          events.map(({ seq, type }) => [seq, type]),
          logs[i]?.map(({ seq, type }) => [seq, type]),
        );
        assert.ok(
          events.every(({ seq }, at) => seq > (events[at - 1]?.seq ?? 0)),
          'seq strictly increases',
        );
        assert.ok(terminal.length <= 1, 'at most one terminal event');
        assert.equal(terminal.length === 1, isTerminal(model.state));
        if (terminal.length === 1) {
          assert.equal(types.at(-1), terminal[0]);
          assert.deepEqual(await collect(ledger.watch(model.id, 0, never)), types);
        }
        assert.equal(record?.state, model.state);
        assert.equal(record?.resumes, model.resumes);
        assert.equal(record?.lastSeq, model.lastSeq);
      }
      const added = logs.flat().filter(({ type }) => type !== 'text').length - logs.length;
      assert.equal(ledger.outbox.backlog().count, backlog + added);
    }),
    { numRuns: 150 },
  );
  const { count } = ledger.outbox.backlog();
  const again = await reopen();
  assert.equal(again.outbox.backlog().count, count, 'the maintained count equals the stored one');
  assert.equal(again.outbox.read(0, count + 1).length, count);
});
