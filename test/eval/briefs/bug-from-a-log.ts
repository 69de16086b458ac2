import { after, calls, edit, type Files, grep, read, type Script, says, sh } from '../script/script.ts';

const pad = (number: number): string => String(number).padStart(2, '0');
const REJECTED = new Set([211, 388, 640]);

/** Five lines of one order. Rejected orders have a coupon that is worth more than their items. */
function order(number: number): string {
  const items = 400 + (number % 9) * 150;
  const isRejected = REJECTED.has(number);
  const coupon = isRejected ? items + 250 : number % 4 === 0 ? 100 : 0;
  const sum = items - coupon;
  const time = `2026-03-14 ${pad(1 + Math.floor(number / 200))}:${pad(Math.floor(number / 4) % 60)}:${pad((number * 7) % 60)}`;
  return [
    `${time} INFO  order ${number} opened items=${1 + (number % 3)}`,
    `${time} DEBUG order ${number} sum of items ${items}`,
    `${time} DEBUG order ${number} coupon ${coupon === 0 ? 'none' : `fixed ${coupon}`} gives ${sum}`,
    isRejected
      ? `${time} ERROR order ${number} payment rejected: amount part -${coupon - items} is negative (code 25)`
      : `${time} INFO  order ${number} paid ${sum + 490}`,
    `${time} DEBUG order ${number} closed`,
  ].join('\n');
}

export const files: Files = {
  'logs/shop.txt': `${Array.from({ length: 300 }, (_, at) =>
    order(at * 2 + (at > 100 ? 11 : 12) + (at > 190 ? 1 : 0)),
  )
    .concat([211, 388, 640].map(order))
    .join('\n')}\n`,
  'src/discount.mjs': `/** What is left of a sum of cents after a coupon. */
export function discounted(cents, coupon) {
  if (coupon === undefined) return cents;
  if (coupon.kind === 'percent') return Math.round(cents * (1 - coupon.percent / 100));
  return cents - coupon.cents;
}
`,
  'src/total.mjs': `import { discounted } from './discount.mjs';

/** The cents that a customer pays: what is left of the items, and the shipping. */
export function total({ items, coupon, shipping }) {
  const sum = items.reduce((cents, item) => cents + item.cents, 0);
  return discounted(sum, coupon) + shipping;
}
`,
  'src/payment.mjs': `/** Asks the payment service; each part of an amount must not be negative. */
export function request(parts) {
  const wrong = parts.find((cents) => cents < 0);
  if (wrong !== undefined) throw Object.assign(new Error('amount part ' + wrong + ' is negative'), { code: 25 });
  return parts.reduce((sum, cents) => sum + cents, 0);
}
`,
  'test/discount.test.mjs': `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { discounted } from '../src/discount.mjs';

test('percent', () => assert.equal(discounted(1000, { kind: 'percent', percent: 15 }), 850));
test('no coupon', () => assert.equal(discounted(1000, undefined), 1000));
`,
};

const TEST = `test('a fixed coupon never takes more than the sum', () => {
  assert.equal(discounted(300, { kind: 'fixed', cents: 900 }), 0);
  assert.equal(discounted(300, { kind: 'fixed', cents: 100 }), 200);
});
test('no coupon'`;

export const script: Script = {
  turns: [
    [
      calls(grep('ERROR|WARN', 'logs'), sh('wc -l logs/shop.txt; ls src test')),
      after([/order 211 payment rejected/], grep('order (211|388|640) ', 'logs')),
      after([/coupon fixed/], grep('coupon', 'src'), read('src/discount.mjs')),
      calls(
        edit('src/discount.mjs', 'return cents - coupon.cents;', 'return Math.max(0, cents - coupon.cents);'),
        edit('test/discount.test.mjs', "test('no coupon'", TEST),
      ),
      calls(sh('node --test test/*.test.mjs')),
      says(
        'Orders 211, 388 and 640 had a fixed coupon worth more than their items, so the discounted sum was negative.',
      ),
    ],
  ],
};
