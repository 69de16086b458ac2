import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT, startFleet, until } from '../support/fleet.ts';
import { cli, joinToken, otherMachine } from '../support/joining.ts';
import { seenPeers, untilSeen } from '../support/peers-view.ts';
import { call, dispatch, message, resultOf, runbook, type Target } from '../support/rpc.ts';

const at = (target: string, brief: string, more: object = {}) =>
  dispatch({ brief, task: { token_budget: 20_000 }, routing: { target, on_blocked: 'queue' }, ...more });

async function api(
  { url, token }: Target,
  path: string,
  method = 'GET',
): Promise<{ status: number; body: Json }> {
  const reply = await fetch(`${url}${path}`, { method, headers: { authorization: `Bearer ${token}` } });
  return { status: reply.status, body: (await reply.json()) as Json };
}
// biome-ignore lint/suspicious/noExplicitAny: the body of a reply under test has no type of its own
type Json = any;

const secretsOf = (dir: string, name: string): string[] =>
  readdirSync(join(dir, 'keys', name)).map((file) => readFileSync(join(dir, 'keys', name, file), 'utf8'));

test('a worker joins with one command and one token, works, and leaves without losing a task', async (t) => {
  const fleet = await startFleet(t, ['switch', 'neo']);
  const operator = fleet.target('switch');
  const reach = ['--dir', fleet.dir];
  const machine = otherMachine(t, fleet);
  const workers = async (): Promise<Json[]> => (await api(operator, '/fleet/workers')).body.workers;

  await t.test('a token that is wrong or revoked changes nothing, and the error says why', async () => {
    const made = await cli([
      'join-token',
      'create',
      ...reach,
      '--name',
      'worker-7',
      '--endpoint',
      'http://127.0.0.1:*',
      '--json',
    ]);
    assert.equal(made.code, 0, made.stderr);
    const { id, token } = JSON.parse(made.stdout);
    const revoked = await cli(['join-token', 'revoke', id, ...reach]);
    assert.equal(revoked.code, 0, revoked.stderr);
    const refused = await machine.join(token);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, /this join token was revoked/);
    const unknown = await machine.join(`hfj_${'x'.repeat(43)}`);
    assert.match(unknown.stderr, /token is not accepted/);
    assert.ok(!existsSync(machine.dir));
    assert.deepEqual(await workers(), []);
  });

  let token = '';
  await t.test('the way back is tried before anything is stored, and the fault is named', async () => {
    ({ token } = await joinToken(fleet, { name: 'worker-7' }));
    const elsewhere = await machine.join(token, '--endpoint', `http://127.0.0.1:${machine.port + 1}`);
    assert.equal(elsewhere.code, 1);
    assert.match(elsewhere.stderr, /switch does not reach worker-7 at http:\S+: connection refused/);
    const other = await machine.join(token, '--endpoint', fleet.target('neo').url);
    assert.match(other.stderr, /that is where neo is/);
    const wrongName = await machine.join(token, '--name', 'worker-8');
    assert.equal(wrongName.code, 2);
    assert.match(wrongName.stderr, /this join token is for the name worker-7/);
    assert.deepEqual(await workers(), []);
  });

  await t.test('it joins, is checked in both directions, and is routed to', async () => {
    const command = [token, '--profile-dir', join(ROOT, 'deploy/profiles/neo'), '--json'] as const;
    // The same command twice at once: the second one would start a gateway that no pid file names.
    const ends = await Promise.all([machine.join(...command), machine.join(...command)]);
    const done = ends.find(({ code }) => code === 0);
    assert.ok(done, JSON.stringify(ends));
    const refused = ends.find((each) => each !== done);
    assert.equal(refused?.code, 1);
    assert.match(refused.stdout + refused.stderr, /fleet join \(process \d+, since .*\) is at work on/);
    const summary = JSON.parse(done.stdout);
    assert.deepEqual([summary.name, summary.failed, summary.gateway], ['worker-7', 0, 'started']);
    for (const by of ['worker-7', 'switch'])
      assert.ok(
        summary.findings.some(
          (each: Json) => each.by === by && each.check === 'token' && each.state === 'ok',
        ),
        by,
      );
    const [seen] = (await seenPeers(operator)).filter(({ name }) => name === 'worker-7');
    assert.deepEqual([seen?.standing, seen?.state], ['joined', 'live']);
    const { body } = await call(
      operator,
      'SendMessage',
      message(at('worker-7', runbook('a.txt', 'b', 'cat a.txt'))),
    );
    const result = resultOf(body.result.task);
    assert.deepEqual([result.status, result.executed_by], ['done', 'worker-7'], JSON.stringify(result));
  });

  await t.test(
    'its folder has the profile under its own name, and secrets that only its owner reads',
    async () => {
      const profile = join(machine.dir, 'profiles/worker-7');
      assert.match(readFileSync(join(profile, 'IDENTITY.md'), 'utf8'), /^name: worker-7$/m);
      const shipped = readFileSync(join(ROOT, 'deploy/profiles/neo/config.yaml'), 'utf8');
      assert.equal(readFileSync(join(profile, 'config.yaml'), 'utf8'), shipped);
      const yaml = readFileSync(join(profile, 'fleet.yaml'), 'utf8');
      assert.match(yaml, /purpose: "Small and quick work/);
      assert.doesNotMatch(yaml, /morpheus|nats:/);
      for (const file of readdirSync(join(machine.dir, 'keys/worker-7')))
        assert.equal(statSync(join(machine.dir, 'keys/worker-7', file)).mode & 0o777, 0o400, file);
      assert.equal(statSync(join(machine.dir, 'keys')).mode & 0o777, 0o700);
      const presented = secretsOf(machine.dir, 'worker-7').filter((text) => !text.startsWith('sha256:'));
      assert.equal(presented.length, 1, 'what it accepts is kept as a hash');
      for (const secret of [...presented, token]) assert.ok(!fleet.log('switch').includes(secret));
    },
  );

  await t.test('its token is for announces and its own membership, and for nothing else', async () => {
    const presented = secretsOf(machine.dir, 'worker-7').find((text) => !text.startsWith('sha256:'));
    const own = { url: operator.url, token: presented };
    assert.equal((await api(own, '/fleet/membership')).body.state, 'joined');
    for (const [method, path] of [
      ['GET', '/fleet/peers'],
      ['GET', '/fleet/join-tokens'],
      ['POST', '/fleet/join-tokens'],
      ['GET', '/fleet/workers'],
      ['DELETE', '/fleet/workers/worker-7'],
      ['GET', '/fleet/join'],
      ['POST', '/fleet/drain'],
    ] as const)
      assert.equal((await api(own, path, method)).status, 403, path);
    const { body } = await call(own, 'SendMessage', message(at('auto', 'x')));
    assert.match(JSON.stringify(resultOf(body.result.task)), /dispatch/);
    assert.equal(resultOf(body.result.task).status, 'blocked');
  });

  await t.test('the token joins once only; the same command again finds that it has joined', async () => {
    const second = otherMachine(t, fleet, 1);
    const used = await second.join(token);
    assert.equal(used.code, 1);
    assert.match(used.stderr, /was used by worker-7/);
    const again = await machine.join(token);
    assert.equal(again.code, 0, again.stderr);
    assert.match(again.stderr, /has joined switch already/);
    assert.equal((await workers()).length, 1);
  });

  await t.test('of two workers with one token, one joins', async () => {
    const pair = [otherMachine(t, fleet, 1), otherMachine(t, fleet, 2)];
    const { token: shared } = await joinToken(fleet, { name: 'pair-*' });
    const names = ['pair-a', 'pair-b'];
    const ends = await Promise.all(
      pair.map((each, index) => each.join(shared, '--name', names[index] ?? '')),
    );
    const codes = ends.map(({ code }) => code).sort();
    assert.deepEqual(codes, [0, 1], ends.map(({ stderr }) => stderr).join('\n'));
    assert.match(ends.find(({ code }) => code === 1)?.stderr ?? '', /was used by pair-/);
    const joined = (await workers()).filter(({ name }) => name.startsWith('pair-'));
    assert.equal(joined.length, 1);
    const winner = pair[ends.findIndex(({ code }) => code === 0)];
    const left = await winner?.leave();
    assert.equal(left?.code, 0, left?.stderr);
  });

  await t.test('switch knows it after a restart, without a command', async () => {
    await fleet.kill('switch');
    await fleet.up();
    await untilSeen(
      operator,
      'worker-7',
      ({ state, standing }) => state === 'live' && standing === 'joined',
      'again',
    );
    assert.equal((await workers())[0]?.state, 'joined');
  });

  await t.test('it leaves under load: what it runs and what waits there is done first', async () => {
    const slow = (to: Target, target: string) => {
      const sent = at(target, runbook('c.txt', 'd', 'sleep 4; cat c.txt'));
      return call(to, 'SendMessage', message(sent));
    };
    const local = {
      url: `http://127.0.0.1:${machine.port}`,
      token: readFileSync(join(machine.dir, 'keys/operator/token'), 'utf8'),
    };
    const tasks = Array.from({ length: 4 }, () => slow(operator, 'worker-7'));
    await until(async () => (await workers())[0]?.tasks === 4, 'four tasks to run there');
    tasks.push(slow(local, 'worker-7'), slow(local, 'worker-7'));
    const announced = async (): Promise<Json> =>
      (await api(operator, '/fleet/peers')).body.peers.find(({ name }: Json) => name === 'worker-7')
        ?.announce;
    await until(async () => (await announced())?.queued_tasks === 2, 'two tasks to wait there');
    const leaving = machine.leave();
    await until(async () => (await workers())[0]?.state === 'leaving', 'it to be leaving');
    const routing = { target: 'worker-7', on_blocked: 'fail' };
    const late = await call(operator, 'SendMessage', message(dispatch({ brief: 'x', routing })));
    assert.equal(resultOf(late.body.result.task).status, 'blocked', 'it gets no new work');
    const left = await leaving;
    assert.equal(left.code, 0, left.stderr);
    for (const each of await Promise.all(tasks)) {
      const result = resultOf(each.body.result.task);
      assert.deepEqual([result.status, result.executed_by], ['done', 'worker-7'], JSON.stringify(result));
    }
    assert.deepEqual(await workers(), []);
    assert.deepEqual(
      (await seenPeers(operator)).filter(({ name }) => name === 'worker-7'),
      [],
    );
    assert.ok(!existsSync(join(machine.dir, 'keys')));
    assert.ok(existsSync(join(machine.dir, 'state/ledger.db')));
    assert.match(left.stdout, /state, .*workspace/);
    const again = await machine.leave();
    assert.equal(again.code, 0, again.stderr);
  });
});
