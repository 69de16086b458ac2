import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock as clock, systemIds as ids } from '@hermes-fleet/protocol/ports';
import { runLife, type Share, silentLog, sweepCrashes, tempDir } from '@hermes-fleet/protocol/testing';
import { replay } from '../../services/trader/src/store/replay.ts';
import { openControlStore } from '../../services/trader/src/store/sqlite-store.ts';
import { attemptsIn, brokenAt, readControlFile } from '../support/control-file.ts';

const CHILD = join(import.meta.dirname, 'crash-child.ts');
/** How often a process dies at each step when all cases are run. */
const TIMES = 20;
const DECISIONS = 6;
const STEPS = [
  ...['before the transaction', 'inside the transaction', 'after the commit', 'before the activation'],
  ...['after the activation', 'before the outcome', 'after the outcome', 'before the compensation'],
  ...['after the compensation', 'before the answer'],
] as const;

/** Where a process dies: at the occurrence of a step, from 1. */
interface Death {
  readonly step: string;
  readonly time: number;
}

// Compensations are rarer: only some activations fail.
const DEATHS: readonly Death[] = STEPS.flatMap((step) =>
  Array.from({ length: TIMES }, (_, at) => ({
    step,
    time: 1 + (step.endsWith('compensation') ? 0 : Math.floor(at / 2)),
  })),
);

interface Acknowledged {
  readonly id: string;
  readonly status: string;
}

const acknowledgedIn = (dir: string): Acknowledged[] => {
  const file = join(dir, 'acknowledged');
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => {
    const [id, status] = JSON.parse(line) as [string, string];
    return { id, status };
  });
};

/** The chain is intact, and the stored state equals the replayed audit. */
function holds(file: string, when: string): ReturnType<typeof readControlFile> {
  const found = readControlFile(file);
  assert.equal(brokenAt(found.audit), undefined, when);
  assert.equal(found.concerns.length, 2, when);
  const replayed = replay(found.audit);
  for (const { id, activeStrategyId, runState, riskMode } of found.concerns) {
    const state = replayed.get(id);
    assert.deepEqual(
      [state?.activeStrategyId, state?.runState, state?.riskMode],
      [activeStrategyId, runState, riskMode],
      `${id}, ${when}`,
    );
  }
  return found;
}

/** Registers the test of a trader that is killed under load, at the steps of an apply, and started again each time. */
export function testTraderCrashes(share: Share): void {
  test('a trader that is killed under load, at every step of an apply, loses and repeats nothing', async (t) => {
    const dir = tempDir(t);
    const file = join(dir, 'control.db');
    let lives = 0;
    const live = ({ step, time }: Death, end: 'killed' | 'well'): Promise<string[]> => {
      lives += 1;
      return runLife(CHILD, [JSON.stringify({ dir, step, time, life: lives, decisions: DECISIONS })], end);
    };
    const died = await sweepCrashes(t, {
      share,
      start: () => DEATHS,
      act: (death) => live(death, 'killed'),
      check: () => void holds(file, `life ${lives}`),
    });
    await live({ step: 'none', time: 0 }, 'well');
    const { audit } = holds(file, 'in the end');
    const attempts = Map.groupBy(attemptsIn(audit), ({ record }) => JSON.parse(record.text).decision_id);
    const outcomes = Map.groupBy(
      audit.filter(({ record }) => record.kind === 'outcome'),
      ({ record }) => record.of,
    );
    const acknowledged = acknowledgedIn(dir);
    for (const [id, answers] of Map.groupBy(acknowledged, ({ id }) => id)) {
      const recorded = attempts.get(id)?.length ?? 0;
      assert.ok(recorded >= answers.length, `${id}: ${answers.length} answers, ${recorded} in the audit`);
    }
    let applied = 0;
    for (const { id, status } of acknowledged) {
      const own = attempts.get(id) ?? [];
      const ends = own
        .filter(({ record }) => record.status === 'applied')
        .map(({ seq }) => outcomes.get(seq)?.[0]?.record.outcome);
      // A copy may retry a failed decision.
      assert.ok(ends.filter((end) => end !== 'compensated').length <= 1, `${id} ended ${ends}`);
      if (status === 'failed') assert.ok(ends.includes('compensated'), `${id} ended ${ends}`);
      if (status !== 'applied') continue;
      applied += 1;
      assert.ok(ends.includes('applied'), `${id} ended ${ends}`);
    }
    assert.ok(applied > died, `only ${applied} decisions were applied`);
    assert.ok(
      [...outcomes.values()].every((of) => of.length === 1),
      'an apply has two outcomes',
    );

    const store = openControlStore({ file, service: 'trader', clock, ids, log: silentLog });
    t.after(() => store.close());
    assert.deepEqual(store.openApplies(), []);
    assert.equal((await store.verify()).ok, true);
    t.diagnostic(`${audit.length} audit records, ${applied} acknowledged as applied`);
  });
}
