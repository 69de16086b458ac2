import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { systemClock as clock, silentLog as log } from '@hermes-fleet/protocol';
import { deadline, tempDir } from '@hermes-fleet/protocol/testing';
import { openConnections } from './database.ts';
import { createStore } from './store.ts';
import { THINGS } from './testing/things.ts';

/** Runs the writer on `file`, kills it after `writes` acknowledged writes, and returns their numbers. */
async function writeAndKill(file: string, writes: number): Promise<number[]> {
  const writer = join(import.meta.dirname, 'testing/checkpointing-writer.ts');
  const child = spawn(process.execPath, [writer, file], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  const numbers: number[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    numbers.push(Number(line));
    if (numbers.length === writes) child.kill('SIGKILL');
  }
  await exited;
  assert.equal(child.signalCode, 'SIGKILL', 'the writer ended before it was killed');
  return numbers;
}

test('kill -9 while the log is checkpointed loses no acknowledged write', deadline, async (t) => {
  const file = join(tempDir(t), 'things.db');
  const acknowledged: number[] = [];
  for (let round = 0; round < 8; round += 1) {
    acknowledged.push(...(await writeAndKill(file, 100 + 37 * round)));
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
