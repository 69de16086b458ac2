import { writeSync } from 'node:fs';
import { systemClock as clock, silentLog as log } from '@hermes-fleet/protocol/ports';
import { openConnections } from '../src/database.ts';
import { createStore } from '../src/store.ts';
import { THINGS } from './things.ts';

/**
 * Child process of the crash test: writes endlessly to the file in argv[2], whose log is checkpointed every 20 pages, and
 * prints each number as soon as it is acknowledged.
 */
const connections = openConnections(process.argv[2] ?? '', THINGS, () => 'id');
const store = createStore({ schema: THINGS, clock, log }, connections, 20);

async function write(): Promise<never> {
  for (;;) {
    const n = await store.write((db) => db.run('INSERT INTO things (b) VALUES (zeroblob(3000))').rowid);
    writeSync(1, `${n}\n`);
  }
}

await Promise.all([write(), write(), write(), write()]);
