import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { systemClock, systemIds } from '@hermes-fleet/protocol/ports';
import { deadline, runLife, silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { newTask } from '../testing/harness.ts';
import { openLedger } from './ledger.ts';

const WRITER = join(import.meta.dirname, '../testing/crash-writer.ts');
const ROUNDS = 6;

/** A small seeded generator (mulberry32). */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

test('kill -9 at any moment loses no acknowledged write and leaves no partial one', deadline, async (t) => {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31));
  t.diagnostic(`SEED=${seed}`);
  const next = random(seed);
  const file = join(tempDir(t), 'ledger.db');
  let newest = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const killAfterLines = 1 + Math.floor(next() * 600);
    const lines = await runLife(WRITER, [file, String(round)], { killAfterLines });
    const ledger = openLedger({
      file,
      profile: 'neo',
      clock: systemClock,
      ids: systemIds,
      log: silentLog,
    });

    for (const [kind, taskId = '', third, type] of lines.map((line) => line.split(' '))) {
      if (kind === 'task') {
        const task = ledger.get(taskId);
        assert.equal(task?.key, third, `SEED=${seed}: task ${taskId} is lost`);
        assert.deepEqual(task?.dispatch, newTask().dispatch);
      } else if (kind === 'question' || kind === 'answer') {
        const question = ledger.questions(taskId).find(({ key }) => key === third);
        assert.equal(question?.text, `question ${third}`, `SEED=${seed}: question ${third} is lost`);
        if (kind === 'answer')
          assert.equal(question?.answer?.text, `answer to ${third}`, `SEED=${seed}: its answer is lost`);
      } else if (kind === 'artifact') {
        const seq = Number(third);
        const chunk = ledger.artifactAt({ taskId, seq });
        assert.equal(chunk?.place, Number(type), `SEED=${seed}: chunk ${seq} is lost`);
        assert.equal(ledger.events(taskId, seq - 1, 1)[0]?.type, 'artifact');
        const part = ledger.artifactPart({ taskId, seq }, 0);
        if (type === '2')
          assert.ok(part?.kind === 'text' && part.text.startsWith('piece 2.'), `SEED=${seed}`);
      } else {
        const [event] = ledger.events(taskId, Number(third) - 1, 1);
        assert.deepEqual(
          [event?.seq, event?.type],
          [Number(third), type],
          `SEED=${seed}: event ${third} is lost`,
        );
        assert.equal(event?.data.padding, 'x'.repeat(500));
        assert.ok(Number(third) > newest, 'a sequence number was reused after the crash');
      }
    }
    newest = assertConsistent(file, seed);
    for (const { id } of ledger.unfinished()) await ledger.append(id, { type: 'error', data: {} });
    assert.deepEqual(ledger.unfinished(), []);
    await ledger.outbox.advance(ledger.outbox.read(0, 100_000).at(-1)?.seq ?? 0);
    newest = Math.max(newest, ledger.outbox.cursor());
    // Sequences go on even if nothing is left of the tasks that had them.
    if (round % 2 === 0) await ledger.prune(Date.now() + 60_000, 100_000);
    await ledger.close();
  }
});

/** Checks every invariant between the tables; returns the latest sequence number. */
function assertConsistent(file: string, seed: number): number {
  using db = new DatabaseSync(file, { readOnly: true });
  const none = (sql: string): void => assert.deepEqual(db.prepare(sql).all(), [], `SEED=${seed}: ${sql}`);
  assert.deepEqual(
    db.prepare('PRAGMA integrity_check').get(),
    Object.assign(Object.create(null), { integrity_check: 'ok' }),
  );
  none('PRAGMA foreign_key_check');
  none('SELECT n FROM tasks WHERE (n IN (SELECT task FROM unfinished)) = (n IN (SELECT task FROM endings))');
  none(`SELECT n FROM tasks
        WHERE (SELECT type FROM events WHERE task = n ORDER BY seq LIMIT 1) IS NOT 'submitted'`);
  none(`SELECT n FROM tasks WHERE (fingerprint IS NULL) <>
          (n IN (SELECT task FROM endings WHERE state = 'rejected'))`);
  none(`SELECT task FROM endings WHERE (result IS NOT NULL) <> (state IN ('completed', 'rejected'))`);
  none(`SELECT n FROM tasks WHERE (SELECT seq FROM endings WHERE task = n) IS NOT
          (SELECT max(seq) FROM events WHERE task = n AND type IN ('done', 'blocked', 'error'))`);
  none(`SELECT task FROM unfinished u WHERE (state = 'input_required') <>
          EXISTS (SELECT 1 FROM questions WHERE task = u.task AND message_id IS NULL)`);
  none(`SELECT q.task FROM questions q LEFT JOIN events e ON e.seq = q.seq AND e.type = 'input_required'
        WHERE e.task IS NOT q.task`);
  none(`SELECT n FROM tasks WHERE (SELECT count(*) FROM events WHERE task = n AND type = 'answered') <>
          (SELECT count(*) FROM questions WHERE task = n AND message_id IS NOT NULL)`);
  none(`SELECT seq, task FROM artifacts EXCEPT SELECT seq, task FROM events WHERE type = 'artifact'`);
  none(`SELECT seq, task FROM events WHERE type = 'artifact' EXCEPT SELECT seq, task FROM artifacts`);
  none(
    'SELECT task FROM artifacts WHERE bytes > 0 AND place < 2 AND task IN (SELECT task FROM artifacts WHERE place = 2)',
  );
  none('SELECT task FROM checkpoints WHERE task IN (SELECT task FROM endings)');
  for (const width of [60_000, 3_600_000])
    none(`SELECT caller, state, updated_at / ${width} AS bucket, count(*) AS tasks FROM endings GROUP BY 1, 2, 3
          EXCEPT SELECT caller, state, bucket, tasks FROM ended_counts WHERE width = ${width}`);
  return Number(db.prepare('SELECT max(seq) AS newest FROM events').get()?.newest);
}
