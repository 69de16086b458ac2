import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { runnable } from '../support/docs.ts';
import { runProgram } from '../support/fleet.ts';

test('the commands that need no fleet work as they are written', async () => {
  const blocks = runnable().filter(({ mark }) => mark === '');
  assert.ok(blocks.length >= 2, 'no block is marked to be run');
  for (const { file, script } of blocks) {
    const { code, stderr } = await runProgram('bash', ['-euo', 'pipefail', '-c', script], {
      env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
    });
    assert.equal(code, 0, `${file}:\n${script}\n${stderr}`);
  }
});
