import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock, START } from '@hermes-fleet/protocol/testing';
import { APICallError } from 'ai';
import { DEFAULT_PATIENCE } from './agent-model.ts';
import { callFailure } from './call-failure.ts';
import { createRetries } from './retries.ts';

const refusal = (
  statusCode: number | undefined,
  responseHeaders: Record<string, string> = {},
  cause?: unknown,
) =>
  callFailure(
    new APICallError({
      message: 'no',
      url: 'http://x',
      requestBodyValues: {},
      statusCode,
      responseHeaders,
      cause,
    }),
    { hasBegun: false, now: START, secrets: [] },
  );

/** The waits of a call that always fails alike, each waited for. */
function waits(failure: ReturnType<typeof refusal>, patienceMs: number, random = 1, isNew = false): number[] {
  const clock = manualClock(START);
  const patience = { ...DEFAULT_PATIENCE, patienceMs };
  const retries = createRetries({
    patience,
    deadlineAt: undefined,
    clock,
    random: () => random,
    isNewTask: () => isNew,
  });
  const found: number[] = [];
  for (;;) {
    const next = retries.next(failure);
    if (next === undefined) return found;
    found.push(next.waitMs);
    clock.advance(next.waitMs);
  }
}

describe('the attempts of a call', () => {
  it('are spaced by doubling delays up to 30 s, with up to half of each removed at random', () => {
    assert.deepEqual(waits(refusal(503), 100_000), [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    assert.deepEqual(waits(refusal(503), 3_500, 0), [500, 1_000, 2_000]);
  });

  it('end before patience does, and do not begin without it', () => {
    assert.deepEqual(waits(refusal(503), 0), []);
    assert.deepEqual(waits(refusal(undefined), 2_999), [1_000]);
  });

  it('wait for as long as the provider asks, and a little more at random', () => {
    assert.deepEqual(waits(refusal(429, { 'retry-after': '20' }), 50_000, 0), [20_000, 20_000]);
    assert.deepEqual(waits(refusal(429, { 'retry-after': '20' }), 50_000, 1), [22_000, 22_000]);
  });

  it('are spaced by the doubling delays where the provider asks for less', () => {
    for (const [name, value] of [
      ['retry-after', '0'],
      ['retry-after-ms', '0'],
      ['retry-after-ms', '1500'],
    ] as const)
      assert.deepEqual(waits(refusal(429, { [name]: value }), 16_000, 1).slice(1), [2_000, 4_000, 8_000]);
  });
});

it('a task that has spent nothing is given up soon while the provider is down, and not while it is busy', () => {
  assert.deepEqual(waits(refusal(503), 100_000, 1, true), [1_000, 2_000, 4_000]);
  assert.deepEqual(waits(refusal(undefined), 100_000, 1, true), [1_000, 2_000, 4_000]);
  assert.equal(waits(refusal(429), 100_000, 1, true).length, 7);
  assert.deepEqual(waits(refusal(503), 2_000, 1, true), [1_000]);
});

describe('the delay that a provider asks for', () => {
  const ROWS: [Record<string, string>, number | undefined][] = [
    [{ 'retry-after': '7' }, 7_000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after': new Date(START + 9_000).toUTCString() }, 9_000],
    [{ 'retry-after': '7', 'retry-after-ms': '120' }, 120],
    [{ 'retry-after': new Date(START - 9_000).toUTCString() }, undefined],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '-5' }, undefined],
    [{ 'retry-after': '' }, undefined],
    [{ 'retry-after': '3', 'retry-after-ms': '' }, 3_000],
    [{ 'retry-after': '3', 'retry-after-ms': '-1' }, 3_000],
    [{ 'retry-after': '4', 'retry-after-ms': 'soon' }, 4_000],
    [{}, undefined],
  ];
  for (const [headers, ms] of ROWS)
    it(`is ${ms} for ${JSON.stringify(headers)}`, () => {
      assert.equal(refusal(429, headers).retryAfterMs, ms);
    });
});

it('a certificate that is not valid is no reason to try again, and a lost connection is', () => {
  const failed = (code: string) => refusal(undefined, {}, Object.assign(new Error('x'), { code })).kind;
  assert.deepEqual(['ECONNREFUSED', 'ECONNRESET', 'ENOTFOUND'].map(failed), Array(3).fill('unreachable'));
  assert.deepEqual(['CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT'].map(failed), ['final', 'final']);
});
