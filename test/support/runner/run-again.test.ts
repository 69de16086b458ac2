import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { allowNestedRuns } from './nested-runs.ts';
import { runAgain } from './run-again.ts';
import type { FileResult } from './run-file.ts';

const resultOf = (file: string, failures: readonly string[]): FileResult => {
  const failed = failures.length;
  return { file, seconds: 1, cpuS: 1, passed: failed > 0 ? 0 : 1, failed, skipped: 0, failures, output: '' };
};

test('a file that failed runs again alone, and its second result counts', async (t) => {
  const root = tempDir(t);
  const text = (body: string): string => `import { test } from 'node:test'; test('it', () => { ${body} });`;
  writeFileSync(join(root, 'a.test.ts'), text(''));
  writeFileSync(join(root, 'b.test.ts'), text("throw new Error('no');"));
  writeFileSync(join(root, 'c.test.ts'), text("throw new Error('never run again');"));
  allowNestedRuns(t);
  const printed: string[] = [];
  const first = [resultOf('a.test.ts', ['it']), resultOf('b.test.ts', ['it']), resultOf('c.test.ts', [])];
  const { results, lines } = await runAgain(root, first, (output) => printed.push(output));
  assert.deepEqual(
    results.map(({ file, passed, failed, failures }) => ({ file, passed, failed, failures })),
    [
      { file: 'a.test.ts', passed: 1, failed: 0, failures: [] },
      { file: 'b.test.ts', passed: 0, failed: 1, failures: ['it'] },
      { file: 'c.test.ts', passed: 1, failed: 0, failures: [] },
    ],
  );
  assert.deepEqual(lines, ['  a.test.ts: passed; before: it', '  b.test.ts: failed again; before: it']);
  assert.match(printed.join('\n'), /a\.test\.ts, run again alone.*b\.test\.ts, run again alone/s);
});

for (const [what, body] of [
  ['skips a test', "test('it', { skip: 'no engine answers' }, () => {}); test('other', () => {});"],
  ['has fewer tests', "test('it', () => {});"],
] as const)
  test(`a second run that ${what} does not count`, async (t) => {
    const root = tempDir(t);
    writeFileSync(join(root, 'a.test.ts'), `import { test } from 'node:test'; ${body}`);
    allowNestedRuns(t);
    const first = [resultOf('a.test.ts', ['it', 'other'])];
    const { results, lines } = await runAgain(root, first, () => {});
    assert.deepEqual(results, first);
    assert.deepEqual(lines, ['  a.test.ts: ran fewer tests, which does not count; before: it, other']);
  });

test('a file with random cases runs again with the same ones, or not at all', async (t) => {
  const root = tempDir(t);
  const text = "test('it', () => { if (process.env.SAMPLE_FROM !== '7') throw new Error(); });";
  writeFileSync(join(root, 'a.test.ts'), `import { test } from 'node:test'; ${text}`);
  allowNestedRuns(t);
  const drew = (output: string): FileResult => ({ ...resultOf('a.test.ts', ['it']), output });
  const outcome = async (output: string): Promise<string> =>
    (await runAgain(root, [drew(output)], () => {})).lines.join();
  assert.match(await outcome('1 of 9 cases: SAMPLE_FROM=7'), /passed; before: it/);
  assert.match(await outcome('1 of 9 cases: SAMPLE_FROM=6'), /failed again/);
  for (const output of [
    'SAMPLE_FROM=7 and SAMPLE_FROM=6',
    'Property failed after 3 tests { seed: -12, path: "2" }',
  ])
    assert.match(await outcome(output), /not run again, because its random cases would be others/);
});

test('once the time is over, none runs again', async () => {
  const first = [resultOf('a.test.ts', ['it'])];
  const leftMs = (): number => 0;
  assert.deepEqual(await runAgain('/nowhere', first, () => assert.fail(), leftMs), {
    results: first,
    lines: [],
  });
});

test('when many files failed, none runs again', async () => {
  const first = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => resultOf(name, ['it']));
  const ran = await runAgain('/nowhere', first, () => assert.fail());
  assert.deepEqual(ran, { results: first, lines: [] });
});
