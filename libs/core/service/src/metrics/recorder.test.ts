import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import type { Families } from './family.ts';
import { createRecorder } from './recorder.ts';

const SERVER = { more: 2 } as const;
const TABLE = {
  fleet_ends_total: {
    help: 'ended tasks, as `fleet.tasks` and [tasks](tasks.md#ends) have them',
    labels: {
      profile: { from: 'profile' },
      tier: { from: 'tiers', and: ['none'] },
      status: ['done', 'error'],
    },
    ledger: 'tasks',
  },
  fleet_calls_total: { help: 'calls', labels: { server: SERVER } },
  fleet_seconds: { help: 'time', labels: { server: SERVER, result: ['ok', 'error'] }, buckets: [1, 2] },
  fleet_waits: { help: 'waits', labels: { result: ['ok', 'error'] }, buckets: [1] },
  fleet_guards_total: {
    help: 'guards',
    labels: { guard: ['loop', 'budget'], level: ['warn', 'stop'] },
    starts: [{ guard: 'loop', level: 'warn' }],
  },
  fleet_tokens: { help: 'tokens', labels: { caller: { from: 'callers', knownOnly: true } } },
  fleet_depth: { help: 'depth' },
  fleet_free_bytes: { help: 'free', read: true },
  fleet_records_total: { help: 'records', read: true },
  fleet_up: { help: 'up', labels: { use: ['server', 'client'] }, read: true },
} as const satisfies Families;

const create = () =>
  createRecorder(new Registry(), TABLE, { profile: ['neo'], tiers: ['haiku'], callers: ['switch'] });

async function shown({ registry }: { readonly registry: Registry }): Promise<Record<string, number>> {
  const lines = (await registry.metrics()).split('\n').filter((line) => /^fleet_/.test(line));
  return Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.lastIndexOf(' ')),
      Number(line.slice(line.lastIndexOf(' ') + 1)),
    ]),
  );
}

test('series whose labels are known start at 0, and no others', async () => {
  const names = Object.keys(await shown(create())).filter((name) => !/_(bucket|sum)/.test(name));
  const ends = ['haiku', 'none'].flatMap((tier) =>
    ['done', 'error'].map((status) => `fleet_ends_total{profile="neo",tier="${tier}",status="${status}"}`),
  );
  assert.deepEqual(names.sort(), [
    'fleet_depth',
    ...ends,
    'fleet_guards_total{guard="loop",level="warn"}',
    'fleet_tokens{caller="switch"}',
    'fleet_waits_count{result="error"}',
    'fleet_waits_count{result="ok"}',
  ]);
  assert.ok(Object.values(await shown(create())).every((value) => value === 0));
});

test('each way of recording changes the series that it names', async () => {
  const metrics = create();
  const before = await shown(metrics);
  metrics.add('fleet_ends_total', { tier: 'haiku', status: 'done' });
  metrics.add('fleet_ends_total', { tier: 'none', status: 'error' }, 4);
  metrics.observe('fleet_waits', { result: 'ok' }, 0.5);
  metrics.set('fleet_depth', {}, true);
  assert.deepEqual(await shown(metrics), {
    ...before,
    'fleet_ends_total{profile="neo",tier="haiku",status="done"}': 1,
    'fleet_ends_total{profile="neo",tier="none",status="error"}': 4,
    'fleet_waits_bucket{le="1",result="ok"}': 1,
    'fleet_waits_bucket{le="+Inf",result="ok"}': 1,
    'fleet_waits_sum{result="ok"}': 0.5,
    'fleet_waits_count{result="ok"}': 1,
    fleet_depth: 1,
  });
});

test('amounts that are negative or no finite number change nothing', async () => {
  const metrics = create();
  const before = await shown(metrics);
  for (const bad of [Number.NaN, Number.POSITIVE_INFINITY, -1]) {
    metrics.add('fleet_calls_total', { server: 'trek' }, bad);
    metrics.observe('fleet_seconds', { server: 'trek', result: 'ok' }, bad);
    metrics.set('fleet_depth', {}, bad);
    metrics.count([{ counter: 'tasks', labels: ['haiku', 'done'], by: bad }]);
  }
  assert.deepEqual(await shown(metrics), before);
});

test('a value outside the bounds of its label becomes other, or is not recorded', async () => {
  const metrics = create();
  metrics.add('fleet_ends_total', { tier: 'opus', status: 'done' });
  for (const server of ['a', 'b', 'c', 'two words']) metrics.add('fleet_calls_total', { server });
  metrics.set('fleet_tokens', { caller: 'stranger' }, 5);
  const found = await shown(metrics);
  assert.equal(found['fleet_ends_total{profile="neo",tier="other",status="done"}'], 1);
  assert.deepEqual(
    Object.entries(found).filter(([name]) => /^fleet_(calls|tokens)/.test(name)),
    [
      ['fleet_calls_total{server="a"}', 1],
      ['fleet_calls_total{server="b"}', 1],
      ['fleet_calls_total{server="other"}', 2],
      ['fleet_tokens{caller="switch"}', 0],
    ],
  );
});

test('families with the same label share its bound', async () => {
  const metrics = create();
  for (const server of ['a', 'b']) metrics.add('fleet_calls_total', { server });
  metrics.observe('fleet_seconds', { server: 'c', result: 'ok' }, 1);
  assert.equal((await shown(metrics))['fleet_seconds_count{server="other",result="ok"}'], 1);
});

test('each scrape reads its sources anew, and omits what fails, is no number, or is gone', async () => {
  const metrics = create();
  let free = (): number => 5;
  let up: [{ use: 'server' | 'client' }, boolean][] = [
    [{ use: 'server' }, true],
    [{ use: 'client' }, false],
  ];
  metrics.read({ fleet_free_bytes: async () => free(), fleet_records_total: () => free() });
  metrics.read({ fleet_up: () => up });
  const read = async () =>
    Object.fromEntries(
      Object.entries(await shown(metrics)).filter(([name]) => /^fleet_(free|records|up)/.test(name)),
    );
  const both = { fleet_free_bytes: 5, fleet_records_total: 5 };
  assert.deepEqual(await read(), { ...both, 'fleet_up{use="server"}': 1, 'fleet_up{use="client"}': 0 });
  up = [[{ use: 'client' }, true]];
  assert.deepEqual(await read(), { ...both, 'fleet_up{use="client"}': 1 });
  free = () => Number.NaN;
  assert.deepEqual(await read(), { 'fleet_up{use="client"}': 1 });
  free = () => assert.fail('the disk is gone');
  assert.deepEqual(await read(), { 'fleet_up{use="client"}': 1 });
  free = () => -3;
  metrics.read({ fleet_records_total: () => 9 });
  assert.deepEqual(await read(), {
    fleet_free_bytes: -3,
    fleet_records_total: 9,
    'fleet_up{use="client"}': 1,
  });
});

test('the sums of the ledger continue the counter that it keeps', async () => {
  const metrics = create();
  metrics.count([
    { counter: 'tasks', labels: ['haiku', 'done'], by: 3 },
    { counter: 'tasks', labels: ['haiku', 'a word of a later release'], by: 2 },
    { counter: 'tokens_saved', labels: [], by: 7 },
  ]);
  const found = await shown(metrics);
  assert.equal(found['fleet_ends_total{profile="neo",tier="haiku",status="done"}'], 3);
  assert.equal(found['fleet_ends_total{profile="neo",tier="haiku",status="other"}'], 2);
});

test('the text at /metrics is that of the document without its links', async () => {
  assert.match(
    await create().registry.metrics(),
    /^# HELP fleet_ends_total ended tasks, as fleet\.tasks and tasks have them\n# TYPE fleet_ends_total counter$/m,
  );
});

test('the compiler knows the names, the labels and the closed sets of values', () => {
  const metrics = create();
  // @ts-expect-error no such family
  metrics.add('fleet_unknown_total', {});
  // @ts-expect-error a label is missing
  metrics.add('fleet_ends_total', { status: 'done' });
  // @ts-expect-error no value of the closed set
  metrics.add('fleet_ends_total', { tier: 'haiku', status: 'finished' });
  // @ts-expect-error no label of this family
  metrics.set('fleet_depth', { queue: 'own' }, 1);
  // @ts-expect-error a gauge counts nothing
  metrics.add('fleet_depth', {});
  // @ts-expect-error it is read at each scrape
  metrics.set('fleet_free_bytes', {}, 1);
  // @ts-expect-error it is recorded
  metrics.read({ fleet_depth: () => 1 });
  // @ts-expect-error a set of values is missing
  assert.ok(createRecorder(new Registry(), TABLE, { profile: ['neo'], tiers: [] }));
});
