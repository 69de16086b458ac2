import assert from 'node:assert/strict';
import { test } from 'node:test';
import { overLimits, scaleOf } from './cpu-limits.ts';
import { REFERENCE_CPU_S } from './reference.ts';
import { closingLines } from './report.ts';
import type { FileResult } from './run-file.ts';

const resultOf = (file: string, cpuS: number, failures: readonly string[] = []): FileResult => ({
  file,
  seconds: 2 * cpuS,
  cpuS,
  passed: 2,
  failed: failures.length,
  skipped: 1,
  failures,
  output: '',
});

test('the last lines name the most expensive files and every failed test, and count', () => {
  const results = [resultOf('libs/a.test.ts', 1), resultOf('libs/b.test.ts', 12.34, ['it > fails'])];
  assert.deepEqual(closingLines(results), [
    'the files that used most CPU time:',
    '    12.3 CPU s in   24.7 s  libs/b.test.ts',
    '     1.0 CPU s in    2.0 s  libs/a.test.ts',
    'failed tests:',
    '  libs/b.test.ts: it > fails',
    '2 files used 13 CPU seconds',
    '4 passed, 1 failed, 2 skipped',
  ]);
  assert.equal(closingLines(Array.from({ length: 30 }, () => resultOf('a', 1))).length, 1 + 20 + 2);
});

test('a file that did not run counts as a skipped test, a limit that was passed as a failed one', () => {
  const lines = closingLines([resultOf('a', 1)], {
    notRun: ['b'],
    leftOut: ['c'],
    overLimits: ['too much'],
  });
  assert.match(lines[2] ?? '', /^left out/);
  assert.deepEqual(lines.slice(3), [
    ...['  c', 'not run, because the time was over:', '  b', 'failed tests:', '  too much'],
    ...['1 files used 1 CPU seconds', '2 passed, 1 failed, 2 skipped'],
  ]);
});

test('a fast file above its limit is told what to do; a slow file has no limit', () => {
  const [line, ...others] = overLimits(
    [resultOf('libs/a.test.ts', 10.1), resultOf('libs/b.test.ts', 9.9), resultOf('libs/c.slow.test.ts', 80)],
    1,
  );
  assert.equal(
    line,
    'libs/a.test.ts used 10.1 CPU seconds, more than 8.0 (8 on an ordinary machine): make it cheaper, or rename it to libs/a.slow.test.ts',
  );
  assert.deepEqual(others, []);
  assert.deepEqual(overLimits([resultOf('libs/a.test.ts', 19.9)], 2), []);
  assert.deepEqual(overLimits([resultOf('test/fleet/promises.test.ts', 100)], 1), []);
});

test('the fast files together have a limit, and the most expensive are named', () => {
  const files = Array.from({ length: 200 }, (_, at) => resultOf(`libs/${at}.test.ts`, 5));
  assert.deepEqual(overLimits(files, 1), []);
  const [line] = overLimits([...files, resultOf('libs/last.test.ts', 6)], 1);
  assert.match(
    line ?? '',
    /^the files of make test used 1006\.0 CPU seconds, more than 1000\.0 .* libs\/last\.test\.ts, /,
  );
});

test('the scale is the median of the measured reference work', () => {
  const measured = [3, 9, 1].map((times) => times * REFERENCE_CPU_S);
  assert.equal(scaleOf(measured), 3);
  assert.equal(scaleOf([]), 1);
  assert.equal(scaleOf([REFERENCE_CPU_S / 2]), 1, 'a fast machine makes no limit smaller');
});
