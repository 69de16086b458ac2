import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { consume } from '@hermes-fleet/events';
import { decodeAnnounce, type SessionAnnounce } from '@hermes-fleet/protocol/handshake';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { parse, stringify } from 'yaml';
import { type Fleet, PROFILES, startFleet, until } from '../support/fleet.ts';
import { type SeenPeer, seenPeers, untilSeen } from '../support/peers-view.ts';
import { call, dispatch, message, resultOf, runbook } from '../support/rpc.ts';
import { usersRepository } from '../support/users-repository.ts';

const MEMBERS = ['morpheus', 'neo', 'switch', 'trader', 'trinity'];

interface Heard {
  readonly from: string;
  readonly id: string;
  readonly said: SessionAnnounce;
}

/** Everything that is announced on NATS, from the first announce on. */
function listen(t: TestContext, fleet: Fleet): Heard[] {
  const heard: Heard[] = [];
  const stop = new AbortController();
  const listening = consume({
    connection: fleet.bus,
    filter: 'fleet.announce.>',
    fromStart: true,
    signal: stop.signal,
    log: silentLog,
    clock: systemClock,
    onEvent: (event, { subject }) => {
      assert.equal(event.type, 'dev.hermes-fleet.announce.session.v1');
      assert.equal(event.source, `/profiles/${event.subject}`);
      assert.equal(subject, `fleet.announce.${event.subject}`);
      heard.push({ from: event.subject, id: event.id, said: decodeAnnounce(event.data) });
    },
  });
  t.after(async () => {
    stop.abort();
    await listening;
  });
  return heard;
}

test('a fleet announces itself to its peers and on NATS: at start, with every change, and when it leaves', async (t) => {
  const repository = usersRepository(t);
  const configYaml = (name: string, shipped: string): string =>
    name === 'neo' ? stringify({ ...parse(shipped), workspace: { path: repository.path } }) : shipped;
  const fleet = await startFleet(t, [...PROFILES, 'trader'], { configYaml });
  const operator = fleet.target('switch');
  const heard = listen(t, fleet);
  const from = (name: string): Heard[] => heard.filter((one) => one.from === name);

  await t.test('NATS has an announce of all five, each under its own name and id', async () => {
    await until(() => MEMBERS.every((name) => from(name).length > 0), 'announces of all five on NATS');
    for (const name of MEMBERS) {
      const [first] = from(name);
      assert.ok(first);
      const { said, id } = first;
      assert.equal(said.worker.agentId, name);
      assert.equal(id, `${name}:${said.instanceId}:${said.seq}`);
      assert.match(said.endpoint ?? '', /^http:\/\/127\.0\.0\.1:\d+\/jsonrpc$/);
      assert.equal(said.ready, true);
    }
    assert.equal(new Set(heard.map(({ id }) => id)).size, heard.length);
  });

  await t.test('switch knows all of them as configured peers', async () => {
    const peers = await seenPeers(operator);
    assert.deepEqual(
      peers.map(({ name, standing, state }) => [name, standing, state]),
      ['morpheus', 'neo', 'trader', 'trinity'].map((name) => [name, 'configured', 'live']),
    );
  });

  await t.test('a base repository that gets dirty is seen within seconds, and blocks no task', async () => {
    const untracked = join(repository.path, 'untracked.txt');
    const clean = (wanted: boolean) => (peer: SeenPeer) => peer.announce?.repo_state.base_clean === wanted;
    const before = Date.now();
    writeFileSync(untracked, 'left here\n');
    await untilSeen(operator, 'neo', clean(false), 'with a dirty repository', 20_000);
    t.diagnostic(`seen after ${Date.now() - before} ms`);
    await until(() => from('neo').at(-1)?.said.session.repoState.baseClean === false, 'the same on NATS');
    assert.equal(from('neo').at(-1)?.said.session.repoState.clean, true);
    const sent = dispatch({
      brief: runbook('something.txt', 'written', 'test ! -e untracked.txt'),
      requirements: { required_capabilities: ['file'] },
      routing: { target: 'neo', on_blocked: 'fail' },
    });
    const { body } = await call(operator, 'SendMessage', message(sent));
    assert.equal(resultOf(body.result.task).status, 'done', JSON.stringify(body));
    rmSync(untracked);
    await untilSeen(operator, 'neo', clean(true), 'with a clean repository', 20_000);
  });

  await t.test(
    'a profile that stops says so: switch and NATS know at once that it is not ready',
    async () => {
      const instance = from('neo').at(-1)?.said.instanceId;
      await fleet.terminate('neo');
      const gone = (peer: { announce: { ready: boolean } | null }) => peer.announce?.ready === false;
      assert.ok((await seenPeers(operator)).some((peer) => peer.name === 'neo' && gone(peer)));
      await until(() => from('neo').at(-1)?.said.ready === false, 'the farewell on NATS');
      assert.equal(from('neo').at(-1)?.said.instanceId, instance);
      const sent = dispatch({ brief: 'anything', routing: { target: 'neo', on_blocked: 'fail' } });
      const { body } = await call(operator, 'SendMessage', message(sent));
      const result = resultOf(body.result.task);
      assert.equal(result.status, 'blocked');
      assert.match(result.blocked_reason, /not ready/);
      assert.equal(result.tokens_spent, 0);
    },
  );

  await t.test('a new start takes the place of the one that left', async () => {
    await fleet.up();
    await untilSeen(operator, 'neo', (peer) => peer.announce?.ready === true, 'ready again');
    await until(() => new Set(from('neo').map(({ said }) => said.instanceId)).size === 2, 'it on NATS');
    const all = from('neo').map(({ said }) => said.instanceId ?? '');
    assert.deepEqual(all, [...all].sort());
  });
});
