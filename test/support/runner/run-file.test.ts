import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { allowNestedRuns } from './nested-runs.ts';
import { type FileResult, runFile } from './run-file.ts';

const pidIn = (file: string): number => Number(readFileSync(file, 'utf8'));

async function runText(t: TestContext, text: string, giveUpMs?: number): Promise<FileResult> {
  const root = tempDir(t);
  const lines = ["import { describe, test } from 'node:test';", "import assert from 'node:assert';", text];
  writeFileSync(join(root, 'it.test.ts'), lines.join('\n'));
  allowNestedRuns(t);
  return await runFile(root, 'it.test.ts', giveUpMs === undefined ? {} : { giveUpMs });
}

test('a file is counted by its tests, and every failed one is named with those around it', async (t) => {
  const result = await runText(
    t,
    `test('passes', () => {});
     test('is left out', { skip: 'for a reason' }, () => {});
     describe('a group', () => { test('holds', () => {}); test('does not', () => assert.fail('so')); });
     test('outer', async (t) => { await t.test('inner', () => assert.fail('so')); });`,
  );
  const { passed, failed, skipped, failures } = result;
  assert.deepEqual({ passed, failed, skipped }, { passed: 2, failed: 3, skipped: 1 });
  assert.deepEqual(failures, ['a group > does not', 'outer > inner', 'outer']);
  assert.match(result.output, /for a reason/);
  assert.doesNotMatch(result.output, /duration_ms \d/);
});

for (const [what, text] of [
  ['cannot be loaded', "import 'no-such-package';"],
  ['exits with an error', "test('passes', () => {}); process.exitCode = 3;"],
] as const)
  test(`a file that ${what} has failed`, async (t) => {
    const { failed, failures } = await runText(t, text);
    assert.deepEqual([failed, failures], [1, ['the file itself']]);
  });

test('the CPU time of a file has that of what it started', async (t) => {
  const burn = 'const until = process.cpuUsage().user + 300_000; while (process.cpuUsage().user < until);';
  const { cpuS } = await runText(
    t,
    `import { execFileSync } from 'node:child_process';
     test('starts a process', () => { execFileSync(process.execPath, ['-e', ${JSON.stringify(burn)}]); });
     test('hands its report to none', () => { assert.equal(process.env.CPU_REPORT, undefined); });`,
  );
  const nothing = await runText(t, "test('does nothing', () => {});");
  assert.ok((cpuS ?? 0) - (nothing.cpuS ?? 0) > 0.25, `${cpuS} beside ${nothing.cpuS}`);
});

test('a file that kills its process has no CPU time', async (t) => {
  const { failed, cpuS } = await runText(t, "test('ends', () => process.kill(process.pid, 'SIGKILL'));");
  assert.deepEqual([failed, cpuS], [1, undefined]);
});

test('a file whose process ends, but leaves one that holds its output open, has failed', async (t) => {
  const left = join(tempDir(t, { closeFirst: () => process.kill(pidIn(left), 'SIGKILL') }), 'left');
  const { failed, failures } = await runText(
    t,
    `import { spawn } from 'node:child_process';
     import { writeFileSync } from 'node:fs';
     test('passes', () => {
       const child = spawn('sleep', ['60'], { stdio: 'inherit', detached: true });
       child.unref();
       writeFileSync(${JSON.stringify(left)}, String(child.pid));
     });`,
    1_500,
  );
  assert.deepEqual([failed, failures], [1, ['the file itself, or a process that it left, does not end']]);
});
