import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { createOutboxPublisher, STREAM, setUpStreams } from '@hermes-fleet/events';
import { openConnection, startNatsServer } from '@hermes-fleet/events/testing';
import { FleetConfigSchema } from '@hermes-fleet/fleet-config';
import { openLedger } from '@hermes-fleet/ledger';
import { systemClock as clock, systemIds as ids } from '@hermes-fleet/protocol/ports';
import { silentLog as log, tempDir } from '@hermes-fleet/protocol/testing';
import { refillMember } from './refill.ts';

test('a member is refilled beside its gateway and while it is down', { timeout: 60_000 }, async (t) => {
  const home = tempDir(t);
  const server = await startNatsServer(t);
  const connection = { servers: [server.url], name: 'test' };
  await setUpStreams({ connection, log });
  const file = join(home, 'ledger.db');
  const ledger = openLedger({ file, profile: 'neo', clock, ids, log });
  for (let n = 0; n < 10; n += 1)
    await ledger.accept({
      id: ids.uuid(),
      contextId: 'c',
      caller: 'switch',
      key: `k${n}`,
      fingerprint: 'f',
      message: { messageId: 'm', parts: [] },
      dispatch: { type: 'TASK_DISPATCH' },
    });
  const publish = async (): Promise<void> => {
    const source = ledger.outbox;
    const publisher = createOutboxPublisher({
      connection,
      source,
      subjectPrefixes: ['fleet.task.neo'],
      clock,
      log,
    });
    assert.equal(await publisher.flush(20_000), true);
    await publisher.close();
  };
  await publish();
  const lose = async (): Promise<void> => {
    const nc = await openConnection(connection, t.signal);
    await (await nc.jetstreamManager()).streams.delete(STREAM);
    await nc.close();
    await setUpStreams({ connection, log });
  };
  const member = {
    environment: { name: 'neo', home, dir: home, stateDir: home, logLevel: 'silent' },
    config: FleetConfigSchema.parse({ fleet: { enabled: false, nats: { servers: [server.url] } } }),
    login: {},
  };
  const run = async (dryRun = false) => refillMember({ ...member, dryRun });
  const all = { profile: 'neo', acknowledged: 10, removed_tasks: 0 };

  await lose();
  assert.deepEqual(await run(true), { ...all, missing: 10, published: 0 });
  assert.deepEqual(await run(), { ...all, missing: 10, published: 10 });
  assert.deepEqual(await run(), { ...all, missing: 0, published: 0 });
  await ledger.close();
  await lose();
  assert.deepEqual(await run(), { ...all, missing: 10, published: 10 });
});
