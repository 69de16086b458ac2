import assert from 'node:assert/strict';
import { test } from 'node:test';
import { streamOf } from './subjects.ts';

const CHOICES: [filter: string, stream: string][] = [
  ['fleet.task.>', 'FLEET'],
  ['fleet.task.neo.>', 'FLEET'],
  ['fleet.task.*.blocked', 'FLEET'],
  ['*.task.neo.done', 'FLEET'],
  ['fleet.control.account.market', 'FLEET'],
  ['fleet.audit.>', 'FLEET'],
  ['fleet.announce.>', 'FLEET_ANNOUNCE'],
  ['fleet.announce.*', 'FLEET_ANNOUNCE'],
  ['*.announce.neo', 'FLEET_ANNOUNCE'],
];

const SPANNING: [filter: string, events: string, announces: string][] = [
  ['fleet.>', 'fleet.task.> or fleet.control.> or fleet.audit.>', 'fleet.announce.>'],
  ['>', 'fleet.task.> or fleet.control.> or fleet.audit.>', 'fleet.announce.>'],
  ['fleet.*.neo', 'fleet.task.neo or fleet.control.neo or fleet.audit.neo', 'fleet.announce.neo'],
  ['*.*.>', 'fleet.task.> or fleet.control.> or fleet.audit.>', 'fleet.announce.>'],
];

test('a filter has the stream of its subjects', () => {
  for (const [filter, stream] of CHOICES) assert.equal(streamOf(filter), stream, filter);
});

test('a filter that spans both is refused with the two to use', () => {
  for (const [filter, events, announces] of SPANNING)
    assert.throws(() => streamOf(filter), {
      code: 'CONFIG_INVALID',
      message: `the filter ${filter} spans two streams: use one consumer on FLEET (${events}) and one on FLEET_ANNOUNCE (${announces})`,
    });
});

test('a filter that no stream answers is refused', () => {
  for (const filter of ['', 'fleet', 'fleet.announce', 'fleet.task', 'fleet.*', 'other.>', 'fleet.tasks.neo'])
    assert.throws(() => streamOf(filter), { code: 'CONFIG_INVALID', message: /no stream holds/ }, filter);
});
