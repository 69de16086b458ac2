import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Ledger } from '@hermes-fleet/ledger';
import { deadline, fleetErrorOf, manualClock } from '@hermes-fleet/protocol/testing';
import { restlessClock, startPushing } from '../../testing/pushing.ts';
import { at } from '../../testing/serve.ts';
import { startWebhook } from '../../testing/webhook.ts';

/** As in send-notification.ts. */
const ATTEMPT_MS = 15_000;

/** Hosts that take notifications and do not answer. */
async function startDead(t: TestContext, count: number) {
  const hooks = await Promise.all(Array.from({ length: count }, () => startWebhook(t, () => undefined)));
  const arrived = (): number => hooks.reduce((sum, { received }) => sum + received.length, 0);
  return {
    hooks,
    arrived,
    /** Resolves when so many notifications have arrived in all. */
    async reached(wanted: number): Promise<void> {
      while (arrived() < wanted) await new Promise(setImmediate);
    },
  };
}

test('a notification is sent again, later each time, until it is acknowledged', async (t) => {
  const { clock, slept } = restlessClock();
  const hook = await startWebhook(t, (response, index) => {
    if (index === 2) response.setHeader('retry-after', '30');
    response.writeHead(index < 4 ? 500 : 204).end();
  });
  const pushing = startPushing(t, { clock, giveUpAfterMs: 3_600_000 });
  const id = await pushing.begin();
  await pushing.create(id, hook.url);
  for (let times = 0; times < 5; times += 1) await hook.next();
  await pushing.ledger.append(id, { type: 'started', data: {} }, { state: 'working' });
  const { body } = await hook.next();
  assert.ok('statusUpdate' in body);
  assert.deepEqual(slept, [1_000, 2_000, 30_000, 8_000]);
  const ids = hook.received.map(({ headers }) => headers['webhook-id']);
  assert.equal(new Set(ids.slice(0, 5)).size, 1);
  assert.notEqual(ids[5], ids[4]);
  assert.deepEqual(pushing.results.slice(0, 5), ['error', 'error', 'error', 'error', 'ok']);
});

test('a target that asks for a day is asked again after five minutes', deadline, async (t) => {
  const { clock, slept } = restlessClock();
  const hook = await startWebhook(t, (response, index) => {
    response.setHeader('retry-after', '86400');
    response.writeHead(index === 0 ? 503 : 200).end();
  });
  const pushing = startPushing(t, { clock, giveUpAfterMs: 86_400_000 });
  await pushing.create(await pushing.begin(), hook.url);
  await hook.next();
  await hook.next();
  assert.deepEqual(slept, [300_000]);
});

test('a target that fails for too long is given up, visibly, until its config is created again', async (t) => {
  const { clock, slept } = restlessClock();
  let isUp = false;
  const hook = await startWebhook(t, (response) => response.writeHead(isUp ? 200 : 503).end());
  const pushing = startPushing(t, { clock });
  const id = await pushing.begin();
  const since = new Date(clock.now()).getTime();
  const authentication = { scheme: 'Bearer', credentials: 'of-the-target' };
  await pushing.create(id, hook.url, { authentication });
  const line = await pushing.log.saw(/push notifications given up/);
  const given = pushing.ledger.push.findConfig(id, 'c');
  assert.deepEqual(slept, [1_000, 2_000, 4_000, 8_000]);
  assert.deepEqual(
    [given?.state, given?.failures, given?.failingSince, given?.detail],
    ['given_up', 5, since, 'the target answered with status 503'],
  );
  assert.equal(pushing.results.at(-1), 'given_up');
  assert.equal(line.level, 'warn');
  assert.ok(!JSON.stringify(pushing.log.entries).includes('of-the-'));
  isUp = true;
  await pushing.create(id, hook.url, { authentication });
  const { headers } = await hook.next();
  assert.equal(headers['webhook-id'], hook.received[0]?.headers['webhook-id']);
});

test('a target that is gone for good is given up at once', async (t) => {
  const hook = await startWebhook(t, (response) => response.writeHead(410).end());
  const pushing = startPushing(t);
  const id = await pushing.begin();
  await pushing.create(id, hook.url);
  await pushing.log.saw(/push notifications given up/);
  assert.equal(pushing.ledger.push.findConfig(id, 'c')?.state, 'given_up');
  assert.deepEqual(pushing.results, ['given_up']);
});

test('a redirect is a failure, and is not followed', async (t) => {
  const clock = manualClock();
  const inside = await startWebhook(t);
  const hook = await startWebhook(t, (response) => response.writeHead(307, { location: inside.url }).end());
  const pushing = startPushing(t, { clock });
  await pushing.create(await pushing.begin(), hook.url);
  await clock.asleep(1);
  assert.deepEqual([pushing.results, hook.received.length, inside.received.length], [['error'], 1, 0]);
});

test('a host that has become internal gets nothing', async (t) => {
  const clock = manualClock();
  const hook = await startWebhook(t);
  let address = '8.8.8.8';
  const resolve = async () => [{ address, family: 4 }];
  const pushing = startPushing(t, { clock, rules: { resolve } });
  const id = await pushing.begin();
  const url = hook.url.replace('127.0.0.1', 'hooks.example.org');
  const planned = await pushing.push.plan(
    { version: '1.0', url, token: undefined, authentication: undefined },
    'switch',
  );
  address = '127.0.0.1';
  await planned.save(id, 'c');
  await clock.asleep(1);
  assert.equal(hook.received.length, 0);
  assert.match(pushing.ledger.push.findConfig(id, 'c')?.detail ?? '', /has no public address/);
  await assert.rejects(pushing.create(id, url), { code: 'INVALID_PARAMS' });
});

test('a port of other services is refused when a config is created, unless it is named with its host', async (t) => {
  const resolve = async () => [{ address: '8.8.8.8', family: 4 }];
  const named = ['hooks.example.org:25', '127.0.0.1', 'hooks.example.org'];
  const pushing = startPushing(t, { rules: { resolve, allowInternal: named } });
  const plan = async (url: string): Promise<void> => {
    const config = { version: '1.0' as const, url, token: undefined, authentication: undefined };
    (await pushing.push.plan(config, 'switch'))[Symbol.dispose]();
  };
  for (const url of [
    ...[
      'http://a.example.org/',
      'https://a.example.org/',
      'http://a.example.org:443/',
      'https://a.example.org:80/',
    ],
    ...['https://a.example.org:1024/', 'https://a.example.org:65535/', 'http://hooks.example.org:25/'],
  ])
    await plan(url);
  for (const [url, port] of [
    ...[0, 1, 22, 25, 79, 81, 445, 993, 1023].map(
      (each) => [`https://a.example.org:${each}/`, each] as const,
    ),
    ['http://hooks.example.org:22/', 22],
    ['http://127.0.0.1:25/', 25],
  ] as const) {
    const error = await fleetErrorOf(plan(url));
    assert.equal(error.code, 'INVALID_PARAMS', url);
    assert.deepEqual(
      error.fields.map(({ path, reason }) => [path, reason.split(':')[0]]),
      [['url', `port ${port} is below 1024 and neither 80 nor 443`]],
    );
    assert.match(error.message, /name the host with this port in fleet\.push\.allow_internal/);
  }
});

test('a port that is no longer allowed gets nothing', async (t) => {
  const clock = manualClock();
  const allowInternal = ['127.0.0.1:25'];
  const pushing = startPushing(t, { clock, rules: { allowInternal } });
  const id = await pushing.begin();
  const config = {
    version: '1.0' as const,
    url: 'http://127.0.0.1:25/',
    token: undefined,
    authentication: undefined,
  };
  const planned = await pushing.push.plan(config, 'switch');
  allowInternal[0] = '127.0.0.1';
  await planned.save(id, 'c');
  await clock.asleep(1);
  assert.match(pushing.ledger.push.findConfig(id, 'c')?.detail ?? '', /^port 25 is below 1024/);
});

test('a task that was removed while its target failed is not sent again', async (t) => {
  const clock = manualClock();
  const hook = await startWebhook(t, (response) => response.writeHead(500).end());
  const pushing = startPushing(t, { clock });
  const id = await pushing.begin();
  await pushing.create(id, hook.url);
  await clock.asleep(1);
  const { ledger } = pushing;
  await ledger.append(id, { type: 'canceled', data: {} }, { state: 'canceled', result: {} });
  await ledger.contexts.delete({
    contextId: ledger.get(id)?.contextId ?? '',
    caller: 'switch',
    results: 'keep',
  });
  clock.advance(60_000);
  const later = await pushing.begin();
  await pushing.create(later, hook.url);
  await hook.next();
  await hook.next();
  await pushing.push.stop();
  assert.deepEqual(
    hook.received.map(({ body }) => at(body, 'task', 'id')),
    [id, later],
  );
});

test('dead targets of one caller delay no other caller, and no task', deadline, async (t) => {
  const hook = await startWebhook(t);
  const pushing = startPushing(t);
  const dead = await startDead(t, 20);
  for (const { url } of dead.hooks) await pushing.create(await pushing.begin('hostile'), url);
  await dead.reached(16);
  const id = await pushing.begin('switch');
  await pushing.create(id, hook.url);
  await hook.next();
  await pushing.ledger.append(id, { type: 'done', data: {} }, { state: 'completed', result: {} });
  await hook.next();
  assert.equal(dead.arrived(), 16);
});

test('a dead host of a caller delays no other host of the same caller', deadline, async (t) => {
  const dead = await startWebhook(t, () => undefined);
  const hook = await startWebhook(t);
  const pushing = startPushing(t);
  for (let n = 0; n < 30; n += 1) await pushing.create(await pushing.begin(), dead.url);
  await dead.next();
  const id = await pushing.begin();
  await pushing.create(id, hook.url);
  await hook.next();
  await pushing.ledger.append(id, { type: 'done', data: {} }, { state: 'completed', result: {} });
  await hook.next();
  assert.equal(dead.received.length, 1);
});

for (const after of ['', ', nor after a restart'])
  test(`twenty dead hosts delay no other one of the same caller, new or not${after}`, deadline, async (t) => {
    const clock = manualClock();
    const pushing = startPushing(t, { clock, giveUpAfterMs: 86_400_000 });
    const known = await startWebhook(t);
    const knownId = await pushing.begin();
    await pushing.create(knownId, known.url);
    await known.next();
    const dead = await startDead(t, 20);
    for (const { url } of dead.hooks) await pushing.create(await pushing.begin(), url);
    await dead.reached(16);
    clock.advance(ATTEMPT_MS);
    await dead.reached(20);
    clock.advance(ATTEMPT_MS);
    // Four at a time are tried again.
    await dead.reached(24);
    if (after) {
      await pushing.restart();
      await clock.asleep(20);
      clock.advance(60_000);
      await dead.reached(28);
    }
    const hook = await startWebhook(t);
    const id = await pushing.begin();
    await pushing.create(id, hook.url);
    await hook.next();
    await pushing.ledger.append(knownId, { type: 'started', data: {} }, { state: 'working' });
    await known.next();
    assert.equal(dead.arrived(), after ? 28 : 24);
  });

test('ten thousand events wait in the ledger for a target that sleeps, and then arrive in order', async (t) => {
  const awake = Promise.withResolvers<void>();
  const hook = await startWebhook(t, (response) => void awake.promise.then(() => response.end()));
  let taken = 0;
  const counting = (ledger: Ledger): Ledger => ({
    ...ledger,
    events(...asked) {
      const events = ledger.events(...asked);
      taken += events.length;
      return events;
    },
  });
  const pushing = startPushing(t, { counting });
  const { ledger } = pushing;
  const id = await pushing.begin();
  await pushing.create(id, hook.url);
  await hook.next();
  taken = 0;
  const events = Array.from({ length: 10_000 }, (_, n) => n);
  await Promise.all(events.map((n) => ledger.append(id, { type: 'text', data: { text: String(n) } })));
  await ledger.append(id, { type: 'done', data: {} }, { state: 'completed', result: {} });
  assert.deepEqual([hook.received.length, taken], [1, 0]);
  awake.resolve();
  const expected = events.slice(0, 500).map(String);
  const arrived: unknown[] = [];
  for (const _ of expected)
    arrived.push(at((await hook.next()).body, 'artifactUpdate', 'artifact', 'parts', 0, 'text'));
  assert.deepEqual(arrived, expected);
  // Each is looked for, and read once there is a slot for it.
  assert.ok(taken <= 1_020, `${taken} events were taken from the ledger`);
});
