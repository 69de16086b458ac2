import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { test } from 'node:test';
import { attemptsIn, brokenAt, readControlFile } from '../support/control-file.ts';
import { runProgram, until } from '../support/fleet.ts';
import { decide, GRID, startTrader, strategyOf } from '../support/lone-trader.ts';

/** No file of the process may grow beyond it, in KiB: its disk is full as far as it can tell. */
const FULL_AT = 1_000;

async function limitFiles(pid: number, bytes: string): Promise<void> {
  const { code, stderr } = await runProgram('prlimit', ['--pid', String(pid), `--fsize=${bytes}:unlimited`]);
  assert.equal(code, 0, stderr);
}

test('a full disk fails decisions and loses none: the old state goes on, and the same id succeeds after repair', async (t) => {
  const trader = await startTrader(t, {
    wrapper: ['bash', '-c', `ulimit -S -f ${FULL_AT}; exec "$@"`, 'bash'],
  });
  const ready = async (): Promise<{ status: number; body: string }> => {
    const response = await fetch(`${trader.url}/ready`);
    return { status: response.status, body: await response.text() };
  };
  const reason = 'x'.repeat(1_000);
  // biome-ignore lint/suspicious/noExplicitAny: see RpcReply
  let refused: any;
  let fields: Record<string, unknown> = {};
  let isPaused = false;
  for (let at = 0; at < 2_000 && refused === undefined; at += 1) {
    fields = { decision_id: randomUUID(), action: isPaused ? 'resume' : 'pause', reason };
    const answer = await decide(trader, fields);
    if (answer.status === 'failed') refused = answer;
    else {
      assert.equal(answer.status, 'applied', JSON.stringify(answer));
      isPaused = !isPaused;
    }
    // Below the rate that a caller may decide at.
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  assert.equal(refused?.errors[0].code, 'store_unavailable');
  // Smaller writes, such as the store's own probe and the record of a failed attempt, may still fit: now none does.
  await limitFiles(trader.pid(), '1');
  fields = { ...fields, decision_id: randomUUID() };
  refused = await decide(trader, fields);
  assert.deepEqual([refused.status, refused.errors[0].code], ['failed', 'store_unavailable']);
  assert.equal(refused.result.mode_change, 'none');
  const { status, body } = await ready();
  assert.equal(status, 503);
  assert.match(body, /cannot write/);
  const before = isPaused ? 'paused' : 'running';
  assert.equal((await strategyOf(trader, GRID)).control.run_state, before);
  assert.equal((await decide(trader, fields)).status, 'failed');

  await limitFiles(trader.pid(), 'unlimited');
  await until(async () => (await ready()).status === 200, 'the trader to be ready again');
  assert.equal((await decide(trader, fields)).status, 'applied');
  assert.notEqual((await strategyOf(trader, GRID)).control.run_state, before);
  const { audit } = readControlFile(join(trader.stateDir, 'control.db'));
  assert.equal(brokenAt(audit), undefined);
  const own = attemptsIn(audit).filter(
    ({ record }) => JSON.parse(record.text).decision_id === fields.decision_id,
  );
  assert.deepEqual(
    own.map(({ record }) => record.status),
    ['applied'],
  );
});
