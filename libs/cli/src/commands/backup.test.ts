import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fleetFolder } from '../../testing/fleet-folder.ts';
import { fleet } from '../../testing/profile-stub.ts';

test('an older program makes no backup of a newer state, which it would name as its own', async (t) => {
  const { dir } = fleetFolder(t);
  writeFileSync(join(dir, 'version'), '999.0.0\n');
  const file = join(dir, '../backup.tar.zst');
  const { code, stderr } = await fleet(['backup', file, '--dir', dir]);
  assert.equal(code, 1);
  assert.match(stderr, /was written by 999\.0\.0.*install 999\.0\.0/);
  assert.equal(existsSync(file), false);
});
