import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { consume } from '@hermes-fleet/events';
import type { CloudEvent } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { readControlFile } from '../support/control-file.ts';
import { type Fleet, runProgram, startFleet, until } from '../support/fleet.ts';
import { CONCERN, decide, decision, GRID, TREND } from '../support/lone-trader.ts';
import { call, dispatch, message, resultOf } from '../support/rpc.ts';

const TOOL = 'mcp__trader__apply_control_decision';

/** Events of a subject, from the first, until there are so many. */
async function eventsOf(fleet: Fleet, filter: string, count: number): Promise<CloudEvent[]> {
  const events: CloudEvent[] = [];
  const stop = new AbortController();
  const timeout = setTimeout(() => stop.abort(), 60_000);
  try {
    await consume({
      connection: fleet.bus,
      filter,
      fromStart: true,
      signal: stop.signal,
      log: silentLog,
      clock: systemClock,
      onEvent: (event) => {
        events.push(event);
        if (events.length >= count) stop.abort();
      },
    });
  } finally {
    clearTimeout(timeout);
  }
  return events;
}

/** A task of switch's own agent that calls one tool. */
const toolTask = (input: unknown) =>
  dispatch({
    brief: `\`\`\`tool ${TOOL}\n${JSON.stringify(input)}\n\`\`\``,
    task: { reply_schema: 'json' },
    routing: { target: 'switch' },
  });

const verify = (fleet: Fleet) =>
  runProgram(process.execPath, ['libs/cli/src/main.ts', 'trader', 'audit', 'verify', ...offsetOf(fleet)], {
    env: { ...process.env },
  });
const offsetOf = (fleet: Fleet): string[] => [
  '--dir',
  fleet.dir,
  '--port-offset',
  String(fleet.plan.portOffset),
];

test('the trader is a member: announced, decided by the agent of switch, on the bus, and in the metrics', async (t) => {
  const fleet = await startFleet(t, ['switch', 'trader']);
  const trader = fleet.target('trader');
  const { peers } = (await (
    await fetch(`${fleet.target('switch').url}/fleet/peers`, {
      headers: { authorization: `Bearer ${fleet.operatorToken}` },
    })
  ).json()) as { peers: { name: string; announce?: { role?: string } }[] };
  const known = peers.find(({ name }) => name === 'trader');
  assert.equal(known?.announce?.role, 'trader', JSON.stringify(known));

  const task = dispatch({ brief: 'Trade something.', routing: { target: 'trader' } });
  const refused = resultOf(
    (await call(fleet.target('switch'), 'SendMessage', message(task))).body.result.task,
  );
  assert.deepEqual([refused.status, refused.tokens_spent], ['blocked', 0]);

  // A trader that was ready after switch is connected to at the next attempt.
  await until(
    async () => /^fleet_mcp_server_up\{server="trader"\} 1$/m.test(await fleet.metrics('switch')),
    'switch to have the tools of the trader',
  );
  const payload = decision({
    action: 'switch',
    target_strategy_id: TREND,
    expected_active_strategy_id: GRID,
    reason: 'words that nobody else is to read',
  });
  const { body } = await call(fleet.target('switch'), 'SendMessage', message(toolTask(payload)));
  const result = resultOf(body.result.task);
  assert.equal(result.status, 'done', JSON.stringify(result));
  assert.match(JSON.stringify(result.output), /status\W+applied/);
  const { audit } = readControlFile(join(fleet.dir, 'state/trader/control.db'));
  const attempt = audit.find(({ record }) => record.kind === 'attempt')?.record;
  assert.deepEqual(
    [attempt.door, attempt.caller, attempt.on_behalf_of, attempt.status],
    ['mcp', 'switch', 'operator', 'applied'],
  );

  assert.equal((await decide(trader, { expected_active_strategy_id: GRID })).status, 'rejected');
  const [applied, rejected] = await eventsOf(fleet, 'fleet.control.>', 2);
  assert.deepEqual(
    [applied?.type, rejected?.type],
    ['dev.hermes-fleet.control.applied.v1', 'dev.hermes-fleet.control.rejected.v1'],
  );
  assert.equal(applied?.data.concern_id, CONCERN);
  assert.doesNotMatch(JSON.stringify(applied), /words that nobody/);
  const [head] = await eventsOf(fleet, 'fleet.audit.>', 1);
  assert.ok(Number(head?.data.seq) >= 1);

  const metrics = await fleet.metrics('trader');
  assert.match(metrics, /^fleet_trader_decisions_total\{action="switch",status="applied"\} 1$/m);
  assert.match(metrics, /^fleet_trader_rejections_total\{code="expected_active_mismatch"\} 1$/m);
  assert.match(metrics, /^fleet_trader_audit_records_total \d+$/m);

  // A guest of switch who may dispatch, and may not decide, is not offered the tool.
  const neo = { ...fleet.target('switch'), token: await fleet.tokenOf('neo', 'switch') };
  const other = await call(neo, 'SendMessage', message(toolTask({ ...payload, decision_id: randomUUID() })));
  assert.doesNotMatch(JSON.stringify(resultOf(other.body.result.task)), /status\W+applied/);
});

test('what was changed in the audit, or cut off it, is found and named', async (t) => {
  const fleet = await startFleet(t, ['switch', 'trader', 'console'], {
    // Without bars: an engine whose last record was cut off cannot be saved, and then its trader is not ready.
    onPlanned: ({ root }) => {
      const file = join(root, 'deploy/trader/trader.yaml');
      writeFileSync(file, readFileSync(file, 'utf8').replace(' interval_s: 5\n', ' interval_s: 3600\n'));
    },
  });
  const trader = fleet.target('trader');
  for (let at = 0; at < 4; at += 1) await decide(trader, { action: at % 2 === 0 ? 'pause' : 'resume' });
  const file = join(fleet.dir, 'state/trader/control.db');
  const count = (): number => readControlFile(file).audit.length;
  await until(() => count() >= 9, 'the outcomes to be recorded');
  const sound = await verify(fleet);
  assert.equal(sound.code, 0, sound.stdout + sound.stderr);
  await until(
    async () => /witness +the console has seen record \d+$/m.test((await verify(fleet)).stdout),
    'the console to have seen a head',
  );
  await fleet.terminate('trader');
  const total = count();

  const edit = (sql: string): void => {
    const db = new DatabaseSync(file);
    db.exec(`DROP TRIGGER IF EXISTS audit_is_final; DROP TRIGGER IF EXISTS audit_is_kept; ${sql}`);
    db.close();
  };
  edit(`DELETE FROM audit WHERE seq = ${total}`);
  const cut = await verify(fleet);
  assert.equal(cut.code, 1, cut.stdout);
  assert.match(cut.stdout + cut.stderr, new RegExp(`${total}`));

  const decided = readControlFile(file).audit.find(({ text }) => text.includes('a test'));
  const seq = decided?.seq ?? assert.fail('no decision is recorded');
  edit(`UPDATE audit SET record = replace(record, 'a test', 'A test') WHERE seq = ${seq}`);
  const changed = await verify(fleet);
  assert.equal(changed.code, 1);
  assert.match(changed.stdout + changed.stderr, new RegExp(`record ${seq}\\b`));

  await fleet.up();
  await until(async () => {
    const ready = await (await fetch(`${trader.url}/ready`)).text();
    return new RegExp(`record ${seq}\\b`).test(ready);
  }, 'the trader to say that its audit is broken');
  assert.match(await fleet.metrics('trader'), /^fleet_trader_audit_ok(\{[^}]*\})? 0$/m);
  assert.equal((await decide(trader)).ok, true);
});

test('an audit that was put back is taken once its old head is forgotten, and only by the set-up user', async (t) => {
  const fleet = await startFleet(t, ['switch', 'trader']);
  const trader = fleet.target('trader');
  const file = join(fleet.dir, 'state/trader/control.db');
  const records = (): number => readControlFile(file).audit.length;
  const stopped = async (): Promise<void> => {
    await fleet.terminate('trader');
    // A file that is closed is whole by itself.
    assert.equal(existsSync(`${file}-wal`), false);
  };
  await decide(trader);
  await until(() => records() >= 3, 'the outcome to be recorded');
  await stopped();
  copyFileSync(file, `${file}.backup`);
  const kept = records();
  await fleet.up();
  for (const action of ['resume', 'pause']) await decide(trader, { action });
  await stopped();
  const lost = records();
  assert.ok(lost > kept);
  copyFileSync(`${file}.backup`, file);

  const audit = async (): Promise<string> => (await fetch(`${trader.url}/ready`)).text();
  await fleet.up();
  await until(
    async () => /an older file was put back/.test(await audit()),
    'the trader to find its old head',
  );
  await fleet.terminate('trader');
  await fleet.up();
  await until(async () => /an older file was put back/.test(await audit()), 'it to find it again');
  const broken = await verify(fleet);
  assert.equal(broken.code, 1, broken.stdout);

  const forget = (args: readonly string[], env: NodeJS.ProcessEnv = {}) =>
    runProgram(process.execPath, ['libs/cli/src/main.ts', 'nats', 'forget-head', 'trader', ...args], {
      env: { ...process.env, ...env },
    });
  const as = (user: string): NodeJS.ProcessEnv => ({
    HERMES_KEYS_DIR: join(fleet.plan.keysDir, user),
    NATS_HOST: '127.0.0.1',
    NATS_PORT: String(fleet.plan.nats.port),
  });
  for (const user of ['trader', 'neo', 'operator']) {
    const refused = await forget(['--as-is'], as(user));
    assert.deepEqual([refused.code, /cannot be forgotten/.test(refused.stderr)], [1, true], refused.stderr);
  }
  const done = await forget(offsetOf(fleet));
  assert.equal(done.code, 0, done.stderr);
  assert.match(done.stdout, new RegExp(`record +${lost}, [0-9a-f]{64}\n.*\n.*\nforgotten: trader publishes`));
  const again = await forget(['--as-is', '--json'], as('setup'));
  assert.deepEqual([again.code, JSON.parse(again.stdout)], [0, { service: 'trader', outcome: 'none' }]);

  await fleet.terminate('trader');
  await fleet.up();
  const wanted = records();
  await until(async () => {
    const { stdout, code } = await verify(fleet);
    // Bars add records meanwhile.
    const published = Number(/NATS holds the head of record (\d+)/.exec(stdout)?.[1]);
    return code === 0 && published >= wanted;
  }, 'the trader to publish the head of the file that it has');
  assert.match(await fleet.metrics('trader'), /^fleet_trader_audit_ok(\{[^}]*\})? 1$/m);
  assert.doesNotMatch(await audit(), /put back/);
});
