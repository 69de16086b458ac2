import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Concern, Strategy } from '@hermes-fleet/market';
import type { ControlResponse, RiskMode } from '@hermes-fleet/protocol/control';
import fc from 'fast-check';
import { at, CONCERN, outcomeOf, POLICY, type Request } from '../../testing/control/decisions.ts';
import {
  BITCOIN,
  OTHERS,
  openDecisionService,
  SWITCH,
  type TestDecisionService,
  textOf,
} from '../../testing/control/harness.ts';

const deadline = { timeout: 300_000 };
const MODES = ['normal', 'cautious', 'reduce_only', 'halted'] as const satisfies readonly RiskMode[];
const IDS = ['trend', 'grid', 'off', 'broken', 'foreign', 'others', 'nobody'] as const;
const CONCERNS = [CONCERN, BITCOIN, OTHERS] as const;

/** A draft of a decision; the expected strategy is filled in from the active one when it is sent. */
interface Wish {
  readonly of: 0 | 1 | 2;
  readonly request: Request;
  readonly expects: 'right' | 'wrong' | 'nothing' | 'unguarded';
}

type Step =
  | { readonly type: 'send'; readonly wish: Wish }
  | { readonly type: 'together'; readonly wishes: readonly Wish[] }
  | {
      readonly type: 'repeat';
      readonly pick: number;
      readonly change: 'same' | 'later' | 'other' | 'override';
    }
  | { readonly type: 'degrade'; readonly of: 0 | 1 | 2; readonly on: boolean }
  | { readonly type: 'status'; readonly id: string; readonly status: Strategy['status'] }
  | { readonly type: 'fate'; readonly fate: readonly ('works' | 'fails' | 'throws')[] }
  | { readonly type: 'restart' };

const of = fc.constantFrom(0 as const, 1 as const, 2 as const);
const request: fc.Arbitrary<Request> = fc
  .record({
    action: fc.constantFrom('switch', 'pause', 'resume', 'set_risk_mode'),
    target: fc.constantFrom(...IDS),
    mode: fc.option(fc.constantFrom(...MODES), { nil: undefined }),
    confidence: fc.constantFrom(0, 0.49, 0.5, 1),
    override: fc.boolean(),
    dryRun: fc.boolean(),
    age: fc.constantFrom(undefined, 0, -300, -301, 60, 61),
  })
  .map(({ action, target, mode, age, ...rest }) => ({
    action,
    ...rest,
    ...(action === 'switch' && { targetStrategyId: target }),
    ...(action === 'switch' && mode !== undefined && { riskMode: mode }),
    ...(action === 'set_risk_mode' && { riskMode: mode ?? 'normal' }),
    ...(age !== undefined && at(age)),
  }));
const wish: fc.Arbitrary<Wish> = fc.record({
  of,
  request,
  expects: fc.constantFrom('right', 'right', 'right', 'wrong', 'nothing', 'unguarded'),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 10, arbitrary: fc.record({ type: fc.constant('send'), wish }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('together'),
      wishes: fc.array(wish, { minLength: 2, maxLength: 8 }),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('repeat'),
      pick: fc.nat(),
      change: fc.constantFrom('same', 'later', 'other', 'override'),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('degrade'), of, on: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('status'),
      id: fc.constantFrom('trend', 'grid', 'off', 'broken', 'foreign', 'others'),
      status: fc.constantFrom('enabled', 'enabled', 'disabled', 'faulted'),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('fate'),
      fate: fc.array(fc.constantFrom('works', 'fails', 'throws'), { minLength: 1, maxLength: 4 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('restart') }) },
);

function requestOf(test: TestDecisionService, { of, request, expects }: Wish): Request {
  const { id, accountId, marketSymbol } = CONCERNS[of];
  const active = test.concern(id)?.activeStrategyId ?? null;
  const belief = { right: active, wrong: 'somebody else', nothing: null, unguarded: undefined }[expects];
  return { ...request, concernId: id, accountId, marketSymbol, expectedActiveStrategyId: belief };
}

/** Invariants that hold at all times. */
function assertOrdered(test: TestDecisionService): void {
  for (const { activeStrategyId, accountId, marketSymbol } of test.store.concerns()) {
    if (activeStrategyId === null) continue;
    const active = test.store.strategy(activeStrategyId);
    assert.deepEqual([active?.accountId, active?.marketSymbol], [accountId, marketSymbol]);
  }
  const listed = test.decisions.list(SWITCH, '{"status":"active"}')['strategies'];
  assert.ok(Array.isArray(listed));
  const perMarket = listed.map((each) => JSON.stringify(each)).map((text) => JSON.parse(text).market_symbol);
  assert.equal(new Set(perMarket).size, perMarket.length);
}

const states = (test: TestDecisionService): Concern[] => test.store.concerns();

/** The answer matches the new state of the concern. */
function assertTold(request: Request, response: ControlResponse, before: Concern, after: Concern): void {
  const { rev: _before, ...was } = before;
  const { rev: _after, ...is } = after;
  if (response.status !== 'applied') assert.deepEqual(is, was);
  if (response.status === 'rejected' || response.status === 'noop') assert.equal(after.rev, before.rev);
  if (response.status === 'failed') assert.equal(after.rev, before.rev + 2);
  if (response.status === 'applied') {
    assert.equal(after.rev, before.rev + 1);
    assert.notDeepEqual(is, was);
    if (request.action === 'switch') assert.equal(is.activeStrategyId, request.targetStrategyId);
    else assert.equal(is.activeStrategyId, was.activeStrategyId);
    if (request.action === 'pause') assert.equal(is.runState, 'paused');
    else assert.equal(is.runState, request.action === 'resume' ? 'running' : was.runState);
    assert.equal(is.riskMode, request.riskMode ?? was.riskMode);
  }
  assert.deepEqual(
    [response.fromStrategyId, response.ok],
    [before.activeStrategyId, response.status === 'applied' || response.status === 'noop'],
  );
}

/** True if the request cannot raise risk. */
function isSafer({ action, riskMode = 'normal' }: Request, before: Concern): boolean {
  if (action === 'pause') return true;
  return action === 'set_risk_mode' && MODES.indexOf(riskMode) >= MODES.indexOf(before.riskMode);
}

async function sendOne(
  test: TestDecisionService,
  wish: Wish,
  sent: Map<string, ControlResponse>,
): Promise<void> {
  const request = requestOf(test, wish);
  const before = test.concern(CONCERNS[wish.of].id);
  const text = textOf(request);
  const { response } = await test.send(text);
  const after = test.concern(CONCERNS[wish.of].id);
  assert.ok(before && after);
  assertTold(request, response, before, after);
  const codes = response.errors.map(({ code }) => code);
  if (isSafer(request, before)) {
    assert.ok(!codes.includes('execution_degraded'), text);
    assert.ok(!codes.includes('confidence_too_low'), text);
  }
  if (request.override)
    for (const code of [
      'execution_degraded',
      'confidence_too_low',
      'stale_request',
      'expected_active_mismatch',
    ] as const)
      assert.ok(!codes.includes(code), text);
  if (request.dryRun) assert.deepEqual(after, before);
  else sent.set(text, response);
}

async function repeatOne(
  test: TestDecisionService,
  { pick, change }: Extract<Step, { type: 'repeat' }>,
  sent: Map<string, ControlResponse>,
): Promise<void> {
  const texts = [...sent.keys()];
  const text = texts[pick % Math.max(1, texts.length)];
  const first = text === undefined ? undefined : sent.get(text);
  if (text === undefined || first === undefined) return;
  const payload = JSON.parse(text);
  const variants = {
    same: text,
    later: JSON.stringify({ ...payload, requested_at: new Date(test.clock.now()).toISOString() }),
    other: JSON.stringify({ ...payload, reason: 'another reason' }),
    override: JSON.stringify({ ...payload, override: true, reason: 'another reason' }),
  };
  const before = states(test);
  const audited = test.store.head().seq;
  const { response } = await test.send(variants[change]);
  if (change === 'other' || change === 'override') {
    assert.equal(outcomeOf(response), 'rejected decision_id_conflict');
    assert.deepEqual(states(test), before);
    return;
  }
  if (first.status === 'failed') {
    sent.set(text, response);
    return;
  }
  assert.deepEqual(states(test), before);
  assert.ok(test.store.head().seq > audited);
  if (first.status === 'rejected') assert.deepEqual(response, first);
  else {
    assert.equal(response.status, 'noop');
    assert.equal(response.warnings.at(-1)?.code, 'duplicate_decision');
    assert.deepEqual({ ...response, status: first.status, warnings: first.warnings }, first);
  }
}

test(
  'any sequence of decisions leaves a concern with one active strategy of its own, as its audit records',
  deadline,
  async (t) => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 30 }), async (steps) => {
        let test = await openDecisionService(t, { policy: { ...POLICY, minConfidence: 0.5 } });
        const sent = new Map<string, ControlResponse>();
        for (const each of steps) {
          if (each.type === 'send') await sendOne(test, each.wish, sent);
          if (each.type === 'repeat') await repeatOne(test, each, sent);
          if (each.type === 'together') {
            const requests = each.wishes.map((wish) => textOf(requestOf(test, wish)));
            await Promise.all([...requests, ...requests].map((text) => test.send(text)));
          }
          if (each.type === 'degrade') {
            const { id } = CONCERNS[each.of];
            if (each.on) test.runtime.degraded.add(id);
            else test.runtime.degraded.delete(id);
          }
          if (each.type === 'status') await test.store.setStatus(each.id, each.status, 'a test says so');
          if (each.type === 'fate') test.runtime.fate.push(...each.fate);
          if (each.type === 'restart') test = await test.restart();
          assertOrdered(test);
        }
        test.runtime.fate.length = 0;
        await test.pass(5000);
        await test.assertSound();
        await test.store.close();
      }),
      { numRuns: 60, interruptAfterTimeLimit: 120_000 },
    );
  },
);
