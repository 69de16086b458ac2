import { calls, edit, type Files, grep, read, type Script, says, sh, write } from '../script/script.ts';

const HELPER = `function formatMoney(cents) {
  const sign = cents < 0 ? '-' : '';
  const whole = String(Math.trunc(Math.abs(cents) / 100));
  const rest = String(Math.abs(cents) % 100).padStart(2, '0');
  return sign + whole.replace(/\\B(?=(\\d{3})+$)/g, ',') + '.' + rest;
}
`;
const IMPORT = `import { formatMoney } from './money.mjs';\n`;

/** Each module with its function and what that says. */
const MODULES: Readonly<Record<string, readonly [name: string, text: string]>> = {
  cart: ['cartTotal', 'Cart: '],
  deposit: ['depositLine', 'Deposit of '],
  discount: ['discountLine', 'You save '],
  'gift-card': ['giftCardLine', 'Gift card worth '],
  invoice: ['invoiceTotal', 'Total due: '],
  payroll: ['salaryLine', 'Salary: '],
  quote: ['quoteLine', 'We offer it for '],
  receipt: ['receiptTotal', 'Paid: '],
  refund: ['refundLine', 'Refunded: '],
  shipping: ['shippingLine', 'Shipping: '],
  subscription: ['subscriptionLine', 'Monthly: '],
  tax: ['taxLine', 'VAT: '],
};
const entries = Object.entries(MODULES);

const source = (name: string, text: string): string =>
  `/** ${text.trim()} */\n${HELPER}
export function ${name}(lines) {
  const cents = lines.reduce((sum, line) => sum + line.cents * (line.count ?? 1), 0);
  return '${text}' + formatMoney(cents);
}
`;

const TEST = `import assert from 'node:assert/strict';
import { test } from 'node:test';
${entries.map(([file, [name]]) => `import { ${name} } from '../src/${file}.mjs';`).join('\n')}

const lines = [{ cents: 123456 }, { cents: 7, count: 3 }];
${entries.map(([file, [name, text]]) => `test('${file}', () => assert.equal(${name}(lines), '${text}1,234.77'));`).join('\n')}
test('negative amounts', () => assert.equal(refundLine([{ cents: -5 }]), 'Refunded: -0.05'));
`;

export const files: Files = {
  'test/shop.test.mjs': TEST,
  ...Object.fromEntries(entries.map(([file, [name, text]]) => [`src/${file}.mjs`, source(name, text)])),
};

const paths = entries.map(([file]) => `src/${file}.mjs`);
const imports = (some: readonly string[]) => calls(...some.map((path) => edit(path, HELPER, IMPORT)));

export const script: Script = {
  turns: [
    [
      calls(grep('formatMoney', 'src'), sh('node --test test/shop.test.mjs')),
      calls(read('src/cart.mjs'), read('src/tax.mjs')),
      calls(
        write(
          'src/money.mjs',
          `/** An amount with two decimals and thousands separators. */\nexport ${HELPER}`,
        ),
      ),
      imports(paths.slice(0, 4)),
      imports(paths.slice(4, 8)),
      calls(sh('node --test test/shop.test.mjs')),
      imports(paths.slice(8)),
      calls(grep('function formatMoney', 'src'), sh('node --test test/shop.test.mjs')),
      says('`formatMoney` is in src/money.mjs, and the twelve modules import it. All tests pass.'),
    ],
  ],
};
