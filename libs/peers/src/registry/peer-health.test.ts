import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { manualClock, NOW } from '@hermes-fleet/fleet/testing';
import { createPeerHealth } from './peer-health.ts';

/** A peer whose circuit opened, and whose first pause of 2 s is over. */
function halfOpen() {
  const clock = manualClock();
  const behaviour = createPeerHealth(clock);
  for (let i = 0; i < 3; i += 1) behaviour.recordFailure();
  const open = (): boolean => behaviour.snapshot().circuitOpenUntil > clock.now();
  assert.equal(behaviour.snapshot().circuitOpenUntil, NOW + 2_000);
  clock.advance(2_000);
  assert.ok(!open());
  return { clock, behaviour, open };
}

describe('a circuit', () => {
  it('does not stay open because the clock was set back', () => {
    const clock = manualClock();
    const behaviour = createPeerHealth(clock);
    const open = (): boolean => behaviour.snapshot().circuitOpenUntil > clock.now();
    for (let i = 0; i < 3; i += 1) behaviour.recordFailure();
    clock.advance(-1_000);
    assert.ok(open());
    clock.advance(-3_600_000);
    assert.ok(!open());
    behaviour.recordFailure();
    assert.equal(behaviour.snapshot().circuitOpenUntil, clock.now() + 4_000);
  });

  it('opens after three failures in a row, not before, and an answer closes it', () => {
    const behaviour = createPeerHealth(manualClock());
    behaviour.recordFailure();
    behaviour.recordFailure();
    behaviour.recordAnswer();
    behaviour.recordFailure();
    behaviour.recordFailure();
    assert.equal(behaviour.snapshot().circuitOpenUntil, 0);
    behaviour.recordFailure();
    assert.equal(behaviour.snapshot().circuitOpenUntil, NOW + 2_000);
    behaviour.recordAnswer();
    assert.equal(behaviour.snapshot().circuitOpenUntil, 0);
  });

  it('lets one trial through after its pause, and opens longer when that fails', () => {
    const { clock, behaviour, open } = halfOpen();
    using _trial = behaviour.trackTask();
    assert.ok(open(), 'others wait for the trial');
    behaviour.recordFailure();
    assert.equal(behaviour.snapshot().circuitOpenUntil, clock.now() + 4_000);
    clock.advance(4_000);
    assert.ok(!open(), 'the trial is over: the next one may go');
  });

  it('closes when the trial is answered', () => {
    const { behaviour, open } = halfOpen();
    using _trial = behaviour.trackTask();
    behaviour.recordAccepted(5);
    assert.ok(!open());
    using _other = behaviour.trackTask();
    assert.ok(!open());
  });

  it('lets the next trial through when the first one left without an answer, or takes too long', () => {
    const { clock, behaviour, open } = halfOpen();
    const first = behaviour.trackTask();
    first[Symbol.dispose]();
    assert.ok(!open());
    const second = behaviour.trackTask();
    assert.ok(open());
    clock.advance(30_000);
    assert.ok(!open());
    using _third = behaviour.trackTask();
    second[Symbol.dispose]();
    assert.ok(open(), 'the one that was too slow does not end the trial of another');
  });

  it('stays open for at most 30 s, however often the peer failed', () => {
    const clock = manualClock();
    const behaviour = createPeerHealth(clock);
    for (let i = 0; i < 2_000; i += 1) behaviour.recordFailure();
    assert.equal(behaviour.snapshot().circuitOpenUntil, clock.now() + 30_000);
  });
});

it('what a peer does moves its averages, and a task of ours counts until it leaves', () => {
  const behaviour = createPeerHealth(manualClock());
  behaviour.recordRefused();
  assert.equal(behaviour.snapshot().blockedRate, 0.3);
  behaviour.recordAccepted(100);
  behaviour.recordAccepted(200);
  assert.ok(Math.abs(behaviour.snapshot().blockedRate - 0.3 * 0.49) < 1e-9);
  assert.ok(Math.abs(behaviour.snapshot().latencyMs - 130) < 1e-9);
  const seat = behaviour.trackTask();
  assert.equal(behaviour.snapshot().inFlight, 1);
  seat[Symbol.dispose]();
  seat[Symbol.dispose]();
  assert.equal(behaviour.snapshot().inFlight, 0);
});
