import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { FleetConfigSchema } from '@hermes-fleet/fleet-config';
import { openLedger } from '@hermes-fleet/ledger';
import { decodeDispatch } from '@hermes-fleet/protocol/handshake';
import { systemIds } from '@hermes-fleet/protocol/ports';
import { manualClock, silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { createSpending } from './spending.ts';

const DAY_MS = 86_400_000;
const HOUR_MS = DAY_MS / 24;

const config = FleetConfigSchema.parse({
  fleet: {
    server: { bind_port: 9220, callers: { switch: { token_env: 'T', scopes: ['dispatch'] } } },
    spending: { tokens_per_day: 1_000, callers: {} },
  },
});
const caller = { name: 'switch', scopes: new Set<string>() };
const dispatch = decodeDispatch({
  type: 'TASK_DISPATCH',
  protocol_version: '2.0',
  task: { task_id: 'one', token_budget: 600 },
  brief: 'do it',
  routing: { target: 'neo' },
});

test('a clock that goes back or forth opens neither an earlier day nor the same day again, over a restart too', async (t) => {
  const clock = manualClock(Date.parse('2026-05-30T10:00:00Z'));
  const file = join(tempDir(t, { closeFirst: () => ledger.close() }), 'ledger.db');
  const open = () => openLedger({ file, profile: 'neo', clock, ids: systemIds, log: silentLog });
  const seen: string[] = [];
  const create = () => {
    const spending = createSpending({
      profile: 'neo',
      config,
      versions: ['2.0'],
      figures: ledger.figures,
      clock,
      onClockBehind: (clockDay, day) => seen.push(`${clockDay} before ${day}`),
      defaultBudget: undefined,
      countCache: false,
      ownSpends: true,
    });
    ledger.figures.follow({ booked: spending.booked, ended: spending.ended });
    return spending;
  };
  let ledger = open();
  let spending = create();
  const { task } = await ledger.accept({
    id: systemIds.uuid(),
    contextId: 'c',
    caller: 'switch',
    key: 'k',
    fingerprint: 'f',
    message: {},
    dispatch: {},
  });
  const spend = (tokens: number) =>
    ledger.tokens.add(task.id, {
      kind: 'own',
      inputTokens: tokens,
      outputTokens: 0,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      source: 'metered',
      model: 'm',
    });
  const refusal = () => spending.unmet(dispatch, caller)[0]?.detail;

  await spend(100);
  assert.equal(refusal(), undefined);
  clock.advance(DAY_MS);
  await spend(500);
  assert.match(refusal() ?? '', /500 are left .* it frees at 2026-06-01T00:00:00\.000Z$/);
  clock.set(-DAY_MS);
  const behind =
    /500 are left .* it frees at 2026-06-01T00:00:00\.000Z, or when the profile has run for 24 hours with its clock before 2026-05-31, .*\(it is on 2026-05-30: set it/;
  assert.match(refusal() ?? '', behind);
  await spend(100);
  await ledger.close();
  ledger = open();
  spending = create();
  assert.match(refusal() ?? '', /400 are left .*it is on 2026-05-30/);
  assert.deepEqual(seen, ['2026-05-30 before 2026-05-31', '2026-05-30 before 2026-05-31']);
  assert.equal(spending.view().clockDay, '2026-05-30');
  clock.set(DAY_MS);
  assert.match(refusal() ?? '', /400 are left .* it frees at 2026-06-01T00:00:00\.000Z$/);
  assert.equal(spending.view().clockDay, undefined);

  // A day far ahead, on which this process spends before it looks at the ceilings.
  clock.set(3_650 * DAY_MS);
  await spend(900);
  clock.set(-3_650 * DAY_MS);
  assert.match(refusal() ?? '', /100 are left .*frees at 2036-/);
  for (let hour = 0; hour <= 24; hour += 1) {
    await ledger.prune(clock.now(), 10);
    clock.advance(HOUR_MS);
  }
  assert.equal(refusal(), undefined);
  assert.deepEqual([spending.view().day, spending.view().profile.spent], ['2026-06-01', 0]);
});
