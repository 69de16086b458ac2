import assert from 'node:assert/strict';
import { test } from 'node:test';
import { streamOf } from './subjects.ts';

const CHOICES: [filter: string, stream: string][] = [
  ['fleet.task.>', 'FLEET'],
  ['fleet.task.neo.>', 'FLEET'],
  ['fleet.task.*.blocked', 'FLEET'],
  ['*.task.neo.done', 'FLEET'],
  ['fleet.control.account.market', 'FLEET'],
  ['fleet.trade.account.market', 'FLEET'],
  ['fleet.control.>', 'FLEET'],
  ['fleet.audit.>', 'FLEET_AUDIT'],
  ['fleet.audit.trader', 'FLEET_AUDIT'],
  ['*.audit.*', 'FLEET_AUDIT'],
  ['fleet.announce.>', 'FLEET_ANNOUNCE'],
  ['fleet.announce.*', 'FLEET_ANNOUNCE'],
  ['*.announce.neo', 'FLEET_ANNOUNCE'],
];

const ALL =
  'FLEET (fleet.task.> or fleet.control.> or fleet.trade.>), FLEET_ANNOUNCE (fleet.announce.>), FLEET_AUDIT (fleet.audit.>)';
const SPANNING: [filter: string, each: string][] = [
  ['fleet.>', ALL],
  ['>', ALL],
  ['*.*.>', ALL],
  [
    'fleet.*.neo',
    'FLEET (fleet.task.neo or fleet.control.neo or fleet.trade.neo), FLEET_ANNOUNCE (fleet.announce.neo), FLEET_AUDIT (fleet.audit.neo)',
  ],
];

test('a filter selects the stream of its subjects', () => {
  for (const [filter, stream] of CHOICES) assert.equal(streamOf(filter), stream, filter);
});

test('a filter that spans several streams is refused with the filters to use instead', () => {
  for (const [filter, each] of SPANNING)
    assert.throws(() => streamOf(filter), {
      code: 'CONFIG_INVALID',
      message: `the filter ${filter} spans several streams: use a consumer each on ${each}`,
    });
});

test('a filter that matches no stream is refused', () => {
  for (const filter of ['', 'fleet', 'fleet.announce', 'fleet.task', 'fleet.*', 'other.>', 'fleet.tasks.neo'])
    assert.throws(() => streamOf(filter), { code: 'CONFIG_INVALID', message: /no stream holds/ }, filter);
});
