import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Decimal } from 'decimal.js';
import { ceilTo, floorTo, fraction, money, text } from './money.ts';

test('products of valid amounts are exact, regardless of global decimal.js settings', () => {
  const long = money(new Decimal('123456789012345.123456789012'));
  const squared = '15241578753238699603719905417.168298285033153483936144';
  assert.equal(text(long.times(long)), squared);
  assert.equal(text(money('1').plus(long.times(long)).minus(long.times(long))), '1');
});

test('rounding to a step of any size works downwards and upwards', () => {
  for (const [value, step, down, up] of [
    ['1.9', '0.3', '1.8', '2.1'],
    ['1.8', '0.3', '1.8', '1.8'],
    ['0.00000019', '0.0000001', '0.0000001', '0.0000002'],
    ['7', '5', '5', '10'],
    ['0', '5', '0', '0'],
  ] as const) {
    assert.equal(text(floorTo(money(value), money(step))), down);
    assert.equal(text(ceilTo(money(value), money(step))), up);
  }
});

test('amounts have no exponent', () => {
  assert.equal(text(money('1e-12')), '0.000000000001');
  assert.equal(text(money('1e30')), `1${'0'.repeat(30)}`);
  assert.equal(text(money('0').neg()), '0');
  assert.equal(text(fraction(money('2.5'))), '0.00025');
});
