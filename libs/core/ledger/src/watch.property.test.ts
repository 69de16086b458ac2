import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadline } from '@hermes-fleet/protocol/testing';
import fc from 'fast-check';
import { never, newTask, openTestLedger } from '../testing/harness.ts';
import { openFigures } from './figures.ts';
import type { Ledger } from './types.ts';

const write = fc.record({
  type: fc.constantFrom('queued', 'started', 'progress', 'text', 'text'),
  /** How many at once. */
  times: fc.oneof(fc.integer({ min: 1, max: 4 }), fc.constantFrom(99, 100, 101, 230)),
  awaited: fc.boolean(),
});
const reader = fc.record({
  /** The number of writes after which it begins. */
  begins: fc.nat({ max: 8 }),
  /** After each so many events it lets others run. */
  every: fc.integer({ min: 1, max: 60 }),
  skips: fc.nat({ max: 5 }),
});

async function read(ledger: Ledger, id: string, after: number, every: number): Promise<number[]> {
  const seen: number[] = [];
  for await (const { seq } of ledger.watch(id, after, never)) {
    seen.push(seq);
    if (seen.length % every === 0) await new Promise(setImmediate);
  }
  return seen;
}

test(
  'every reader gets every event once, in order, and the task is as the file has it',
  deadline,
  async (t) => {
    const { ledger, file } = openTestLedger(t);
    const stored = openFigures(file);
    t.after(stored.close);
    await fc.assert(
      fc.asyncProperty(
        fc.array(write, { maxLength: 8 }),
        fc.array(reader, { minLength: 1, maxLength: 6 }),
        async (writes, readers) => {
          const { id } = (await ledger.accept(newTask())).task;
          const first = ledger.get(id)?.lastSeq ?? 0;
          const settled = ledger.settled(id, never);
          const running: Promise<unknown>[] = [];
          const reading: Promise<{ after: number; seen: number[] }>[] = [];
          const begin = (at: number): void => {
            for (const { begins, every, skips } of readers)
              if (Math.min(begins, writes.length) === at) {
                const after = Math.max(0, first - 1 + skips);
                reading.push(read(ledger, id, after, every).then((seen) => ({ after, seen })));
              }
          };
          for (const [at, { type, times, awaited }] of writes.entries()) {
            begin(at);
            for (let n = 0; n < times; n += 1) running.push(ledger.append(id, { type, data: { n } }));
            if (awaited) {
              await Promise.all(running);
              assert.deepEqual(ledger.get(id), stored.get(id));
            }
          }
          begin(writes.length);
          await ledger.append(id, { type: 'done', data: {} }, { result: { status: 'done' } });
          const seqs = ledger.events(id).map(({ seq }) => seq);
          for (const { after, seen } of await Promise.all(reading))
            assert.deepEqual(
              seen,
              seqs.filter((seq) => seq > after),
            );
          assert.deepEqual(await settled, stored.get(id));
          assert.deepEqual(ledger.get(id), stored.get(id));
        },
      ),
      { numRuns: 80 },
    );
  },
);
