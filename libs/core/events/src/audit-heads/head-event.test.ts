import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Head, headEvent, readHeadEvent } from './head-event.ts';

const HEAD: Head = { store: '0197a000-0000-7000-8000-000000000001', seq: 7, hash: 'ab'.repeat(32) };

test('a head is read as it was written and keeps its event id', () => {
  const event = headEvent('trader', HEAD, 0);
  assert.deepEqual(readHeadEvent(JSON.stringify(event)), HEAD);
  assert.equal(event.id, headEvent('trader', HEAD, 1).id);
  assert.equal(event.id, 'trader:0197a000-0000-7000-8000-000000000001:head:7');
});

test('any other message is not a head', () => {
  const event = headEvent('trader', HEAD, 0);
  const wrong: unknown[] = [
    ...[null, 7, 'x', {}, { ...event, type: 'dev.hermes-fleet.audit.other.v1' }],
    ...[{ seq: 0 }, { seq: -1 }, { seq: 1.5 }, { seq: '7' }, { seq: 2 ** 60 }].map((data) => ({
      ...event,
      data: { ...HEAD, ...data },
    })),
    ...[{ hash: 'ab' }, { hash: 'AB'.repeat(32) }, { hash: 7 }, { store: undefined }, { store: 7 }].map(
      (data) => ({ ...event, data: { ...HEAD, ...data } }),
    ),
  ];
  for (const value of wrong) {
    const text = JSON.stringify(value);
    assert.equal(readHeadEvent(text), undefined, text);
  }
  assert.equal(readHeadEvent('{"specversion"'), undefined);
});
