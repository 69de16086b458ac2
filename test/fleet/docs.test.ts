import assert from 'node:assert/strict';
import { symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { runnable } from '../support/docs.ts';
import { ROOT, runProgram, startFleet } from '../support/fleet.ts';

test('the commands of the documents that need a fleet work as they are written, on its addresses', async (t) => {
  const fleet = await startFleet(t);
  const blocks = runnable().filter(({ mark }) => mark.startsWith('fleet '));
  assert.ok(blocks.length >= 4, 'no block is marked to be run on a fleet');
  const cwd = tempDir(t);
  symlinkSync(fleet.dir, join(cwd, '.fleet'));
  symlinkSync(join(ROOT, 'deploy'), join(cwd, 'deploy'));
  const cli = `node '${join(ROOT, 'libs/cli/src/main.ts')}'`;
  const token = `${cli} token --dir .fleet/keys`;
  writeFileSync(join(cwd, 'fleet'), `#!/bin/sh\nexec ${cli} "$@" --dir .fleet\n`, { mode: 0o755 });
  for (const { file, mark, script } of blocks) {
    const here = script
      .replaceAll('make -s token', token)
      .replaceAll('http://127.0.0.1:9219', fleet.target('switch').url)
      .replaceAll('http://127.0.0.1:9223', fleet.target('trader').url);
    const { code, stdout, stderr } = await runProgram('bash', ['-euo', 'pipefail', '-c', here], {
      cwd,
      env: { ...process.env, PATH: `${dirname(process.execPath)}:${process.env.PATH}` },
    });
    assert.equal(code, 0, `${file}:\n${here}\n${stderr}`);
    const wanted = mark.slice('fleet '.length);
    assert.ok(stdout.includes(wanted), `${file}: ${wanted} is not in\n${stdout}`);
  }
});
