import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deadline, manualClock } from '@hermes-fleet/protocol/testing';
import { type ConcernLock, createConcernLock, type Turn } from './concern-lock.ts';

const open = () => {
  const clock = manualClock();
  return { clock, gate: createConcernLock({ clock, keptForPause: 5 }) };
};

const entered = async (turn: ReturnType<ConcernLock['enter']>): Promise<Turn> => {
  const got = await turn;
  assert.ok(got);
  return got;
};

test('waiting attempts are admitted by arrival, even after a busy turn', deadline, async () => {
  const { gate, clock } = open();
  const first = await entered(gate.enter('c', false));
  const order: number[] = [];
  const through = async (number: number, turn: Turn): Promise<void> => {
    while (turn.isBusy()) assert.ok(await turn.waitAgain());
    order.push(number);
    turn.holdConcern();
    await new Promise((resolve) => setImmediate(resolve));
    turn.release();
  };
  const early = await Promise.all([1, 2].map(() => entered(gate.enter('c', false))));
  first.holdConcern();
  assert.equal(first.isBusy(), false);
  const late = Array.from({ length: 60 }, (_, at) =>
    entered(gate.enter('c', at % 7 === 0)).then((turn) => through(at + 2, turn)),
  );
  const others = early.map((turn, at) => through(at, turn));
  assert.equal((await entered(gate.enter('another', false))).isBusy(), false);
  first.release();
  await Promise.all([...others, ...late]);
  assert.deepEqual(
    order,
    Array.from({ length: 62 }, (_, at) => at),
  );
  assert.deepEqual([gate.waiting, clock.timers], [0, 0]);
});

test('a wait is bounded, and a pause waits longer than any attempt before it', deadline, async () => {
  const { gate, clock } = open();
  const holder = await entered(gate.enter('c', false));
  holder.holdConcern();
  const other = gate.enter('c', false);
  const pause = gate.enter('c', true);
  clock.advance(15_000);
  assert.equal(await other, undefined);
  assert.equal(gate.waiting, 1);
  holder.release();
  const turn = await entered(pause);
  turn.holdConcern();
  const second = await entered(gate.enter('d', false));
  second.release();
  clock.advance(15_000);
  assert.equal(turn.isBusy(), false);
  turn.release();
  assert.equal(clock.timers, 0);
});

test('the wait counts from the arrival, regardless of busy turns', deadline, async () => {
  const { gate, clock } = open();
  const [holder, patient] = await Promise.all([
    entered(gate.enter('c', false)),
    entered(gate.enter('c', false)),
  ]);
  holder.holdConcern();
  const again = patient.waitAgain();
  clock.advance(14_999);
  holder.release();
  assert.equal(await again, true);
  clock.advance(1);
  assert.equal(await patient.waitAgain(), false);
  patient.release();
  assert.equal((await entered(gate.enter('c', false))).isBusy(), false);
});

test('waiting attempts are bounded, with places reserved for a pause', deadline, async () => {
  const { gate, clock } = open();
  const holder = await entered(gate.enter('c', false));
  holder.holdConcern();
  const waiting = Array.from({ length: 1000 }, () => gate.enter('c', false));
  assert.equal(await gate.enter('c', false), undefined);
  const pauses = Array.from({ length: 5 }, () => gate.enter('c', true));
  assert.equal(await gate.enter('c', true), undefined);
  assert.equal(gate.waiting, 1005);
  clock.advance(30_000);
  assert.deepEqual(new Set(await Promise.all([...waiting, ...pauses])), new Set([undefined]));
  assert.equal(gate.waiting, 0);
  holder.release();
});
