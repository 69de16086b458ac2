import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { systemClock, systemIds } from '@hermes-fleet/protocol/ports';
import { recordingLog, runLife, type Share, sweepCrashes, tempDir } from '@hermes-fleet/protocol/testing';
import type { ControlStore } from '../../src/control/control-store.ts';
import { replay } from '../../src/store/replay.ts';
import { openControlStore } from '../../src/store/sqlite-store.ts';

const WRITER = join(import.meta.dirname, 'crash-writer.ts');
const ROUNDS = 20;

/** Every write that was acknowledged before the kill is durable. */
function assertKept(store: ControlStore, printed: readonly string[][], seed: number): void {
  const decisions = new Map(
    store.decisions('qndd8o9ppop6:xrpusd', 1_000_000).map((decision) => [decision.decisionId, decision]),
  );
  const open = new Set(store.openApplies().map(({ decisionId }) => decisionId));
  const compensated = new Set(printed.filter(([what]) => what === 'compensated').map(([, id]) => id));
  for (const [what = '', id = '', third, mode] of printed) {
    const lost = `SEED=${seed}: ${what} ${id} is lost`;
    const decision = decisions.get(id);
    if (what === 'advanced') assert.ok(store.outbox.cursor() >= Number(id), lost);
    else if (what === 'settled') assert.ok(decision && !open.has(id), lost);
    else if (what === 'compensated') assert.equal(decision?.response.status, 'failed', lost);
    else {
      const [{ record } = assert.fail(lost)] = store.audit(Number(third) - 1, 1);
      assert.equal(record['status'], what, lost);
      assert.ok(String(record['text']).includes(`"${id}"`), lost);
      if (mode === 'dry') assert.equal(decision, undefined);
      else if (!compensated.has(id)) assert.ok(decision, lost);
    }
  }
}

/** All invariants between the tables. */
function assertWhole(file: string, seed: number): void {
  using db = new DatabaseSync(file, { readOnly: true });
  const none = (sql: string): void => assert.deepEqual(db.prepare(sql).all(), [], `SEED=${seed}: ${sql}`);
  assert.equal(db.prepare('PRAGMA integrity_check').get()?.integrity_check, 'ok');
  none('PRAGMA foreign_key_check');
  none(`SELECT decision_id FROM decisions d JOIN audit a ON a.seq = d.attempt_seq
        WHERE a.record ->> 'kind' IS NOT 'attempt'`);
  none('SELECT decision_id FROM decisions WHERE attempt_seq NOT IN (SELECT seq FROM audit)');
  none(`SELECT decision_id FROM decisions JOIN audit a ON a.seq = attempt_seq
        WHERE open <> (a.record ->> 'status' = 'applied' AND attempt_seq NOT IN
          (SELECT record ->> 'of' FROM audit WHERE record ->> 'kind' = 'outcome'))`);
  none(`SELECT c.seq FROM cursor c WHERE c.seq > (SELECT seq FROM sqlite_sequence WHERE name = 'outbox')`);
}

/** Registers the test of a store whose process is killed after a random number of writes, several times. */
export function testStoreCrashes(share: Share): void {
  test('kill -9 at any moment keeps every acknowledged decision and an intact, replayable chain', {
    timeout: 240_000,
  }, async (t) => {
    const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
    t.diagnostic(`SEED=${seed}`);
    const file = join(tempDir(t), 'control.db');
    let known = { seq: 0, hash: '0'.repeat(64) };
    await sweepCrashes(t, {
      share,
      start: () => Array.from({ length: ROUNDS }, (_, round) => round),
      act: (round) =>
        runLife(WRITER, [file, String(round)], { killAfterLines: 1 + ((seed + round * 7919) % 150) }),
      async check(lines) {
        const o = { clock: systemClock, ids: systemIds, log: recordingLog() };
        const store = openControlStore({ ...o, file, service: 'trader' });
        const printed = lines.map((line) => line.split(' '));
        assertKept(store, printed, seed);
        const report = await store.verify({ known });
        assert.deepEqual(report, { ok: true, records: store.head().seq, head: store.head() }, `SEED=${seed}`);
        const concerns = store.concerns().map((concern) => [concern.id, concern] as const);
        assert.deepEqual(replay(store.audit(0, 1_000_000)), new Map(concerns), `SEED=${seed}`);
        assertWhole(file, seed);
        for (const apply of store.openApplies()) void store.settle(apply, apply.response);
        known = store.head();
        await store.close();
      },
    });
  });
}
