import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { announceOf, manualClock, NOW, peerOf } from '../../testing/index.ts';
import { capacityOf } from '../capacity.ts';
import { createPeerLoad, type TaskAtPeer } from './peer-load.ts';

/** A peer whose clock is an hour behind, and what this profile knows of it. */
function world(limit = 4) {
  const clock = manualClock(NOW);
  const load = createPeerLoad(clock, () => 0);
  const theirNow = (): number => clock.now() - 3_600_000;
  let said = { active: 0, sentAt: new Date(theirNow()).toISOString(), receivedAt: clock.now() };
  return {
    clock,
    load,
    theirNow,
    hear(active: number, sentAt = theirNow()): void {
      said = { active, sentAt: new Date(sentAt).toISOString(), receivedAt: clock.now() };
    },
    capacity: (buffer?: number) =>
      capacityOf(
        peerOf('neo', {
          announce: announceOf('neo', {
            session: { activeTasks: said.active },
            limits: { maxConcurrentTasks: limit, queueDepth: 9, queuedTasks: 0 },
          }),
          receivedAt: clock.now(),
          inFlight: load.inFlight,
          slots: load.slots(said),
        }),
        clock.now(),
        buffer,
      ),
  };
}

describe('the load of a peer', () => {
  it('with only our tasks is the number of our tasks, however announces and answers cross', () => {
    const action = fc.record({
      do: fc.constantFrom('send', 'arrive', 'ack', 'finish', 'result', 'announce', 'deliver'),
      nth: fc.nat(20),
    });
    fc.assert(
      fc.property(fc.array(action, { maxLength: 200 }), (actions) => {
        const { clock, load, theirNow, hear, capacity } = world(1_000);
        const sent: TaskAtPeer[] = [];
        const arrived: { task: TaskAtPeer; at: number }[] = [];
        const working: { task: TaskAtPeer }[] = [];
        const finished: { task: TaskAtPeer; at: number }[] = [];
        const announced: { active: number; at: number }[] = [];
        let there = 0;
        const take = <T>(from: T[], nth: number): T | undefined =>
          from.splice(nth % (from.length || 1), 1)[0];
        for (const { do: what, nth } of actions) {
          clock.advance(1);
          if (what === 'send') sent.push(load.track());
          if (what === 'arrive') {
            const task = take(sent, nth);
            if (task) arrived.push({ task, at: theirNow() });
            if (task) there += 1;
          }
          if (what === 'ack') {
            const task = take(arrived, nth);
            task?.task.observe('working', task.at);
            if (task) working.push(task);
          }
          if (what === 'finish') {
            const task = take(working, nth);
            if (task) finished.push({ ...task, at: theirNow() });
            if (task) there -= 1;
          }
          if (what === 'result') {
            const task = take(finished, nth);
            task?.task.observe('completed', task.at);
            task?.task[Symbol.dispose]();
          }
          if (what === 'announce') announced.push({ active: there, at: theirNow() });
          const news = what === 'deliver' ? announced.shift() : undefined;
          if (news) hear(news.active, news.at);
          assert.ok(capacity().load >= load.inFlight, 'never less than ours');
          if (arrived.length === 0) assert.equal(capacity().load, load.inFlight, `after ${what}`);
        }
      }),
    );
  });

  it('counts what others have there, and what of ours the announce does not include yet', () => {
    const { clock, load, theirNow, hear, capacity } = world();
    hear(3);
    assert.deepEqual([capacity().load, capacity().free], [3, 1]);
    clock.advance(10);
    const task = load.track();
    assert.deepEqual([capacity().load, capacity().free], [4, 0], 'reserved before it is sent');
    task.observe('working', theirNow());
    clock.advance(10);
    hear(4);
    assert.equal(capacity().load, 4, 'not counted twice');
    clock.advance(10);
    task.observe('completed', theirNow());
    task[Symbol.dispose]();
    assert.equal(capacity().free, 1, 'free before the next announce');
  });

  it('without timestamps, an announce includes what was acknowledged a second before it', () => {
    const { clock, load, hear, capacity } = world();
    const task = load.track();
    task.observe('working', undefined);
    clock.advance(500);
    hear(2);
    assert.equal(capacity().load, 3);
    clock.advance(500);
    hear(2);
    assert.equal(capacity().load, 2);
  });

  it('a peer that announces a thousand slots gets four tasks, then twice as many as it was seen to run', () => {
    const { load, capacity } = world(1_000);
    const tasks = Array.from({ length: 4 }, () => load.track());
    assert.equal(capacity().free, 0);
    for (const task of tasks) task.observe('working', undefined);
    assert.equal(capacity().free, 4);
  });

  it('trusts an announced limit for four tasks of ours beside those of others', () => {
    const { load, hear, capacity } = world(16);
    hear(5);
    assert.deepEqual([capacity().load, capacity().free], [5, 4]);
    load.track();
    assert.equal(capacity().free, 3);
  });

  it('a peer that waits for a context there has free slots all the same, if it announces them', () => {
    const limits = { maxConcurrentTasks: 4, queueDepth: 9, queuedTasks: 3, freeSlots: 3 };
    const announce = announceOf('neo', { session: { activeTasks: 1 }, limits });
    assert.equal(capacityOf(peerOf('neo', { announce }), NOW).free, 3);
  });

  it('a task of ours that waits for a part of its work holds no slot, if the peer announces free slots', () => {
    const clock = manualClock(NOW);
    const load = createPeerLoad(clock, () => 0);
    for (let sent = 0; sent < 4; sent += 1) load.track().observe('working', NOW - 1);
    const heard = (freeSlots: number | undefined) => {
      const limits = {
        maxConcurrentTasks: 4,
        queueDepth: 9,
        queuedTasks: 0,
        ...(freeSlots && { freeSlots }),
      };
      const announce = announceOf('neo', { session: { activeTasks: 1 }, limits });
      const slots = load.slots({ sentAt: new Date(NOW).toISOString(), receivedAt: NOW });
      return capacityOf(peerOf('neo', { announce, inFlight: load.inFlight, slots }), NOW);
    };
    assert.deepEqual([heard(3).load, heard(3).free], [1, 3]);
    assert.deepEqual([heard(undefined).load, heard(undefined).free], [4, 0]);
  });

  it('a pause that a clock set back would make longer is over', () => {
    const { clock, load, capacity } = world();
    load.recordFull();
    clock.advance(-3_600_000);
    assert.equal(capacity().free, 1);
  });

  it('gives no task to a peer where one of ours waits for a slot', () => {
    const { clock, load, capacity } = world();
    const task = load.track();
    task.observe('submitted', undefined);
    assert.equal(capacity().free, 3, 'it may be about to start');
    clock.advance(200);
    assert.equal(capacity().free, 0);
    task.observe('working', undefined);
    assert.equal(capacity().free, 3);
  });

  it('after a refusal for want of a slot, pauses for longer each time, and then tries one task', () => {
    const { clock, load, capacity } = world();
    const pauses: number[] = [];
    for (let refused = 0; refused < 6; refused += 1) {
      load.recordFull();
      let pause = 0;
      for (; capacity().free === 0; pause += 50) clock.advance(50);
      pauses.push(pause);
      assert.equal(capacity().free, 1, 'one try');
      using _try = load.track();
      assert.equal(capacity().free, 0);
    }
    assert.deepEqual(pauses, [250, 500, 1_000, 2_000, 2_500, 2_500]);
    load.recordFull();
    load.recordRoom();
    assert.equal(capacity().free, 1, 'an announce of room ends the pause, and one task tries');
    load.recordFull();
    clock.advance(2_450);
    assert.equal(capacity().free, 0, 'announced room does not shorten the next pause');
    clock.advance(50);
    load.track().observe('working', undefined);
    assert.equal(capacity().free, 3, 'a task that is taken ends it');
  });

  it('a task may queue where others keep the peer busy, one at a time', () => {
    const { load, hear, capacity } = world();
    hear(4);
    assert.ok(capacity().mayQueue);
    using task = load.track();
    assert.ok(!capacity().mayQueue, 'until the peer has started it');
    task.observe('submitted', undefined);
    assert.ok(!capacity().mayQueue);
  });

  it('as many tasks may queue there as the buffer says', () => {
    for (const buffer of [0, 1, 3]) {
      const { load, hear, capacity } = world();
      hear(4);
      let queued = 0;
      while (queued < 10 && capacity(buffer).mayQueue) {
        load.track().observe('submitted', undefined);
        queued += 1;
      }
      assert.equal(queued, buffer);
    }
  });

  it('no task queues where only ours keep the peer busy', () => {
    const { load, capacity } = world(1);
    load.track().observe('working', undefined);
    assert.deepEqual([capacity().free, capacity().mayQueue], [0, false]);
  });

  it('counts a slot as free whose task ended in the millisecond of an announce that was made before', () => {
    const { clock, load, theirNow, hear, capacity } = world(1);
    const task = load.track();
    task.observe('working', theirNow());
    clock.advance(5);
    const end = theirNow();
    hear(1, end);
    task.observe('completed', end);
    task[Symbol.dispose]();
    assert.equal(capacity().free, 1);
    clock.advance(1);
    hear(1);
    assert.equal(capacity().free, 0, 'a later announce counts as it is');
  });
});
