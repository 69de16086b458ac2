import assert from 'node:assert/strict';
import { test } from 'node:test';
import { busPermissions } from './permissions.ts';

test('`control` only adds permissions, and a profile has none of them', () => {
  const [profile, trader] = [busPermissions('x'), busPermissions('x', { control: true })];
  assert.deepEqual(trader.subscribe, profile.subscribe);
  assert.deepEqual(trader.publish.slice(0, profile.publish.length), profile.publish);
  assert.deepEqual(trader.publish.slice(profile.publish.length), [
    'fleet.control.>',
    '$JS.API.DIRECT.GET.FLEET.fleet.control.>',
    'fleet.trade.>',
    '$JS.API.DIRECT.GET.FLEET.fleet.trade.>',
    'fleet.audit.x',
    '$JS.API.DIRECT.GET.FLEET_AUDIT.fleet.audit.x',
    ...['x', 'x_refill'].flatMap((reader) =>
      ['control', 'trade'].flatMap((kind) => [
        `$JS.API.CONSUMER.CREATE.FLEET.${reader}-${kind}.fleet.${kind}.>`,
        `$JS.API.CONSUMER.DELETE.FLEET.${reader}-${kind}`,
        `$JS.API.CONSUMER.MSG.NEXT.FLEET.${reader}-${kind}`,
      ]),
    ),
  ]);
  assert.deepEqual(busPermissions('trader'), busPermissions('trader', { control: false }));
});

test('a name that would widen a subject is refused', () => {
  for (const name of ['*', '>', 'a.b', 'neo ', '', 'neo.>']) {
    assert.throws(() => busPermissions(name), { code: 'CONFIG_INVALID' }, JSON.stringify(name));
  }
});
