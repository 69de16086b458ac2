import { readdirSync } from 'node:fs';
import { openLedger } from '@hermes-fleet/ledger';
import { systemClock as clock, systemIds as ids, silentLog as log } from '@hermes-fleet/protocol/ports';

/** Runs in a container that mounts the state of stopped profiles: prints the ids of their lifecycle events. */
const LEDGERS = '/ledgers';
const found: Record<string, string[]> = {};
for (const profile of readdirSync(LEDGERS)) {
  const ledger = openLedger({ file: `${LEDGERS}/${profile}/ledger.db`, profile, clock, ids, log });
  found[profile] = ledger.outbox.read(0, 1_000_000).map(({ event }) => event.id);
  await ledger.close();
}
console.log(JSON.stringify(found));
