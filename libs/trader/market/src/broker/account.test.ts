import assert from 'node:assert/strict';
import { test } from 'node:test';
import { money, text } from '../terms/money.ts';
import { type Account, averagePrice, bought, openAccount, sold } from './account.ts';

const fill = (quantity: string, price: string, fee = '0') => ({
  quantity: money(quantity),
  price: money(price),
  fee: money(fee),
});
const textOf = ({ cash, position, basis, realized, fees }: Account): string =>
  [cash, position, basis, realized, fees].map(text).join(' ');

test('buys and sales change cash, position, cost, gain and fees', () => {
  let account = openAccount(money('100'), money('0'), money('1'));
  account = bought(account, fill('2', '10', '0.2'));
  assert.equal(textOf(account), '79.8 2 20 0 0.2');
  account = bought(account, fill('2', '20', '0.4'));
  assert.equal(textOf(account), '39.4 4 60 0 0.6');
  assert.equal(String(averagePrice(account)), '15');
  account = sold(account, fill('1', '25', '0.25'));
  assert.equal(textOf(account), '64.15 3 45 10 0.85');
  account = sold(account, fill('3', '5', '0.15'));
  assert.equal(textOf(account), '79 0 0 -20 1');
  assert.equal(averagePrice(account), undefined);
});

test('a cost with endless digits is rounded up, so that rounding yields no gain and loses none', () => {
  let account = openAccount(money('0'), money('3'), money('0'));
  account = { ...account, basis: money('1') };
  account = sold(account, fill('1', '1'));
  assert.equal(text(account.realized), '0.666666666666666666');
  assert.equal(text(account.basis), '0.666666666666666666');
  account = sold(account, fill('2', '1'));
  assert.equal(text(account.realized), '2');
  assert.equal(text(account.basis), '0');
});

test('the opening position costs the opening price', () => {
  const account = openAccount(money('5'), money('2'), money('7'));
  assert.equal(textOf(account), '5 2 14 0 0');
  assert.equal(String(averagePrice(account)), '7');
});

test('fills never overdraw the account', () => {
  const account = openAccount(money('10'), money('1'), money('1'));
  assert.throws(() => bought(account, fill('1', '10', '0.01')), /overdraws the cash/);
  assert.throws(() => sold(account, fill('1.1', '10')), /exceeds the position/);
  assert.equal(text(bought(account, fill('1', '9.9', '0.1')).cash), '0');
});
