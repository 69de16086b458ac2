import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JournalEntry } from '../run/run-state.ts';
import { lastChange } from './evidence.ts';

const WROTE: JournalEntry = { tool: 'write_file', ok: true, detail: 'a' };
const ran = (detail: string, exitCode: number): JournalEntry => ({
  tool: 'shell_exec',
  ok: exitCode === 0,
  detail,
  exit_code: exitCode,
});
const refused = (tool: string): JournalEntry => ({ tool, ok: false, refused: true, detail: 'no such tool' });

test('a refused call to keep notes changes nothing, one to write does', () => {
  for (const tool of 'TodoWrite create_task save_memory write_plan progress_edit append_note'.split(' '))
    assert.equal(lastChange([WROTE, refused(tool)]), WROTE, tool);
  for (const tool of ['Write', 'NotebookEdit', 'apply_patch', 'create_file', 'str_replace'])
    assert.equal(lastChange([WROTE, refused(tool)])?.tool, tool);
});

test('a search of what tests print answers a question, whatever it finds', () => {
  for (const line of [
    'npm test 2>&1 | grep FAIL',
    'cd a && npm test 2>&1 | grep -c FAIL',
    'npx tsc --noEmit | rg "error TS"',
    'make 2>&1 | tail -50 | grep -i warning',
  ])
    assert.equal(lastChange([WROTE, ran(line, 1)]), WROTE, line);
  for (const line of [
    'npm test',
    'set -o pipefail; npm test | grep FAIL',
    'npm test && grep FAIL log',
    'npm test; [ $? = 0 ]',
    'sed -i s/a/b/ a.ts; grep b a.ts',
    'npm test | tee log | grep FAIL',
    './deploy | grep done',
  ])
    assert.equal(lastChange([WROTE, ran(line, 1)])?.detail, line);
  assert.equal(lastChange([WROTE, ran('npm test | grep -Z FAIL', 2)])?.exit_code, 2, 'grep failed');
});
