import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTargetSlots, type TargetSlots } from './target-slots.ts';

const never = new AbortController().signal;

/** Asks for slots, and counts those that were given. */
function asking(slots: TargetSlots, caller = 'a') {
  const given: { readonly host: string; readonly slot: Disposable }[] = [];
  return {
    ask: (host: string): void =>
      void slots.takeSlot({ caller, host }, never).then((slot) => given.push({ host, slot })),
    async given(): Promise<string[]> {
      await new Promise(setImmediate);
      return given.map(({ host }) => host);
    },
    /** The attempt that has the oldest slot ends. */
    end(isAnswered: boolean): void {
      const [oldest] = given.splice(0, 1);
      assert.ok(oldest);
      slots.heard({ caller, host: oldest.host }, isAnswered);
      oldest.slot[Symbol.dispose]();
    },
  };
}

test('a host gets one notification at a time until it answers, and then four', async () => {
  const { ask, given, end } = asking(createTargetSlots());
  for (let n = 0; n < 6; n += 1) ask('h');
  assert.deepEqual(await given(), ['h']);
  end(true);
  assert.equal((await given()).length, 4);
});

test('hosts that are silent take no slot of those that answer, and none of new ones', async () => {
  const slots = createTargetSlots();
  const { ask, given } = asking(slots);
  for (let n = 0; n < 20; n += 1) {
    slots.heard({ caller: 'a', host: `silent-${n}` }, false);
    ask(`silent-${n}`);
  }
  slots.heard({ caller: 'a', host: 'answering' }, true);
  assert.deepEqual(await given(), ['silent-0', 'silent-1', 'silent-2', 'silent-3']);
  ask('answering');
  ask('new');
  assert.deepEqual((await given()).slice(4).sort(), ['answering', 'new']);
});

test('a host that turns out to be silent leaves the slots of new hosts at once', async () => {
  const { ask, given, end } = asking(createTargetSlots());
  for (let n = 0; n < 16; n += 1) for (const _ of [1, 2]) ask(`h${n}`);
  assert.equal((await given()).length, 16);
  for (let n = 0; n < 16; n += 1) end(false);
  // The second attempts at the silent hosts.
  assert.equal((await given()).length, 4);
  for (let n = 0; n < 16; n += 1) ask(`other-${n}`);
  assert.equal((await given()).length, 20);
});

test('an attempt that waits for a slot of new hosts gets one of its own kind when its host has answered', async () => {
  const slots = createTargetSlots();
  const { ask, given, end } = asking(slots);
  for (let n = 0; n < 16; n += 1) ask(`h${n}`);
  ask('late');
  assert.equal((await given()).length, 16);
  slots.heard({ caller: 'a', host: 'late' }, true);
  end(false);
  // Its slot is one of answering hosts, so a further new host finds one.
  ask('further');
  assert.deepEqual((await given()).slice(15).sort(), ['further', 'late']);
});

test('the hosts of one caller are not those of another', async () => {
  const slots = createTargetSlots();
  const one = asking(slots);
  const other = asking(slots, 'b');
  for (let n = 0; n < 17; n += 1) one.ask(`h${n}`);
  other.ask('h0');
  assert.equal((await one.given()).length, 16);
  assert.deepEqual(await other.given(), ['h0']);
});
