import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { dirname } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog } from '@hermes-fleet/protocol/testing';
import { cannotConfine, makePlace } from '../../testing/place.ts';
import { COMMAND_ENV } from '../process/command-env.ts';
import { runCommand } from '../process/run-command.ts';
import { createConfinement } from './create-confinement.ts';

const LIMITS = { timeoutMs: 60_000, keepBytes: 10_000, maxBytes: 1e6, clock: systemClock };
/** Without the helper, which restricts the files of commands. */
const PROGRAMS = { landlock: '/nowhere/helper' };

for (const confine of ['bubblewrap', 'uid'] as const) {
  const skip = cannotConfine(confine);
  test(`${confine}: a server that all tasks share cannot put a link in the place of another`, {
    skip,
  }, async (t) => {
    const place = makePlace(t);
    const options = { ...place, confine, programs: PROGRAMS, clock: systemClock, log: silentLog };
    const { dir, wrap } = await (await createConfinement(options)).serverPlace('files');
    const run = (line: ReturnType<typeof wrap>) =>
      runCommand(line, { cwd: '/', env: COMMAND_ENV, ...LIMITS });
    const own = await run(wrap('/bin/sh', ['-c', 'cd "$1" && echo 1 > a && cat a', 'sh', dir]));
    assert.equal(own.stdout, '1\n', own.stderr);
    const before = statSync(place.stateDir);
    const planted = 'rmdir "$1" || mv "$1" "$1-moved"; ln -s "$2" "$1"';
    const { launch } = await createConfinement(options);
    await run(launch('/bin/sh', ['-c', planted, 'sh', dir, place.stateDir]));
    assert.equal((await (await createConfinement(options)).serverPlace('files')).dir, dir);
    const after = statSync(place.stateDir);
    assert.deepEqual([after.uid, after.gid, after.mode], [before.uid, before.gid, before.mode]);
    assert.equal(statSync(dirname(dir)).mode & 0o022, 0);
  });
}
