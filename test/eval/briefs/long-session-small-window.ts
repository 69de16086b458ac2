import {
  after,
  calls,
  edit,
  type Files,
  read,
  type Script,
  type Step,
  says,
  sh,
  write,
} from '../script/script.ts';

const MODULES = 24;
const HELPERS = 30;
const numbers = Array.from({ length: MODULES }, (_, at) => at + 1);
const nameOf = (number: number): string => `module-${String(number).padStart(2, '0')}`;

const helper = (
  number: number,
  at: number,
): string => `/** Weighs the entry ${at} of register ${number} by its share of the whole. */
export function weigh${at}(entry, whole) {
  const share = whole === 0 ? 0 : entry / whole;
  return Math.round(share * ${number * 100 + at}) + ${at % 7};
}
`;

function source(number: number): string {
  const helpers = Array.from({ length: HELPERS }, (_, at) => helper(number, at));
  const settle = `/**
 * Settles the entries of register ${number}: their sum, and ${number} for the closing entry.
 */
export function settle(entries) {
  return entries.reduce((sum, entry) => sum + entry, 0) + 0; // register ${number}
}
`;
  return helpers.toSpliced((number * 7) % HELPERS, 0, settle).join('\n');
}

const test = (number: number): string => `import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle, weigh3 } from '../src/${nameOf(number)}.mjs';

test('settle of ${nameOf(number)}', () => assert.equal(settle([1, 2]), ${3 + number}));
test('weigh3 of ${nameOf(number)}', () => assert.equal(weigh3(1, 2), ${Math.round((number * 100 + 3) / 2) + 3}));
`;

export const files: Files = {
  ...Object.fromEntries(numbers.map((number) => [`src/${nameOf(number)}.mjs`, source(number)])),
  ...Object.fromEntries(numbers.map((number) => [`test/${nameOf(number)}.test.mjs`, test(number)])),
  // Each module has as many lines as at the start, and all its functions.
  'test/untouched.mjs': `import { readFileSync } from 'node:fs';
for (let number = 1; number <= ${MODULES}; number += 1) {
  const name = 'module-' + String(number).padStart(2, '0');
  const text = readFileSync('src/' + name + '.mjs', 'utf8');
  const helpers = text.match(/^export function weigh/gm)?.length;
  if (helpers !== ${HELPERS} || text.split('\\n').length < ${source(1).split('\n').length - 2}) throw new Error(name);
}
`,
};

const stepsOf = (number: number): Step[] => {
  const path = `src/${nameOf(number)}.mjs`;
  const closing = `; // register ${number}\n`;
  return [
    calls(read(path)),
    after(
      [new RegExp(`and ${number} for the closing entry`)],
      edit(path, `, 0) + 0${closing}`, `, 0) + ${number}${closing}`),
    ),
    calls(sh(`node --test test/${nameOf(number)}.test.mjs`)),
  ];
};

const REPORT = numbers.map((number) => `- ${nameOf(number)}: settle adds +${number}\n`).join('');

export const script: Script = {
  turns: [
    [
      ...numbers.flatMap(stepsOf),
      calls(write('REPORT.md', REPORT)),
      calls(read('REPORT.md'), sh('node --test test/*.test.mjs')),
      says('All 24 modules are corrected, each with its test, and REPORT.md lists them.'),
    ],
  ],
};
