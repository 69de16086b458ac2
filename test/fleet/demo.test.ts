import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { readRun } from '../../docs/picture/read-run.ts';
import { ROOT, runProgram, startFleet } from '../support/fleet.ts';

const CLI = join(ROOT, 'libs/cli/src/main.ts');

test('the demo of a real fleet goes as it says', async (t) => {
  const fleet = await startFleet(t);
  const { code, stdout, stderr } = await runProgram(process.execPath, [CLI, 'demo', '--dir', fleet.dir]);
  assert.equal(code, 0, `${stdout}\n${stderr}`);
  for (const says of [
    /switch has heard from all of its peers/,
    /Routed: .*status +done\n +worker +(neo|morpheus|trinity)\n +files +hello\.txt/s,
    /Blocked: .*status +blocked\n +reason +[^\n]*"nope"[^\n]*\n +tokens +0/s,
    /Passed on: .*- neo +blocked.*tokens +0/s,
    /Plain text: .*files +note\.txt/s,
    /Decided: .*dry run +noop, would be applied\n +decision +applied: .* -> .*\n +its copy +noop: duplicate_decision\n +and back +applied: /s,
    /fleet_tokens_spent_total +\+[1-9]/,
  ])
    assert.match(stdout, says);
  assert.ok(readRun(stdout).routed.tokens > 0, 'the picture of the README reads the same output');
});
