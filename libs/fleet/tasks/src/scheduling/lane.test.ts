import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Lane } from './lane.ts';

const laneOf = (places: number, depth: number): Lane => new Lane({ name: 'own', places, depth });

describe('a lane', () => {
  it('counts reserved places, and tasks in every state but asking', () => {
    const lane = laneOf(1, 1);
    assert.deepEqual(
      ['a', 'b', 'c'].map((caller) => lane.reserve(caller)),
      [true, true, false],
    );
    lane.release('a');
    lane.move('operator', undefined, 'submitted');
    for (const [from, to] of [
      ['submitted', 'queued'],
      ['queued', 'placed'],
      ['placed', 'running'],
    ] as const) {
      lane.move('operator', from, to);
      assert.ok(lane.isFullFor('operator'), to);
    }
    lane.move('operator', 'running', 'asking');
    assert.ok(!lane.isFullFor('operator'));
    lane.move('operator', 'asking', 'ended');
    assert.deepEqual([lane.waiting, lane.asking], [0, 0]);
  });

  it('with depth 0, accepts a task while a place is free', () => {
    const lane = laneOf(1, 0);
    assert.ok(lane.reserve('operator'));
    assert.ok(!lane.reserve('operator'));
    lane.release('operator');
    assert.ok(lane.reserve('operator'));
  });

  it('keeps a tenth of its depth for callers that use less than a tenth', () => {
    const lane = laneOf(0, 20);
    const admitted = (caller: string): number => {
      let count = 0;
      while (lane.reserve(caller)) count += 1;
      return count;
    };
    assert.deepEqual([admitted('many'), admitted('one'), admitted('other')], [20, 2, 0]);
  });

  it('counts the same tenth for tasks that wait as for tasks that come', () => {
    const lane = laneOf(1, 20);
    const waits = (caller: string): boolean => {
      lane.move(caller, undefined, 'submitted');
      lane.move(caller, 'submitted', 'queued');
      return !lane.isCrowdedFor(caller);
    };
    for (let task = 0; task < 20; task += 1) assert.ok(waits('many'));
    assert.deepEqual([waits('one'), waits('one'), waits('one')], [true, true, false]);
  });
});
