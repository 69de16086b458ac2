import {
  after,
  calls,
  edit,
  type Files,
  failing,
  grep,
  read,
  type Script,
  says,
  sh,
} from '../script/script.ts';

const ZONES = 600;
const BROKEN = 417;

const tariff = (zone: number): string => `/** Zone ${zone}: the price in cents for a weight in grams. */
export function zone${zone}(weight, express) {
  const base = express ? ${zone * 9 + 400} : ${zone * 7 + 300};
  if (weight ${zone === BROKEN ? '>' : '>='} ${zone * 10}) return base + ${zone} * 3;
  return base;
}

`;

const SOURCE = Array.from({ length: ZONES }, (_, at) => tariff(at + 1)).join('');

export const files: Files = {
  'src/tariffs.mjs': `// Generated from tariffs.csv.\n\n${SOURCE}`,
  'test/tariffs.test.mjs': `import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as tariffs from '../src/tariffs.mjs';

test('the limit of each zone belongs to the heavy class', () => {
  for (let zone = 1; zone <= ${ZONES}; zone += 1) {
    const price = tariffs['zone' + zone];
    assert.equal(price(zone * 10, false), zone * 7 + 300 + zone * 3, 'zone ' + zone);
    assert.equal(price(zone * 10 - 1, true), zone * 9 + 400, 'zone ' + zone);
  }
});
`,
};

export const script: Script = {
  turns: [
    [
      calls(failing(sh('node --test test/tariffs.test.mjs')), grep('function zone417\\(', 'src')),
      after([/zone 417/, /src\/tariffs\.mjs:2916/], read('src/tariffs.mjs', 2910, 20)),
      after([/weight > 4170/], edit('src/tariffs.mjs', 'weight > 4170)', 'weight >= 4170)')),
      calls(sh('node --test test/tariffs.test.mjs')),
      says('In zone417 the comparison left out the limit itself; it is `>=` now, as everywhere else.'),
    ],
  ],
};
