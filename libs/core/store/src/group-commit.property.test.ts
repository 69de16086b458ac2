import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemIds as ids } from '@hermes-fleet/protocol/ports';
import { deadline, silentLog as log, manualClock, tempDir } from '@hermes-fleet/protocol/testing';
import fc from 'fast-check';
import type { Queries } from './queries.ts';
import { integer } from './row.ts';
import { openStore } from './store.ts';

const step = `CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT) STRICT;
  CREATE TABLE things (n INTEGER PRIMARY KEY) STRICT;
  CREATE TABLE sums (key TEXT PRIMARY KEY, n INTEGER CHECK (n < 40)) STRICT`;
const schema = { name: 'things', applicationId: 0x7468, migrations: [step] };

/** What a transaction does, in this order; `sum` is added to the sum of all. */
interface Plan {
  readonly refuses: boolean;
  readonly inserts: readonly number[];
  readonly sum: number;
  readonly throws: boolean;
}

const plan: fc.Arbitrary<Plan> = fc.record({
  refuses: fc.boolean(),
  inserts: fc.array(fc.integer({ min: 1, max: 30 }), { maxLength: 3 }),
  sum: fc.integer({ min: 0, max: 12 }),
  throws: fc.boolean(),
});

const refusal = new Error('refused');
const bug = new Error('a bug');

/** The state and the outcomes of the plans, one after the other. */
function model(plans: readonly Plan[]) {
  const things = new Set<number>();
  let sum = 0;
  const outcomes = plans.map(({ refuses, inserts, sum: more, throws }) => {
    const isTaken = inserts.some((n, i) => things.has(n) || inserts.indexOf(n) !== i);
    if (refuses || isTaken || throws || (more > 0 && sum + more >= 40)) return 'rejected';
    for (const n of inserts) things.add(n);
    sum += more;
    return 'fulfilled';
  });
  return { things: [...things].toSorted((a, b) => a - b), sum, outcomes };
}

test(
  'transactions of any turns end as if each ran alone, and are acknowledged in order',
  deadline,
  async (t) => {
    const file = join(tempDir(t), 'things.db');
    const store = openStore({ file, schema, profile: 'neo', clock: manualClock(), ids, log });
    t.after(store.close);
    const sum = (db: Queries): number => integer(db.get('SELECT sum(n) AS n FROM sums') ?? {}, 'n');
    const pending = store.perBatch(
      () => ({ sum: 0 }),
      (db, { sum: more }) => db.run("UPDATE sums SET n = n + ? WHERE key = 'all'", more),
    );
    const property = fc.asyncProperty(
      fc.array(fc.array(plan, { maxLength: 12 }), { maxLength: 4 }),
      async (turns) => {
        await store.write((db) => {
          db.run('DELETE FROM things');
          db.run("INSERT OR REPLACE INTO sums VALUES ('all', 0)");
        });
        const runs = new Map<Plan, number>();
        const committed: Plan[] = [];
        const ended: Plan[] = [];
        const writes = [];
        for (const each of turns) {
          for (const plan of each) {
            const written = store.write(
              (db) => {
                runs.set(plan, (runs.get(plan) ?? 0) + 1);
                if (plan.refuses) throw refusal;
                for (const n of plan.inserts) db.run('INSERT INTO things VALUES (?)', n);
                if (plan.sum > 0) pending().sum += plan.sum;
                if (plan.throws) throw bug;
              },
              () => committed.push(plan),
            );
            const note = (): unknown => ended.push(plan);
            written.then(note, note);
            writes.push(written);
          }
          await new Promise(setImmediate);
        }
        const outcomes = await Promise.allSettled(writes);
        const plans = turns.flat();
        const expected = model(plans);
        assert.deepEqual(
          outcomes.map(({ status }) => status),
          expected.outcomes,
        );
        assert.deepEqual(
          store.read((db) => db.all('SELECT n FROM things ORDER BY n').map((row) => row.n)),
          expected.things,
        );
        assert.equal(store.read(sum), expected.sum);
        assert.deepEqual(
          committed,
          plans.filter((_, i) => expected.outcomes[i] === 'fulfilled'),
        );
        assert.deepEqual(ended, plans);
        assert.ok(Math.max(0, ...runs.values()) <= 2, 'a transaction ran more than twice');
        assert.equal(store.problem(), undefined);
      },
    );
    await fc.assert(property, { numRuns: 60 });
  },
);
