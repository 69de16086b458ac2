import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { DoctorReport } from '@hermes-fleet/protocol/api';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { examine } from '../local/entry-point.ts';
import { renderReport } from './doctor.ts';

const FINDINGS = [
  { subject: 'configuration', check: 'files', state: 'ok', detail: 'all there' },
  { subject: 'trinity', check: 'token', state: 'failed', detail: 'not accepted', fix: 'give it another' },
  { subject: 'stock', check: 'name', state: 'warning', detail: 'another', fix: 'look at it' },
];
const REPORT = DoctorReport.parse({ profile: 'neo', ok: false, findings: FINDINGS });

/** Examines a gateway with this program as its entry point. */
const examining = (t: TestContext, program: string) => {
  const dir = tempDir(t, { prefix: 'doctor-' });
  const entryPoint = join(dir, 'main.mjs');
  writeFileSync(entryPoint, program);
  return examine('neo', {
    command: [entryPoint, '--profile', 'neo'],
    env: { PATH: process.env.PATH, MARK: 'here' },
    cwd: dir,
  });
};

test('a report is read whatever the exit code', async (t) => {
  const report = await examining(
    t,
    `const report = { ...${JSON.stringify(REPORT)}, args: process.argv.slice(2), mark: process.env.MARK };
     process.stdout.write(JSON.stringify(report) + '\\n'); process.exitCode = 1;`,
  );
  assert.deepEqual(report, { ...REPORT, args: ['--profile', 'neo', '--doctor'], mark: 'here' });
});

test('a missing report is an error with the output of the process', async (t) => {
  await assert.rejects(examining(t, `console.error('no such profile'); process.exit(1);`), {
    code: 'CONFIG_INVALID',
    message: 'the checks of neo ended without a report: no such profile',
  });
  await assert.rejects(examining(t, `console.log('{"half":'); console.error('broke')`), /broke/);
});

test('a report is rendered with a line per check, the fixes and the number of failures', () => {
  assert.deepEqual(renderReport(REPORT), [
    'about          check  state    found',
    'configuration  files  ok       all there',
    'trinity        token  FAILED   not accepted',
    'stock          name   warning  another',
    '',
    'What to do:',
    '  trinity, token: give it another',
    '  stock, name: look at it',
    '',
    '1 of 3 checks failed',
  ]);
  assert.deepEqual(renderReport({ findings: REPORT.findings.slice(0, 1) }).at(-1), 'nothing failed');
});
