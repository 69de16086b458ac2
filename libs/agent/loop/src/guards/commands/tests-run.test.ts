import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testsRun } from './tests-run.ts';

const OUTPUTS: [output: string, tests: number | undefined][] = [
  ['ok', undefined],
  ['', undefined],
  ['# tests 3\n# pass 3\n# fail 0', 3],
  ['ℹ tests 0\nℹ suites 0\nℹ pass 0', 0],
  ['ℹ tests 3\nℹ pass 0\nℹ skipped 3', 0],
  ['\u001b[34mℹ pass 2\u001b[39m', 2],
  ['collected 0 items\n\n=== no tests ran in 0.01s ===', 0],
  ['=== 3 passed, 1 skipped in 0.12s ===', 3],
  ['=== 3 skipped in 0.1s ===', 0],
  ['=== 4 deselected in 0.1s ===', 0],
  ['Tests: 0 total', 0],
  ['Tests:       5 passed, 5 total', 5],
  ['No tests found, exiting with code 0', 0],
  ['No test files found, exiting with code 0', 0],
  ['?   \tpkg\t[no test files]', 0],
  ['ok  \tpkg\t0.1s\n?   \tpkg2\t[no test files]', 1],
  ['ok  \tpkg\t0.002s [no tests to run]', 0],
  ['ok  \tpkg\t(cached)', 1],
  ['running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored', 0],
  ['running 2 tests\ntest result: ok. 2 passed; 0 failed\nrunning 0 tests\ntest result: ok. 0 passed', 2],
  ['Ran 0 tests in 0.000s\n\nOK', 0],
  ['Ran 3 tests in 0.004s\n\nOK', 3],
  ['  0 passing (1ms)', 0],
  ['  3 passing (4ms)', 3],
  ['1..0', 0],
  ['1..4\nok 1\nok 2', 4],
  ['Tests run: 4, Failures: 0', 4],
  ['5 examples, 0 failures', 5],
  ['0 examples, 0 failures', 0],
  ['1/1 Test #1: a ....   Passed    0.00 sec\n\n100% tests passed, 0 tests failed out of 1', 1],
];

for (const [output, tests] of OUTPUTS) {
  test(`the number of tests is read from ${JSON.stringify(output)}`, () =>
    assert.equal(testsRun(output), tests));
}

test('a long output is examined at both ends, in bounded time', () => {
  const noise = '\n'.repeat(2_000_000);
  assert.equal(testsRun(`${noise}3 passed`), 3);
  assert.equal(testsRun(`3 passed${noise}`), 3);
  for (const hostile of ['tests: ', ' ', 'ok  ', '1', '0 tests ', '\n* ', 'passed: '])
    testsRun(hostile.repeat(300_000));
});
