import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock } from '@hermes-fleet/protocol/testing';
import { NOW } from '../../testing/index.ts';
import { createPeerHealth } from './peer-health.ts';

/** A peer with a half-open circuit, 2 s after it opened. */
function halfOpen() {
  const clock = manualClock(NOW);
  const health = createPeerHealth(clock);
  for (let i = 0; i < 3; i += 1) health.recordFailure();
  const open = (): boolean => health.snapshot().circuitOpenUntil > clock.now();
  assert.equal(health.snapshot().circuitOpenUntil, NOW + 2_000);
  clock.advance(2_000);
  assert.ok(!open());
  return { clock, health, open };
}

describe('a circuit', () => {
  it('does not stay open after the clock was set back', () => {
    const clock = manualClock(NOW);
    const health = createPeerHealth(clock);
    const open = (): boolean => health.snapshot().circuitOpenUntil > clock.now();
    for (let i = 0; i < 3; i += 1) health.recordFailure();
    clock.advance(-1_000);
    assert.ok(open());
    clock.advance(-3_600_000);
    assert.ok(!open());
    health.recordFailure();
    assert.equal(health.snapshot().circuitOpenUntil, clock.now() + 4_000);
  });

  it('opens after three failures in a row, and an answer closes it', () => {
    const health = createPeerHealth(manualClock(NOW));
    health.recordFailure();
    health.recordFailure();
    health.recordAnswer();
    health.recordFailure();
    health.recordFailure();
    assert.equal(health.snapshot().circuitOpenUntil, 0);
    health.recordFailure();
    assert.equal(health.snapshot().circuitOpenUntil, NOW + 2_000);
    health.recordAnswer();
    assert.equal(health.snapshot().circuitOpenUntil, 0);
  });

  it('admits one trial when it is half-open, and opens for longer if the trial fails', () => {
    const { clock, health, open } = halfOpen();
    using _trial = health.trackTask();
    assert.ok(open(), 'other tasks wait for the trial');
    health.recordFailure();
    assert.equal(health.snapshot().circuitOpenUntil, clock.now() + 4_000);
    clock.advance(4_000);
    assert.ok(!open(), 'the trial is over: the next one may go');
  });

  it('closes when the trial is answered', () => {
    const { health, open } = halfOpen();
    using _trial = health.trackTask();
    health.recordAccepted(5);
    assert.ok(!open());
    using _other = health.trackTask();
    assert.ok(!open());
  });

  it('admits the next trial if the first left without an answer or takes too long', () => {
    const { clock, health, open } = halfOpen();
    const first = health.trackTask();
    first[Symbol.dispose]();
    assert.ok(!open());
    const second = health.trackTask();
    assert.ok(open());
    clock.advance(30_000);
    assert.ok(!open());
    using _third = health.trackTask();
    second[Symbol.dispose]();
    assert.ok(open(), 'the one that was too slow does not end the trial of another');
  });

  it('opens for at most 30 s', () => {
    const clock = manualClock(NOW);
    const health = createPeerHealth(clock);
    for (let i = 0; i < 2_000; i += 1) health.recordFailure();
    assert.equal(health.snapshot().circuitOpenUntil, clock.now() + 30_000);
  });
});

it('three tasks in a row that failed at once open the circuit, and then one task tries', () => {
  const clock = manualClock(NOW);
  const health = createPeerHealth(clock);
  const openFor = (): number => Math.max(0, health.snapshot().circuitOpenUntil - clock.now());
  for (let failed = 0; failed < 5; failed += 1) health.recordEnded(true);
  assert.equal(openFor(), 2_000, 'tasks that were sent before it opened do not make it longer');
  health.recordAnswer();
  assert.equal(openFor(), 2_000, 'an answer does not close it');
  clock.advance(2_000);
  assert.equal(openFor(), 0);
  {
    using _trial = health.trackTask();
    assert.ok(openFor() > 0, 'open for others during the trial');
    health.recordEnded(true);
  }
  assert.equal(openFor(), 4_000);
  clock.advance(4_000);
  health.recordEnded(false);
  assert.equal(openFor(), 0);
  clock.advance(-3_600_000);
  assert.equal(openFor(), 0);
});

it('refusals and latency count half after each 30 s without a dispatch', () => {
  const clock = manualClock(NOW);
  const health = createPeerHealth(clock);
  const near = (actual: number, expected: number) =>
    assert.ok(Math.abs(actual - expected) < 1e-9, `${actual}`);
  health.recordAccepted(800);
  health.recordRefused();
  clock.advance(30_000);
  near(health.snapshot().blockedRate, 0.15);
  near(health.snapshot().latencyMs, 400);
  health.recordRefused();
  near(health.snapshot().blockedRate, 0.15 * 0.7 + 0.3);
  near(health.snapshot().latencyMs, 400);
  clock.advance(60_000);
  health.recordAccepted(100);
  near(health.snapshot().blockedRate, (0.15 * 0.7 + 0.3) * 0.7 * 0.25);
  // The old latency has a weight of 0.7, of which two half-lives leave a quarter.
  near(health.snapshot().latencyMs, 400 * 0.175 + 100 * 0.825);
});

it('accepted and refused dispatches move the averages, and a tracked task counts until it leaves', () => {
  const health = createPeerHealth(manualClock(NOW));
  health.recordRefused();
  assert.equal(health.snapshot().blockedRate, 0.3);
  health.recordAccepted(100);
  health.recordAccepted(200);
  assert.ok(Math.abs(health.snapshot().blockedRate - 0.3 * 0.49) < 1e-9);
  assert.ok(Math.abs(health.snapshot().latencyMs - 130) < 1e-9);
  const tracked = health.trackTask();
  assert.equal(health.snapshot().inFlight, 1);
  tracked[Symbol.dispose]();
  tracked[Symbol.dispose]();
  assert.equal(health.snapshot().inFlight, 0);
});
