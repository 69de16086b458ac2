import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { busPermissions, setUpStreams } from '@hermes-fleet/events';
import { startNatsServer } from '@hermes-fleet/events/testing';
import type { JsonObject } from '@hermes-fleet/protocol';
import { silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { freeOffset } from '../../../test/support/ports.ts';
import { call } from '../../../test/support/rpc.ts';
import { TOKENS, traderHome } from '../testing/trader-process.ts';

const ROOT = join(import.meta.dirname, '../../..');
const CONCERN = { account_id: 'qndd8o9ppop6', market_symbol: 'xrpusd', concern_id: 'qndd8o9ppop6:xrpusd' };
const GRID = '9cf29124-65a7-4950-ac18-65f938e0239b';
const TREND = '0c555fee-e4c8-4543-ae70-c132517017e1';
const deadline = { timeout: 120_000 };

async function until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  const giveUpAt = Date.now() + 60_000;
  while (!(await isTrue())) {
    assert.ok(Date.now() < giveUpAt, `${what} did not happen within a minute`);
    await sleep(50);
  }
}

/** A trader of the fleet whose broker is at this port. It trades fast, and refuses everything while execution is degraded. */
async function openTrader(t: TestContext, natsPort: number) {
  const port = 9220 + (await freeOffset());
  const target = { url: `http://127.0.0.1:${port}`, token: TOKENS.A2A_HERMES_TOKEN_OPERATOR };
  const nats = {
    NATS_HOST: '127.0.0.1',
    NATS_PORT: String(natsPort),
    NATS_USER: 'trader',
    NATS_PASSWORD: 'pw',
  };
  const fleetDir = tempDir(t, { prefix: 'operator-' });
  mkdirSync(join(fleetDir, 'keys/operator'), { recursive: true });
  writeFileSync(join(fleetDir, 'keys/operator/token'), `${target.token}\n`);
  const home = traderHome(t, { port, broker: true, env: nats });
  home.edit('trader.yaml', (text) =>
    text
      .replace('strict_degraded: false', 'strict_degraded: true')
      .replace(/interval_s: 5$/m, 'interval_s: 0.1')
      .replace('stale_after_bars: 3', 'stale_after_bars: 100'),
  );
  const detail = async () => (await call(target, 'get_strategy', { strategy_id: GRID })).body.result;
  const post = async (token: string | undefined, body: JsonObject) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const response = await fetch(`${target.url}/audit/accept`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    return response.status;
  };
  return {
    home,
    target,
    detail,
    post,
    ready: async (): Promise<JsonObject> =>
      (await fetch(`${target.url}/ready`)).json() as Promise<JsonObject>,
    decide: async (decisionId: string, action: object): Promise<JsonObject> =>
      (
        await call(target, 'apply_control_decision', {
          decision_id: decisionId,
          ...CONCERN,
          reason: 'a test',
          confidence: 1,
          ...action,
        })
      ).body.result,
    entries: async (): Promise<number> =>
      (await detail()).orders.open.filter(({ side }: JsonObject) => side === 'buy').length,
    start: async () => {
      const process = home.run();
      await process.says('Server listening at');
      return {
        process,
        stop: async () => {
          process.signal('SIGTERM');
          assert.equal((await process.ended).code, 0);
        },
      };
    },
    /** `fleet trader audit accept`. */
    accept: (...args: string[]) =>
      spawnSync(
        process.execPath,
        [
          ...[
            join(ROOT, 'libs/cli/src/main.ts'),
            'trader',
            'audit',
            'accept',
            '--reach',
            `trader=${target.url}`,
          ],
          ...['--dir', fleetDir, ...args],
        ],
        { encoding: 'utf8', timeout: 60_000 },
      ),
  };
}

test('an older file that was put back is not traded on until an operator accepts it', deadline, async (t) => {
  const users = [
    { user: 'setup', password: 'pw' },
    { user: 'trader', password: 'pw', permissions: busPermissions('trader', { control: true }) },
  ];
  const nats = await startNatsServer(t, { users });
  await setUpStreams({
    connection: { servers: [nats.url], name: 'test', user: 'setup', pass: 'pw' },
    log: silentLog,
  });
  const trader = await openTrader(t, Number(new URL(nats.url).port));
  const file = join(trader.home.stateDir, 'control.db');
  const verify = async (): Promise<JsonObject> =>
    JSON.parse((await trader.home.run('--verify-audit').ended).stdout);

  const first = await trader.start();
  await until('orders', async () => (await trader.entries()) > 0);
  await first.stop();
  copyFileSync(file, `${file}.backup`);
  const second = await trader.start();
  const lost = { action: 'switch', target_strategy_id: TREND, override: true };
  for (const [id, action] of Object.entries({ lost, more: { action: 'pause' }, again: { action: 'resume' } }))
    assert.equal((await trader.decide(id, action)).status, 'applied');
  await second.stop();
  assert.equal((await verify()).ok, true);
  copyFileSync(`${file}.backup`, file);

  const third = await trader.start();
  const ready = await trader.ready();
  assert.deepEqual([ready.status, Object(Object(ready.dependencies).audit).state], ['degraded', 'degraded']);
  assert.match(JSON.stringify(ready), /an older file was put back/);
  const { bars } = (await trader.detail()).execution;
  await until('ten bars', async () => (await trader.detail()).execution.bars > bars + 10);
  const { control, execution } = await trader.detail();
  assert.deepEqual([await trader.entries(), control.execution, execution.state], [0, 'degraded', 'degraded']);
  assert.match(execution.reasons.join(), /^audit: NATS holds the head/);
  for (const [id, action] of Object.entries({ lost, again: { action: 'resume', override: true } })) {
    const { status, errors } = await trader.decide(id, action);
    assert.deepEqual([status, Object(errors)[0].code], ['rejected', 'execution_degraded']);
    assert.match(Object(errors)[0].message, /the audit is broken, which no override passes/);
  }
  const lower = await trader.decide('lower', { action: 'set_risk_mode', risk_mode: 'cautious' });
  const pause = await trader.decide('pause', { action: 'pause' });
  for (const { status, warnings } of [lower, pause]) {
    assert.equal(status, 'applied');
    assert.ok(JSON.stringify(warnings).includes('allowed_while_degraded'));
  }
  assert.equal((await verify()).ok, false);

  const shown = trader.accept();
  assert.equal(shown.status, 1, shown.stderr);
  const finding = /finding +([0-9a-f]+)/.exec(shown.stdout)?.[1] ?? assert.fail(shown.stdout);
  const body = { finding, reason: 'restored' };
  assert.equal(await trader.post(TOKENS.A2A_HERMES_TOKEN_SWITCH_TO_TRADER, body), 403);
  assert.equal(await trader.post(trader.target.token, { ...body, finding: 'another' }), 400);
  assert.equal(await trader.post(trader.target.token, { ...body, reason: '' }), 400);
  const accepted = trader.accept('--finding', finding, '--reason', 'restored', '--json');
  assert.equal(accepted.status, 0, accepted.stderr + accepted.stdout);

  await until('an audit in order', async () =>
    JSON.stringify(await trader.ready()).includes('"audit":{"state":"ok"}'),
  );
  const resumed = await trader.decide('resume', { action: 'resume' });
  assert.deepEqual([resumed.status, resumed.errors], ['applied', []]);
  await until('orders', async () => (await trader.entries()) > 0);
  await third.stop();
  const report = await verify();
  assert.deepEqual(
    [report.ok, Object(report.published).seq],
    [true, Object(report.head).seq],
    JSON.stringify(report),
  );
  assert.deepEqual(
    Object(report.accepted).map(({ caller, reason }: JsonObject) => [caller, reason]),
    [['operator', 'restored']],
  );
  const fourth = await trader.start();
  assert.equal((await trader.ready()).status, 'ready');
  await fourth.stop();
});

test('a broker that is away at the start stops nothing', deadline, async (t) => {
  const trader = await openTrader(t, 1);
  const { stop } = await trader.start();
  await until('orders', async () => (await trader.entries()) > 0);
  const switched = await trader.decide('one', { action: 'switch', target_strategy_id: TREND });
  assert.deepEqual([switched.status, switched.errors], ['applied', []]);
  await stop();
});
