import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { isJsonObject, type JsonObject } from '@hermes-fleet/protocol';
import { lasting, ownTask, tool, untilThere } from '../support/agent-work.ts';
import { type Fleet, startFleet, until } from '../support/fleet.ts';
import { readLedgerFile } from '../support/ledger-file.ts';
import { call, dispatch, message, resultOf, runbook } from '../support/rpc.ts';

const PROFILES = ['switch', 'neo', 'morpheus', 'trinity'];
const NOBODY_HAS = { required_mcp: ['nope'] };
const STATUSES = ['done', 'partial', 'blocked', 'error', 'canceled'];

interface Root {
  readonly profile: string;
  readonly id: string;
}

/** Sends a dispatch to a profile, as a root task. */
async function send(fleet: Fleet, profile: string, sent: Record<string, unknown>): Promise<Root> {
  const { body } = await call(
    fleet.target(profile),
    'SendMessage',
    message(sent, { returnImmediately: true }),
  );
  return { profile, id: body.result?.task.id ?? assert.fail(JSON.stringify(body)) };
}

/** One task of every kind that ends by itself. */
function round(fleet: Fleet): Promise<Root[]> {
  const brief = runbook('a.txt', 'a', 'sleep 1', 'cat a.txt');
  const auto = { target: 'auto' };
  const delegating = ownTask([tool('fleet_send', { agent: 'neo', brief })]);
  const [floor, missing] = [{ token_budget: 60 }, { token_budget: 700 }];
  return Promise.all([
    ...[1, 2, 3, 4].map(() => send(fleet, 'switch', dispatch({ brief, routing: auto }))),
    send(fleet, 'switch', delegating),
    send(fleet, 'neo', dispatch({ brief })),
    send(fleet, 'trinity', dispatch({ brief, task: { token_budget: 9_000 } })),
    // Only the workers know that this budget is too small.
    send(fleet, 'switch', dispatch({ brief, task: floor, routing: auto })),
    send(fleet, 'switch', dispatch({ brief, task: missing, requirements: NOBODY_HAS, routing: auto })),
    send(fleet, 'neo', dispatch({ brief, task: missing, requirements: NOBODY_HAS })),
  ]);
}

/** The task's result; undefined until it ends. */
async function resultAt(fleet: Fleet, { profile, id }: Root): Promise<JsonObject | undefined> {
  const { body } = await call(fleet.target(profile), 'GetTask', { id });
  const result: unknown = resultOf(body.result);
  return isJsonObject(result) ? result : undefined;
}

const number = (value: unknown): number => (typeof value === 'number' ? value : assert.fail(String(value)));
const sum = (counts: readonly number[]): number => counts.reduce((total, count) => total + count, 0);

/** The tokens and the terminal events of a ledger. */
function ledgerOf(fleet: Fleet, profile: string) {
  const file = join(fleet.dir, 'state', profile, 'ledger.db');
  const { events, unfinished } = readLedgerFile(file);
  const db = new DatabaseSync(file, { readOnly: true });
  try {
    const own = db.prepare(
      "SELECT coalesce(sum(input_tokens + output_tokens), 0) AS spent, coalesce(min(settled), 1) AS settled FROM tokens WHERE kind = 'own'",
    );
    const { spent, settled } = own.get() ?? {};
    const ended = Object.fromEntries(
      STATUSES.map((status) => [status, events.filter(({ type }) => type === status).length]),
    );
    return { own: number(spent), settled: number(settled) > 0, ended, unfinished };
  } finally {
    db.close();
  }
}

/** The sums of a profile's counters. */
async function countersOf(fleet: Fleet, profile: string) {
  const page = await fleet.metrics(profile);
  const samples = [...page.matchAll(/^(fleet_\w+_total)(\{[^}]*\})? (\d+)$/gm)];
  const total = (family: string, label = ''): number =>
    sum(
      samples
        .filter(([, name, labels = '']) => name === `fleet_${family}_total` && labels.includes(label))
        .map(([, , , value]) => Number(value)),
    );
  return {
    own: total('tokens_spent'),
    saved: total('tokens_saved'),
    refusals: total('peer_refusals'),
    accepted: total('task_admissions', 'decision="accepted"'),
    blocked: total('task_admissions', 'decision="blocked"'),
    ended: Object.fromEntries(STATUSES.map((status) => [status, total('tasks', `status="${status}"`)])),
  };
}

const all = <T>(of: (profile: string) => Promise<T>): Promise<T[]> => Promise.all(PROFILES.map(of));

test('after mixed traffic with kill -9, results, ledgers and counters have the same sums', async (t) => {
  const fleet = await startFleet(t);
  const roots = await round(fleet);
  const victim = { brief: lasting('victim'), routing: { target: 'trinity' } };
  const canceled = await send(fleet, 'switch', dispatch(victim));
  await untilThere(fleet, '.scratch/victim-begun');
  await fleet.kill('neo');
  await fleet.up();
  roots.push(...(await round(fleet)));
  await fleet.kill('switch');
  await fleet.up();
  roots.push(...(await round(fleet)));
  await fleet.kill('trinity');
  await fleet.kill('switch');
  await fleet.up();
  await call(fleet.target('switch'), 'CancelTask', { id: canceled.id });
  roots.push(canceled);

  const results: JsonObject[] = [];
  for (const root of roots) {
    let result: JsonObject | undefined;
    await until(
      async () => {
        result = await resultAt(fleet, root);
        return result !== undefined;
      },
      `task ${root.id} of ${root.profile} to end`,
      180_000,
    );
    if (result) results.push(result);
  }
  await until(
    () => PROFILES.every((profile) => ledgerOf(fleet, profile).unfinished === 0),
    'all tasks between peers to end',
  );
  const ledgers = PROFILES.map((profile) => ledgerOf(fleet, profile));
  const counters = await all((profile) => countersOf(fleet, profile));

  const spent = sum(results.map((result) => number(result.tokens_spent)));
  t.diagnostic(`${roots.length} root tasks, ${spent} tokens`);
  assert.ok(spent > 0);
  assert.ok(ledgers.every(({ settled }) => settled));
  assert.equal(sum(ledgers.map(({ own }) => own)), spent, 'tokens: ledgers and results');
  assert.deepEqual(
    counters.map(({ own }) => own),
    ledgers.map(({ own }) => own),
    'tokens: counters and ledgers',
  );
  assert.deepEqual(
    counters.map(({ ended }) => ended),
    ledgers.map(({ ended }) => ended),
    'tasks: counters and ledgers',
  );
  const refused = results.filter(({ status }) => status === 'blocked');
  assert.equal(refused.length, 9);
  assert.equal(sum(counters.map(({ blocked }) => blocked)), refused.length);
  assert.equal(sum(counters.map(({ accepted }) => accepted)), roots.length - refused.length);
  assert.equal(sum(counters.map(({ saved }) => saved)), 3 * (60 + 700 + 700));
  const blocked = sum(ledgers.map(({ ended }) => ended.blocked ?? 0));
  assert.equal(sum(counters.map(({ refusals }) => refusals)), blocked - refused.length);

  for (const profile of PROFILES) await fleet.kill(profile);
  await fleet.up();
  assert.deepEqual(await all((profile) => countersOf(fleet, profile)), counters, 'after a restart');
});
