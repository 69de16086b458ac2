import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { allowNestedRuns } from './nested-runs.ts';
import { type Ran, runFiles } from './run-batch.ts';

const AGAIN = /ran again in its own/;
const PASSES = "test('passes', () => {});";

/** Runs files with these texts, named a, b and so on. */
async function runTexts(t: TestContext, texts: readonly string[], giveUpMs?: number): Promise<Ran> {
  const root = tempDir(t);
  const files = texts.map((_, at) => `${'abc'[at]}.test.ts`);
  for (const [at, text] of texts.entries())
    writeFileSync(
      join(root, files[at] ?? ''),
      `import { beforeEach, describe, test } from 'node:test'; import assert from 'node:assert'; ${text}`,
    );
  allowNestedRuns(t);
  return await runFiles(root, files, giveUpMs);
}

const countsOf = ({ results }: Ran) =>
  results.map(({ file, passed, failed, skipped }) => ({ file, passed, failed, skipped }));

test('files that pass in one process are counted each, like in a process of their own', async (t) => {
  const ran = await runTexts(t, [
    `globalThis.pid = process.pid;
     beforeEach(() => { globalThis.runs = (globalThis.runs ?? 0) + 1; });
     test('is left out', { skip: 'for a reason' }, () => {});
     test('is to be written', { todo: true });
     describe('a group', () => { test('holds', () => {}); });
     await new Promise(setImmediate);
     test('outer', async (t) => { await t.test('inner', () => {}); });`,
    `test('shares the process', () => assert.equal(globalThis.pid, process.pid));
     const { runs } = globalThis;
     test('has no hooks of others', () => assert.equal(globalThis.runs, runs ?? globalThis.runs));`,
  ]);
  assert.deepEqual(countsOf(ran), [
    { file: 'a.test.ts', passed: 3, failed: 0, skipped: 2 },
    { file: 'b.test.ts', passed: 2, failed: 0, skipped: 0 },
  ]);
  assert.ok(ran.results.every(({ cpuS = 0 }) => cpuS > 0));
  assert.doesNotMatch(ran.output, AGAIN);
  assert.match(ran.output, /a\.test\.ts.*outer.*b\.test\.ts.*shares the process/s);
});

for (const [what, text] of [
  ['fails', "test('it', () => assert.fail('so'));"],
  ['cannot be loaded', "import 'no-such-package';"],
  ['sets an exit code', `${PASSES} process.exitCode = 3;`],
  ['kills its process', "test('it', () => process.kill(process.pid, 'SIGKILL'));"],
  ['fails after its last test', "test('it', () => { setTimeout(() => { throw new Error('late'); }, 10); });"],
] as const)
  test(`a file that ${what} has failed, and the others of its batch have not`, async (t) => {
    const ran = await runTexts(t, [PASSES, text, PASSES]);
    assert.deepEqual(
      ran.results.map(({ failed }) => failed),
      [0, 1, 0],
    );
    assert.match(ran.output, AGAIN);
  });

test('a file that passes only by itself passes', async (t) => {
  const once = 'assert.ok(!globalThis.taken); globalThis.taken = true;';
  const ran = await runTexts(t, [`test('takes', () => { ${once} });`, `test('takes', () => { ${once} });`]);
  assert.deepEqual(
    countsOf(ran).map(({ passed, failed }) => [passed, failed]),
    [
      [1, 0],
      [1, 0],
    ],
  );
  assert.match(ran.output, AGAIN);
});

test('a file that ends the process early does not take the others with it', async (t) => {
  const ran = await runTexts(t, ["test('ends', () => process.exit(0));", `${PASSES} ${PASSES}`]);
  assert.deepEqual(ran.results[1]?.passed, 2);
  assert.match(ran.output, AGAIN);
});

test('a batch that hangs is given up, and its files run by themselves', async (t) => {
  const hangs = "if (globalThis.first) test('waits', () => new Promise((r) => setTimeout(r, 60_000)));";
  const ran = await runTexts(t, [`globalThis.first = true; ${PASSES}`, `${hangs} ${PASSES}`], 2_000);
  assert.deepEqual(
    ran.results.map(({ passed, failed }) => [passed, failed]),
    [
      [1, 0],
      [1, 0],
    ],
  );
  assert.match(ran.output, AGAIN);
});
