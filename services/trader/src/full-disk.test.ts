import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonObject } from '@hermes-fleet/protocol';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { freeOffset } from '../../../test/support/ports.ts';
import { call, type Target } from '../../../test/support/rpc.ts';
import { TOKENS, type TraderHome, traderHome } from '../testing/trader-process.ts';

const CONCERN = { account_id: 'qndd8o9ppop6', market_symbol: 'xrpusd', concern_id: 'qndd8o9ppop6:xrpusd' };
const GRID = '9cf29124-65a7-4950-ac18-65f938e0239b';
const UNTIL_MS = 60_000;

type After = { after(fn: () => Promise<void> | void): void };

/** A disk of 16 MB, or why there is none: a mount needs root. */
function smallDisk(t: After): { readonly dir: string; fill(): void; free(): void } | string {
  const parent = tempDir(t, { closeFirst: () => void spawnSync('umount', ['--lazy', dir]) });
  const dir = join(parent, 'disk');
  mkdirSync(dir);
  const { status, stderr, error } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', dir]);
  if (status !== 0) return `a disk cannot be mounted: ${error?.message ?? String(stderr).trim()}`;
  const file = join(dir, 'filler');
  return {
    dir,
    fill: () => {
      const handle = openSync(file, 'a');
      try {
        for (;;) writeSync(handle, Buffer.alloc(4096));
      } catch (error) {
        assert.match(String(error), /ENOSPC/);
      } finally {
        closeSync(handle);
      }
    },
    free: () => rmSync(file),
  };
}

let sent = 0;
async function decide(target: Target, action: object): Promise<JsonObject> {
  sent += 1;
  const asked = { decision_id: `full-${sent}`, ...CONCERN, reason: 'a test', confidence: 1, ...action };
  return (await call(target, 'apply_control_decision', asked)).body.result;
}

async function until(what: string, isTrue: () => Promise<boolean>): Promise<void> {
  const giveUpAt = Date.now() + UNTIL_MS;
  while (!(await isTrue())) {
    assert.ok(Date.now() < giveUpAt, `${what} did not happen within ${UNTIL_MS} ms`);
    await sleep(50);
  }
}

async function start(home: TraderHome) {
  const process = home.run();
  await process.says('Server listening at');
  return process;
}

test('a trader on a full disk opens nothing more, holds what lowers risk, and comes up held', async (t) => {
  const disk = smallDisk(t);
  if (typeof disk === 'string') return t.skip(disk);
  const port = 9220 + (await freeOffset());
  const target = { url: `http://127.0.0.1:${port}`, token: TOKENS.A2A_HERMES_TOKEN_OPERATOR };
  const home = traderHome(t, { port, env: { HERMES_STATE_DIR: disk.dir } });
  // A wild market: the grid has fills with almost every bar.
  home.edit('trader.yaml', (text) =>
    text.replace('volatility_bps: 20', 'volatility_bps: 300').replace(/interval_s: 5$/m, 'interval_s: 0.1'),
  );
  const detail = async () => (await call(target, 'get_strategy', { strategy_id: GRID })).body.result;
  const ready = async () => (await fetch(`${target.url}/ready`)).status;
  const entries = async (): Promise<string[]> =>
    (await detail()).orders.open
      .filter(({ side }: JsonObject) => side === 'buy')
      .map(({ id }: JsonObject) => id);

  const first = await start(home);
  await until('a fill', async () => (await detail()).execution.fills > 0);
  assert.equal(await ready(), 200);

  disk.fill();
  await until('the trader that is not ready', async () => (await ready()) === 503);
  await until('the end of entries', async () => (await entries()).length === 0);
  const held = Number((await detail()).position.quantity);
  const { bars } = (await detail()).execution;
  const halted = await decide(target, { action: 'set_risk_mode', risk_mode: 'halted' });
  assert.deepEqual([halted.status, Object(halted.result).effect], ['failed', 'held'], JSON.stringify(halted));
  const paused = await decide(target, { action: 'pause' });
  assert.deepEqual([paused.status, Object(paused.result).effect], ['failed', 'held'], JSON.stringify(paused));
  assert.equal((await decide(target, { action: 'resume' })).status, 'failed');
  await until('twenty bars', async () => (await detail()).execution.bars > bars + 20);
  const after = await detail();
  assert.ok(Number(after.position.quantity) <= held, 'a position that grows on a full disk');
  assert.deepEqual(after.orders.open, []);
  assert.equal(await ready(), 503);

  first.signal('SIGKILL');
  await first.ended;
  disk.free();
  const second = await start(home);
  await second.says('it comes up paused');
  const { control } = await detail();
  assert.deepEqual([control.run_state, control.risk_mode], ['paused', 'halted']);
  await until('the trader that is ready', async () => (await ready()) === 200);
  const resumed = await decide(target, { action: 'resume' });
  assert.deepEqual([resumed.status, resumed.errors], ['applied', []]);
  second.signal('SIGTERM');
  assert.equal((await second.ended).code, 0);
  const verified = await home.run('--verify-audit').ended;
  assert.equal(JSON.parse(verified.stdout).ok, true, verified.stdout);
});
