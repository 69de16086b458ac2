import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newContextState } from '../run/run-state.ts';
import { createMeter } from './meter.ts';

function meter(window = 32_768) {
  const state = newContextState('m');
  return { state, ...createMeter(state, () => window) };
}

test('an estimate is taken as it is until a call is metered', () => {
  assert.equal(meter().corrected(20_000), 20_000);
});

test('a small call says what the provider adds, a large one how its tokenizer differs', () => {
  const { corrected, learn } = meter();
  learn(1000, 1346);
  assert.equal(corrected(20_000), 20_346);
  learn(20_000, 24_000);
  assert.equal(corrected(20_000), Math.ceil(20_000 * 1.2 * 1.03));
  assert.equal(corrected(1000), Math.ceil(1000 * 1.2 * 1.03));
});

test('the correction may save a part of an estimate that is too high, and never falls again', () => {
  const { corrected, learn } = meter();
  learn(20_000, 18_000);
  assert.equal(corrected(20_000), Math.ceil(20_000 * 0.9 * 1.03));
  // Without the cached tokens, or after a silent cut.
  learn(25_000, 3000);
  assert.equal(corrected(20_000), Math.ceil(20_000 * 0.9 * 1.03));
});

test('an absurd figure changes the correction within bounds', () => {
  const low = meter();
  low.learn(20_000, 10);
  assert.equal(low.corrected(20_000), 17_000);
  const high = meter();
  high.learn(20_000, 1e9);
  high.learn(100, 1e9);
  assert.equal(high.corrected(20_000), 40_000);
});

test('a refusal lowers the window to what the provider says, and corrects the estimate', () => {
  const { state, corrected, refused } = meter();
  assert.equal(refused(20_000, { limit: 16_384, input: 22_000 }), true);
  assert.equal(state.window, 16_384);
  assert.ok(corrected(20_000) >= 22_000);
  assert.equal(refused(20_000, { limit: 64_000 }), true);
  assert.ok(
    (state.window ?? 0) < 16_384,
    'a larger window is no news, and the same request is not made again',
  );
});

test('a refusal without a figure lowers the window below what was sent, each time', () => {
  const { state, refused } = meter();
  assert.equal(refused(20_000, {}), true);
  assert.equal(state.window, 18_000);
  assert.equal(refused(17_000, {}), true);
  assert.equal(state.window, 15_300);
  assert.equal(refused(400, { limit: 400 }), false, 'too small to work in');
});

test('a refusal of a short input is not believed without a figure, and changes nothing', () => {
  const { state, refused } = meter();
  assert.equal(refused(8000, {}), false);
  assert.equal(state.window, undefined);
  assert.equal(refused(8000, { limit: 8192 }), true);
  assert.equal(state.window, 8192);
});
