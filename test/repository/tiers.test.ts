import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../support/fleet.ts';
import { ALONE } from '../support/runner/schedule.ts';
import { FOLDERS, findTestFiles, SHARED, tierOf } from '../support/runner/test-files.ts';

/** Starts members as processes or containers, by the functions of test/support that do, or asks for an engine itself. */
const STARTS =
  /^import [^;]*\b(startFleet|startProfile|startTrader|startConsole|composeProject|withoutEngine)\b[^;]* from '[^']*support\/[^']*'|\bdocker\(\['version'\]\)/m;

const files = findTestFiles(ROOT, FOLDERS);

test('no fast file but the shared ones starts a fleet, a profile with the helpers of fleets, or containers', () => {
  const wrong = files
    .filter((file) => tierOf(file) === 'fast' && !(file in SHARED))
    .filter((file) => STARTS.test(readFileSync(join(ROOT, file), 'utf8')));
  assert.deepEqual(wrong, [], 'rename them to .slow.test.ts');
});

test('the files that the runner treats specially exist', () => {
  for (const file of [...Object.keys(SHARED), ...Object.keys(ALONE)])
    assert.ok(existsSync(join(ROOT, file)), file);
});
