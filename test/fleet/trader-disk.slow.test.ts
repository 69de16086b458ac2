import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import { attemptsIn, brokenAt, readControlFile } from '../support/control-file.ts';
import { runProgram, until } from '../support/fleet.ts';
import { decide, GRID, startTrader, strategyOf, TREND } from '../support/lone-trader.ts';

/** No file of the process may grow beyond it, in KiB: its disk is full as far as it can tell. */
const FULL_AT = 1_000;

async function limitFiles(pid: number, bytes: string): Promise<void> {
  const { code, stderr } = await runProgram('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]);
  assert.equal(code, 0, stderr);
}

test('a full disk fails decisions and loses none: a pause is in effect, and the same ids succeed after repair', async (t) => {
  const trader = await startTrader(t, {
    wrapper: ['bash', '-c', `ulimit -S -f ${FULL_AT}; exec "$@"`, 'bash'],
  });
  const ready = async (): Promise<{ status: number; body: string }> => {
    const response = await fetch(`${trader.url}/ready`);
    return { status: response.status, body: await response.text() };
  };
  const state = async (): Promise<string> => (await strategyOf(trader, GRID)).control.run_state;
  // biome-ignore lint/suspicious/noExplicitAny: see RpcReply
  let refused: any;
  for (let at = 0; at < 2_000 && refused === undefined; at += 1) {
    const asked = { action: 'pause', dry_run: true, reason: 'x'.repeat(1_000) };
    const answer = await decide(trader, { ...asked, decision_id: randomUUID() });
    if (answer.status === 'failed') refused = answer;
    else assert.equal(answer.status, 'noop', JSON.stringify(answer));
    // Below the rate that a caller may decide at.
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  assert.equal(refused?.errors[0].code, 'store_unavailable');
  // Smaller writes, such as the store's own probe and the record of a failed attempt, may still fit: now none does.
  await limitFiles(trader.pid(), '1');
  const change = { action: 'switch', target_strategy_id: TREND, decision_id: randomUUID() };
  const pause = { action: 'pause', decision_id: randomUUID() };
  for (const [fields, effect] of [
    [change, undefined],
    [pause, 'held'],
    [pause, 'held'],
    [change, undefined],
  ] as const) {
    const answer = await decide(trader, fields);
    assert.deepEqual([answer.status, answer.errors[0].code], ['failed', 'store_unavailable']);
    assert.deepEqual([answer.result.mode_change, answer.result.effect], ['none', effect]);
  }
  const { status, body } = await ready();
  assert.equal(status, 503);
  assert.match(body, /cannot write/);
  assert.equal(await state(), 'running');

  await limitFiles(trader.pid(), 'unlimited');
  await until(async () => (await ready()).status === 200, 'the trader to be ready again');
  await until(async () => (await state()) === 'paused', 'the pause to be written');
  assert.equal((await decide(trader, change)).status, 'applied');
  assert.equal((await decide(trader, pause)).status, 'noop');
  const { audit } = readControlFile(join(trader.stateDir, 'control.db'));
  assert.equal(brokenAt(audit), undefined);
  for (const [fields, statuses] of [
    [change, ['applied']],
    [pause, ['applied', 'noop']],
  ] as const) {
    const own = attemptsIn(audit).filter(
      ({ record }) => JSON.parse(record.text).decision_id === fields.decision_id,
    );
    assert.deepEqual(
      own.map(({ record }) => record.status),
      statuses,
    );
  }
});
