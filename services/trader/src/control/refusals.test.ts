import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ControlCode, ControlResponse } from '@hermes-fleet/protocol/control';
import { deadline } from '@hermes-fleet/protocol/testing';
import { decisionOf, outcomeOf, to } from '../../testing/control/decisions.ts';
import {
  NOBODY,
  OPERATOR,
  openDecisionService,
  payloadOf,
  STRANGER,
  SWITCH,
  textOf,
} from '../../testing/control/harness.ts';
import { type Malformed, malformedPayloads } from '../../testing/control/malformed.ts';

const PAYLOAD = payloadOf(decisionOf({}));
const TEXT = JSON.stringify(PAYLOAD);
/** Texts that no transport can pass on: each of them refuses what is not JSON itself. */
const NOT_JSON: readonly Malformed[] = [
  ['nothing', '', 'invalid_payload'],
  ['half of it', TEXT.slice(0, 40), 'invalid_payload'],
  ['ten thousand brackets', '['.repeat(10_000), 'invalid_payload'],
  ['a raw half of a surrogate pair', TEXT.replace('"r"', '"\ud800"'), 'invalid_payload', 'reason'],
];

const unreached = ({ validation: { schemaValid: _schema, ...rest } }: ControlResponse): boolean =>
  Object.values(rest).every((value) => value === null);

test(
  'malformed payloads are rejected and audited, change nothing, and consume no id',
  deadline,
  async (t) => {
    const test = await openDecisionService(t, { limits: { perSecond: 1, burst: 1_000, keptForPause: 1 } });
    const before = test.store.concerns();
    const malformed = [...malformedPayloads(PAYLOAD), ...NOT_JSON];
    for (const [name, text, code, field, mentions = ''] of malformed) {
      const { response, httpStatus } = await test.send(text);
      assert.deepEqual([response.status, httpStatus], ['rejected', 200], name);
      const isTold = response.errors.some(
        (error) => error.code === code && error.field === field && error.message.includes(mentions),
      );
      assert.ok(isTold, `${name}: ${JSON.stringify(response.errors)}`);
      assert.equal(response.validation.schemaValid, false, name);
      assert.ok(unreached(response), name);
      assert.deepEqual([response.fromStrategyId, response.riskMode, response.appliedAt], [null, null, null]);
      assert.deepEqual(test.store.concerns(), before, name);
      assert.equal(test.runtime.calls, before.length, name);
    }
    assert.deepEqual(test.kinds(), ['seed', ...malformed.map(() => 'attempt rejected')]);
    assert.equal((await test.send(TEXT)).response.status, 'applied');
    await test.assertSound();
  },
);

test('the answer repeats the readable fields of a malformed payload', deadline, async (t) => {
  const test = await openDecisionService(t);
  const { response } = await test.send(TEXT.replace('0.8', '"0.8"'));
  assert.deepEqual([response.decisionId, response.concernId, response.action], ['d1', 'acc:xrpusd', 'pause']);
  const long = await test.send(TEXT.replace('d1', 'x'.repeat(201)));
  assert.equal(long.response.decisionId, null);
});

test('without the scope every payload is forbidden and audited', deadline, async (t) => {
  const test = await openDecisionService(t);
  for (const text of [TEXT, 'nonsense', '{"override": "true"}']) {
    const { response, httpStatus } = await test.send(text, { caller: NOBODY });
    assert.equal(outcomeOf(response), 'rejected forbidden');
    assert.equal(httpStatus, 403);
    assert.equal(response.validation.schemaValid, null);
    assert.ok(unreached(response));
  }
  assert.deepEqual(test.kinds(), ['seed', ...Array(3).fill('attempt rejected')]);
  assert.equal(test.audit()[1]?.record['caller'], 'nobody');
});

test(
  'accounts of other callers are forbidden, and their concerns and strategies do not exist',
  deadline,
  async (t) => {
    const test = await openDecisionService(t);
    const foreign = await test.send(TEXT, { caller: STRANGER });
    assert.equal(outcomeOf(foreign.response), 'rejected forbidden');
    assert.equal(foreign.httpStatus, 403);
    assert.equal(foreign.response.errors[0]?.field, 'account_id');
    assert.deepEqual([foreign.response.validation.schemaValid, unreached(foreign.response)], [true, true]);

    const hidden = { caller: STRANGER };
    assert.equal(await test.ask({ accountId: 'other' }, hidden), 'rejected unknown_concern');
    const own = { accountId: 'other', concernId: 'other:xrpusd', expectedActiveStrategyId: 'others' };
    assert.equal(await test.ask({ ...own, ...to('grid') }, hidden), 'rejected target_not_found');
    assert.equal(await test.ask({ ...own, ...to('nobody') }, hidden), 'rejected target_not_found');
    assert.equal(await test.ask(own, hidden), 'applied');
    assert.equal(await test.ask({ ...to('others') }, { caller: OPERATOR }), 'rejected target_scope_mismatch');
    await test.assertSound();
  },
);

test('override needs its scope, even where it has no effect', deadline, async (t) => {
  const test = await openDecisionService(t);
  for (const request of [{}, to('nobody'), { dryRun: true }]) {
    const { response, httpStatus } = await test.send(textOf({ ...request, override: true }), {
      caller: SWITCH,
    });
    assert.equal(outcomeOf(response), 'rejected forbidden');
    assert.deepEqual([httpStatus, response.errors[0]?.field], [403, 'override']);
  }
  assert.equal(await test.ask({}, { caller: SWITCH }), 'applied');
});

test('payloads above 16 kB are neither read nor recorded', deadline, async (t) => {
  const test = await openDecisionService(t);
  const fits = `${TEXT}${' '.repeat(16_384 - TEXT.length)}`;
  assert.equal((await test.send(fits)).response.status, 'applied');
  const wide = textOf({}).replace('"r"', `"${'é'.repeat(8_192)}"`);
  for (const text of [`${fits} `, wide, textOf({ reason: 'x'.repeat(1_000_000) })]) {
    const { response, httpStatus } = await test.send(text);
    assert.equal(outcomeOf(response), 'rejected payload_too_large');
    assert.equal(httpStatus, 413);
    assert.deepEqual([response.decisionId, unreached(response)], [null, true]);
  }
  const refused = test.audit().filter(({ record }) => record['status'] === 'rejected');
  assert.deepEqual(
    refused.map(({ record }) => record['text']),
    [null, null, null],
  );
});

test('a request that a transport refused is audited with its answer', deadline, async (t) => {
  const test = await openDecisionService(t);
  const refuse = (text: string | null, code: ControlCode, message: string) =>
    test.decisions.refuse({ transport: 'a2a', caller: SWITCH, text }, code, message);
  const torn = await refuse('{"jsonrpc": ', 'invalid_payload', 'the request is not JSON');
  assert.deepEqual([torn.httpStatus, torn.response.validation.schemaValid], [200, false]);
  assert.deepEqual(torn.response.errors, [{ code: 'invalid_payload', message: 'the request is not JSON' }]);
  const large = await refuse(null, 'payload_too_large', 'the body is larger than 16 kB');
  assert.deepEqual([large.httpStatus, large.response.validation.schemaValid], [413, null]);
  const known = await refuse(TEXT, 'forbidden', 'the token lacks a scope');
  assert.deepEqual([known.httpStatus, known.response.decisionId], [403, 'd1']);
  assert.deepEqual(test.kinds(), ['seed', ...Array(3).fill('attempt rejected')]);
  assert.deepEqual(test.reported.slice(-2), ['pause rejected', 'forbidden']);
  assert.deepEqual(
    test
      .audit()
      .slice(1)
      .map(({ record }) => record['text']),
    ['{"jsonrpc": ', null, TEXT],
  );
});

test(
  'above the rate: 429 with a retry time, audited; other callers and concerns are not affected',
  deadline,
  async (t) => {
    const test = await openDecisionService(t, { limits: { perSecond: 2, burst: 5, keptForPause: 2 } });
    const rate = { action: 'set_risk_mode', riskMode: 'normal' } as const;
    const outcomes: string[] = [];
    for (let count = 0; count < 4; count += 1) outcomes.push(await test.ask(rate));
    assert.deepEqual(outcomes, ['noop', 'noop', 'noop', 'rejected rate_limited']);
    const { response, httpStatus, retryAfterS } = await test.send(textOf(rate));
    assert.deepEqual([httpStatus, retryAfterS, response.validation.schemaValid], [429, 1, null]);
    assert.ok(unreached(response));

    assert.equal(await test.ask({ dryRun: true }), 'rejected rate_limited');
    assert.equal(await test.ask({}), 'applied');
    assert.equal(await test.ask({}), 'noop');
    assert.equal(await test.ask({}), 'rejected rate_limited');

    assert.equal(await test.ask(rate, { caller: SWITCH }), 'noop');
    const other = {
      ...rate,
      concernId: 'acc:btcusd',
      marketSymbol: 'btcusd',
      expectedActiveStrategyId: 'foreign',
    };
    assert.equal(await test.ask(other), 'noop');
    test.clock.advance(1500);
    assert.equal(await test.ask(rate), 'noop');
    assert.equal(test.kinds().filter((kind) => kind === 'attempt rejected').length, 4);
  },
);

test('unknown concerns and unreadable payloads share one limit', deadline, async (t) => {
  const test = await openDecisionService(t, { limits: { perSecond: 1, burst: 3, keptForPause: 0 } });
  const outcomes = [await test.ask({ concernId: 'a' }), await test.ask({ concernId: 'b' })];
  outcomes.push(outcomeOf((await test.send('nonsense')).response), await test.ask({ concernId: 'c' }));
  assert.deepEqual(
    outcomes.map((outcome) => outcome.split(' ')[1]),
    ['unknown_concern', 'unknown_concern', 'invalid_payload', 'rate_limited'],
  );
  assert.equal(await test.ask({}), 'applied');
});
