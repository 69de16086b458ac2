import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { connect } from 'nats';
import { startNatsServer } from '../../testing/nats-server.ts';
import { busPermissions, inboxPrefix } from '../streams/permissions.ts';
import { setUpStreams } from '../streams/set-up-streams.ts';
import { headEvent } from './head-event.ts';
import { readHead } from './stored-head.ts';

const HEAD = { store: 'one', seq: 7, hash: 'ab'.repeat(32) };
const SUBJECT = 'fleet.audit.trader';

test('readHead reads the stored head as the service itself, and rejects when it cannot', async (t) => {
  const trader = {
    user: 'trader',
    password: 'trader-pw',
    permissions: busPermissions('trader', { control: true }),
  };
  const server = await startNatsServer(t, { users: [{ user: 'setup', password: 'setup-pw' }, trader] });
  const connection = {
    servers: [server.url],
    name: 'test',
    user: 'trader',
    pass: 'trader-pw',
    inboxPrefix: inboxPrefix('trader'),
  };
  const read = () => readHead({ connection, service: 'trader', timeoutMs: 10_000 });
  await assert.rejects(read(), { code: 'PEER_UNREACHABLE', message: /is it set up/ });

  const setup = { user: 'setup', pass: 'setup-pw' };
  await setUpStreams({ connection: { servers: [server.url], name: 'setup', ...setup }, log: silentLog });
  assert.equal(await read(), undefined);
  const nc = await connect({ servers: server.url, ...setup });
  t.after(() => nc.close());
  await nc.jetstream().publish(SUBJECT, JSON.stringify(headEvent('trader', HEAD, 0)));
  assert.deepEqual(await read(), HEAD);
  await nc.jetstream().publish(SUBJECT, 'something else');
  await assert.rejects(read(), { code: 'PEER_UNREACHABLE', message: /not an audit head/ });
  await server.kill();
  await assert.rejects(read(), { code: 'PEER_UNREACHABLE', message: /no NATS server/ });
});
