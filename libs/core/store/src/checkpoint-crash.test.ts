import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock as clock, silentLog as log } from '@hermes-fleet/protocol/ports';
import { deadline, runLife, tempDir } from '@hermes-fleet/protocol/testing';
import { THINGS } from '../testing/things.ts';
import { openConnections } from './database.ts';
import { createStore } from './store.ts';

const WRITER = join(import.meta.dirname, '../testing/checkpointing-writer.ts');

test('kill -9 while the log is checkpointed loses no acknowledged write', deadline, async (t) => {
  const file = join(tempDir(t), 'things.db');
  const acknowledged: number[] = [];
  for (let round = 0; round < 8; round += 1) {
    const lines = await runLife(WRITER, [file], { killAfterLines: 100 + 37 * round });
    acknowledged.push(...lines.map(Number));
    const store = createStore(
      { schema: THINGS, clock, log },
      openConnections(file, THINGS, () => 'id'),
    );
    assert.equal(store.problem(), undefined);
    const found = new Set(store.read((db) => db.all('SELECT n FROM things').map(({ n }) => n)));
    assert.deepEqual(
      acknowledged.filter((n) => !found.has(n)),
      [],
    );
    store.close();
  }
});
