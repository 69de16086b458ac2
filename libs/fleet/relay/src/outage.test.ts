import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { describe, it } from 'node:test';
import {
  CALLER,
  dispatching,
  freePort,
  PREFERRED_FIRST,
  type ProfileOptions,
  profile,
  relayFleet,
  spending,
  untilAborted,
} from '@hermes-fleet/gateway/testing';
import { announceOf } from '@hermes-fleet/peers/testing';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';

type Wrap = NonNullable<ProfileOptions['ledger']>;

describe('a ledger that cannot write for a while during a relayed task', () => {
  let broken = false;
  const unless = <T>(write: () => Promise<T>): Promise<T> =>
    broken ? Promise.reject(new FleetError('STORE_UNAVAILABLE', 'the disk is full')) : write();
  const writes: Record<string, Wrap> = {
    checkpoints: (real) => ({
      ...real,
      saveCheckpoint: (...args) => unless(() => real.saveCheckpoint(...args)),
    }),
    events: (real) => ({
      ...real,
      append: (id, event, change) =>
        event.type === 'error'
          ? real.append(id, event, change)
          : unless(() => real.append(id, event, change)),
    }),
    tokens: (real) => ({
      ...real,
      tokens: { ...real.tokens, add: (id, entry) => unless(() => real.tokens.add(id, entry)) },
    }),
  };
  for (const [what, ledger] of Object.entries(writes))
    it(`delays the task and loses nothing that the peer did: ${what}`, async (t) => {
      const agents = { switch: await freePort(), neo: await freePort() };
      const neo = await profile(t, { name: 'neo', agents, script: spending(5) });
      await neo.serve();
      const orchestrator = await profile(t, {
        name: 'switch',
        agents,
        ledger,
        random: () => 0,
        fleet: { orchestrate: true },
      });
      await orchestrator.peers.record(await neo.gateway.freshAnnounce(), { name: 'neo' });
      const id = await orchestrator.send(dispatching());
      broken = true;
      const repair = setTimeout(() => {
        broken = false;
      }, 300);
      t.after(() => {
        clearTimeout(repair);
        broken = false;
      });
      const { status, tokensSpent } = await orchestrator.result(id);
      assert.deepEqual([status, tokensSpent, neo.runs.length], ['done', 5, 1]);
    });
});

it('a task that is canceled while its peer is unreachable lists that peer in its attempts', async (t) => {
  const { orchestrator, worker } = await relayFleet(t, {
    ...PREFERRED_FIRST,
    trinity: { ...PREFERRED_FIRST.trinity, script: untilAborted },
  });
  worker('neo').facts.usable = false;
  const id = await orchestrator.send(dispatching());
  await worker('trinity').firstRun;
  await worker('trinity').crash();
  await orchestrator.gateway.cancel(id, CALLER);
  const { error, attempts } = await orchestrator.result(id);
  assert.equal(error?.code, 'canceled');
  assert.deepEqual(
    attempts?.map(({ peer, status, reason }) => [peer, status, status === 'error' ? reason : null]),
    [
      ['neo', 'blocked', null],
      ['trinity', 'error', 'canceled'],
    ],
  );
});

it('a peer with endless task updates does not fill the ledger', async (t) => {
  const task = (state: string): JsonObject => ({
    id: 'r-1',
    contextId: 'c',
    status: { state: `TASK_STATE_${state}` },
  });
  const hostile = createServer(async (request, reply) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const { method } = JSON.parse(body);
    const envelope = (result: JsonObject) => JSON.stringify({ jsonrpc: '2.0', id: 1, result });
    if (method !== 'SubscribeToTask') {
      reply.setHeader('content-type', 'application/json');
      reply.end(envelope(method === 'SendMessage' ? { task: task('WORKING') } : task('COMPLETED')));
      return;
    }
    reply.setHeader('content-type', 'text/event-stream');
    for (let i = 0; i < 500; i += 1)
      reply.write(`data: ${envelope({ task: task(i % 2 ? 'WORKING' : 'SUBMITTED') })}\n\n`);
    reply.end(`data: ${envelope({ task: task('COMPLETED') })}\n\n`);
  });
  const agents = { switch: await freePort(), neo: await freePort() };
  await new Promise<void>((resolve) => hostile.listen(agents.neo, '127.0.0.1', resolve));
  t.after(() => {
    hostile.closeAllConnections();
    hostile.close();
  });
  const orchestrator = await profile(t, { name: 'switch', agents, fleet: { orchestrate: true } });
  await orchestrator.peers.record(announceOf('neo'), { name: 'neo' });
  const id = await orchestrator.send(dispatching());
  assert.equal((await orchestrator.result(id)).status, 'done');
  assert.ok(orchestrator.events(id).length < 30, `${orchestrator.events(id).length} events`);
});
