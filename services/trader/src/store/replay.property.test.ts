import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Concern } from '@hermes-fleet/market';
import type { JsonObject } from '@hermes-fleet/protocol';
import { RiskMode } from '@hermes-fleet/protocol/control';
import { deadline } from '@hermes-fleet/protocol/testing';
import fc from 'fast-check';
import {
  applyOf,
  attemptOf,
  CONCERN,
  decided,
  failedFrom,
  GRID,
  OTHER,
  OTHERS_GRID,
  openTestStore,
  payload,
  refusedFrom,
  SEED,
  SHIELD,
  STRATEGIES,
  TREND,
} from '../../testing/store/harness.ts';
import type { ControlStore } from '../control/control-store.ts';
import { replay } from './replay.ts';

const decision = fc
  .record({
    id: fc.nat({ max: 9 }),
    concern: fc.constantFrom(CONCERN, CONCERN, OTHER, { ...CONCERN, id: 'none' }),
    action: fc.constantFrom('switch', 'pause', 'resume', 'set_risk_mode'),
    target: fc.constantFrom(GRID, TREND, SHIELD, OTHERS_GRID.id, 'none'),
    risk: fc.option(fc.constantFrom(...RiskMode.options), { nil: undefined }),
    expected: fc.option(fc.constantFrom(GRID, TREND, null), { nil: undefined, freq: 4 }),
    dryRun: fc.boolean(),
    override: fc.boolean(),
  })
  .map((o): JsonObject => {
    const risk = o.action === 'set_risk_mode' ? (o.risk ?? 'cautious') : o.risk;
    const hasRisk = risk !== undefined && (o.action === 'switch' || o.action === 'set_risk_mode');
    return payload({
      decision_id: `d${o.id}`,
      concern_id: o.concern.id,
      market_symbol: o.concern.marketSymbol,
      action: o.action,
      dry_run: o.dryRun && o.id % 2 === 0,
      override: o.override,
      ...(o.action === 'switch' && { target_strategy_id: o.target }),
      ...(o.expected !== undefined && { expected_active_strategy_id: o.expected }),
      ...(hasRisk && { risk_mode: risk }),
    });
  });

type Step =
  | { readonly kind: 'decide'; readonly payload: JsonObject; readonly ends: 'settle' | 'fail' | 'stay' }
  | { readonly kind: 'refuse'; readonly text: string }
  | { readonly kind: 'status'; readonly id: string; readonly status: 'enabled' | 'faulted' }
  | { readonly kind: 'seed'; readonly withOther: boolean }
  | { readonly kind: 'save' }
  | { readonly kind: 'reopen' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('decide' as const),
      payload: decision,
      ends: fc.constantFrom('settle' as const, 'fail' as const, 'stay' as const),
    }),
  },
  fc.record({ kind: fc.constant('refuse' as const), text: fc.string({ unit: 'binary' }) }),
  fc.record({
    kind: fc.constant('status' as const),
    id: fc.constantFrom(GRID, TREND, SHIELD),
    status: fc.constantFrom('enabled' as const, 'faulted' as const),
  }),
  fc.record({ kind: fc.constant('seed' as const), withOther: fc.boolean() }),
  fc.record({ kind: fc.constant('save' as const) }),
  fc.record({ kind: fc.constant('reopen' as const) }),
);

async function decideAndEnd(store: ControlStore, { payload: wish, ends }: Extract<Step, { kind: 'decide' }>) {
  const before = store.concern(String(wish['concern_id']));
  const written = await decided(store, wish);
  const { response, next } = written.verdict;
  if (next === undefined || before === undefined || ends === 'stay') return;
  if (ends === 'settle') void store.settle(applyOf(written), response);
  else await store.compensate(applyOf(written), before, failedFrom(response));
}

const whole = async (store: ControlStore): Promise<void> => {
  const replayed = replay(store.audit(0, 10_000));
  const there = new Map<string, Concern>(store.concerns().map((concern) => [concern.id, concern]));
  assert.deepEqual(replayed, there);
  // Deferred outcomes may be written during the walk.
  const { ok, broken } = await store.verify({ known: store.head() });
  assert.deepEqual([ok, broken], [true, undefined]);
};

test('for any commands the audit replays to the concerns, and its chain is intact', deadline, async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 30 }), async (steps) => {
      const { store: first, reopen, clock } = openTestStore(t);
      let store = first;
      await store.seed(...SEED);
      for (const now of steps) {
        if (now.kind === 'decide') await decideAndEnd(store, now);
        else if (now.kind === 'status') await store.setStatus(now.id, now.status, 'a test');
        else if (now.kind === 'save') void store.saveEngine(CONCERN.id, { at: clock.now() }, []);
        else if (now.kind === 'reopen') store = await reopen();
        else if (now.kind === 'seed')
          await store.seed([...STRATEGIES, OTHERS_GRID], now.withOther ? [CONCERN, OTHER] : [CONCERN]);
        else {
          const { response } = (await decided(store, payload({ dry_run: true }))).verdict;
          await store.refuse(attemptOf(now.text), refusedFrom(response));
        }
        clock.advance(7);
      }
      await whole(store);
      await whole(await reopen());
      await (await reopen()).close();
    }),
    { numRuns: 60, ...(process.env.SEED && { seed: Number(process.env.SEED) }) },
  );
});

test('an inconsistent audit is not replayed', deadline, async (t) => {
  const { store } = openTestStore(t);
  await store.seed(...SEED);
  await decided(store, payload());
  await decided(store, payload({ action: 'resume' }));
  const [seed, pause, resume] = store.audit(0, 10);
  assert.ok(seed && pause && resume);
  const impossible = (why: RegExp, ...records: (typeof seed)[]): void =>
    assert.throws(() => replay(records), { code: 'INTERNAL', message: why });
  impossible(/record 2 cannot be replayed: its concern does not exist/, pause);
  impossible(/record 3 cannot be replayed: it changed nothing/, seed, resume);
  impossible(/its payload is not a decision/, seed, { ...pause, record: { ...pause.record, text: '{}' } });
  impossible(/its payload is not a decision/, seed, { ...pause, record: { ...pause.record, text: null } });
  impossible(/it is the outcome of no open apply/, seed, { ...pause, record: { kind: 'outcome', of: 9 } });
  impossible(/its kind is unknown/, { ...seed, record: { kind: 'note' } });
  impossible(/one of its concerns is incomplete/, { ...seed, record: { kind: 'seed', concerns: [1] } });
  impossible(/one of its concerns is incomplete/, {
    ...seed,
    record: { kind: 'seed', concerns: [{ concern_id: 'a' }] },
  });
  assert.deepEqual(replay([]), new Map());
});

test('replay uses the decisions, not the stored state', deadline, async (t) => {
  const { store } = openTestStore(t);
  await store.seed(...SEED);
  await decided(store, payload());
  const forged = store.audit(0, 10).map(({ record, ...rest }) => ({
    ...rest,
    record: { ...record, change: { concern_id: CONCERN.id, run_state: 'running' } },
  }));
  assert.equal(replay(forged).get(CONCERN.id)?.runState, 'paused');
});
