import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { FleetConfigSchema } from '@hermes-fleet/fleet-config';
import { openLedger } from '@hermes-fleet/ledger';
import { decodeDispatch, encodeDispatch } from '@hermes-fleet/protocol/handshake';
import { systemIds, type TokenEntry } from '@hermes-fleet/protocol/ports';
import { deadline, manualClock, silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import fc from 'fast-check';
import { createSpending, type Spending, type SpendingView } from './spending.ts';

const VERSIONS = ['2.0'];
const DAY_MS = 86_400_000;
const CALLERS = ['operator', 'switch'] as const;
const LIMITS = { operator: 1_000, profile: 1_500 };

const step = fc.oneof(
  fc.record({
    kind: fc.constant('send' as const),
    caller: fc.constantFrom(...CALLERS),
    budget: fc.integer({ min: 1, max: 600 }),
    target: fc.constantFrom('neo', 'trinity'),
  }),
  fc.record({
    kind: fc.constantFrom('call' as const, 'delegate' as const, 'open' as const, 'end' as const),
    task: fc.nat({ max: 9 }),
    /** Percent of what is left of its budget. */
    share: fc.integer({ min: 0, max: 100 }),
  }),
  fc.record({ kind: fc.constant('day' as const) }),
  fc.record({ kind: fc.constant('set' as const), days: fc.constantFrom(-40, -2, -1, 1, 2, 40) }),
);

const config = FleetConfigSchema.parse({
  fleet: {
    server: {
      bind_port: 9220,
      callers: Object.fromEntries(CALLERS.map((name) => [name, { token_env: 'T', scopes: ['dispatch'] }])),
    },
    spending: {
      tokens_per_day: LIMITS.profile,
      callers: { operator: { tokens_per_day: LIMITS.operator } },
    },
  },
});
const entry = (kind: TokenEntry['kind'], inputTokens: number): TokenEntry => ({
  kind,
  inputTokens,
  outputTokens: 0,
  cacheReadTokens: 3,
  cacheWriteTokens: 0,
  source: 'metered',
  model: 'm',
});
const shown = ({ day, profile, callers }: SpendingView): unknown => ({
  day,
  profile,
  callers: [...callers].filter(([, { spent, reserved }]) => spent + reserved > 0).sort(),
});

test(
  'no sequence of tasks passes a ceiling, wherever the clock is set; a restart at any point gives the same figures',
  deadline,
  async (t) => {
    const dir = tempDir(t);
    let files = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const clock = manualClock(Date.parse('2026-05-31T20:00:00Z'));
        files += 1;
        const file = join(dir, `${files}.db`);
        const ledger = openLedger({ file, profile: 'neo', clock, ids: systemIds, log: silentLog });
        try {
          const create = (): Spending =>
            createSpending({
              profile: 'neo',
              config,
              versions: VERSIONS,
              figures: ledger.figures,
              clock,
              defaultBudget: undefined,
              countCache: false,
              ownSpends: true,
            });
          const spending = create();
          ledger.figures.follow({ booked: spending.booked, ended: spending.ended });
          const tasks: { id: string; left: number; isOwn: boolean }[] = [];
          const picked = (at: number) => (tasks.length > 0 ? tasks[at % tasks.length] : undefined);
          for (const each of steps) {
            const before = spending.view();
            if (each.kind === 'day') clock.advance(DAY_MS);
            else if (each.kind === 'set') clock.set(each.days * DAY_MS);
            else if (each.kind === 'send') {
              const id = systemIds.uuid();
              const dispatch = decodeDispatch({
                type: 'TASK_DISPATCH',
                protocol_version: '2.0',
                task: { task_id: id, token_budget: each.budget },
                brief: 'do it',
                routing: { target: each.target },
              });
              await ledger.accept({
                id,
                contextId: id,
                caller: each.caller,
                key: id,
                fingerprint: id,
                message: {},
                dispatch: encodeDispatch(dispatch),
              });
              const caller = { name: each.caller, scopes: new Set<string>() };
              const unmet = spending.unmet(dispatch, caller);
              assert.deepEqual(spending.reserve(id, dispatch, caller), unmet);
              const type = unmet.length > 0 ? 'blocked' : 'queued';
              await ledger.append(id, { type, data: {} });
              if (type === 'queued') tasks.push({ id, left: each.budget, isOwn: each.target === 'neo' });
            } else {
              const task = picked(each.task);
              if (!task) continue;
              if (each.kind === 'end') {
                await ledger.append(task.id, { type: 'done', data: {} });
                tasks.splice(tasks.indexOf(task), 1);
              } else {
                const tokens = Math.floor((task.left * each.share) / 100);
                task.left -= tokens;
                // Only the profile's own executor calls its model; the relay books what peers report.
                if (each.kind === 'delegate' || !task.isOwn)
                  await ledger.tokens.add(task.id, entry('delegated', tokens));
                else {
                  const call = await ledger.tokens.reserve(task.id, entry('own', tokens));
                  if (each.kind === 'call') await ledger.tokens.settle(call, entry('own', tokens));
                }
              }
            }
            const view = spending.view();
            if (before.profile.spent > 0)
              assert.ok(view.day >= before.day, `${view.day} after ${before.day}`);
            if (view.day === before.day) assert.ok(view.profile.spent >= before.profile.spent);
            const { spent = 0, reserved = 0 } = view.callers.get('operator') ?? {};
            assert.ok(spent + reserved <= LIMITS.operator, `operator: ${spent} + ${reserved}`);
            const own = view.profile;
            assert.ok(own.spent + own.reserved <= LIMITS.profile, JSON.stringify(own));
            const restarted = create();
            restarted.restore(ledger);
            assert.deepEqual(shown(restarted.view()), shown(view));
          }
          for (const { id } of tasks) await ledger.append(id, { type: 'done', data: {} });
          const end = spending.view();
          assert.equal(end.profile.reserved, 0);
          assert.deepEqual(
            [...end.callers.values()].map(({ reserved }) => reserved),
            [0, 0],
          );
        } finally {
          await ledger.close();
        }
      }),
      { numRuns: 60 },
    );
  },
);
