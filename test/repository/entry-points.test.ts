import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { ROOT } from '../support/fleet.ts';
import { packageFolders } from '../support/packages.ts';

/** Every program of the fleet that Node starts. */
const ENTRY_POINTS = packageFolders(ROOT)
  .map((folder) => `${folder}/src/main.ts`)
  .filter((file) => existsSync(join(ROOT, file)));

/** Node itself keeps those below the first gap from its children. Reports at the exit what a command that is started then would inherit. */
const REPORT = `
  import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
  process.on('exit', () => {
    const inherited = readdirSync('/proc/self/fd').filter((fd) => {
      try { return fd > 2 && (parseInt(/flags:\\s*(\\d+)/.exec(readFileSync('/proc/self/fdinfo/' + fd, 'utf8'))[1], 8) & 0o2000000) === 0; }
      catch { return false; }
    });
    writeFileSync(process.env.REPORT_FILE, inherited.join());
  });`;

test('every entry point closes what it inherited, except what an argument names', async (t) => {
  assert.deepEqual(ENTRY_POINTS, [
    'libs/cli/src/main.ts',
    'services/console/src/main.ts',
    'services/profile/src/main.ts',
    'services/trader/src/main.ts',
  ]);
  const dir = tempDir(t);
  const secret = join(dir, 'secret');
  writeFileSync(secret, 'secret');
  const handle = openSync(secret, 'r+');
  writeFileSync(join(dir, 'report.mjs'), REPORT);
  const inherited = async (entry: string, ...args: string[]): Promise<string> => {
    const report = join(dir, 'report');
    writeFileSync(report, 'nothing');
    const child = spawn(process.execPath, ['--import', join(dir, 'report.mjs'), join(ROOT, entry), ...args], {
      cwd: dir,
      env: { PATH: process.env.PATH, REPORT_FILE: report },
      stdio: Object.assign(Array(201).fill('ignore'), { 2: 'pipe', 63: handle, 200: handle }),
    });
    const [said] = await Promise.all([text(child.stderr ?? assert.fail()), once(child, 'exit')]);
    // An entry point that is called wrongly says so, and ends.
    assert.match(said, /no-such-option/, entry);
    return readFileSync(report, 'utf8');
  };
  // Descriptor 200 is closed, and 63 stays.
  for (const entry of ENTRY_POINTS)
    assert.equal(await inherited(entry, '--no-such-option', '/dev/fd/63'), '63', entry);
});
