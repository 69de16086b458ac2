import assert from 'node:assert/strict';
import { chownSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { findFolder } from './fleet-folder.ts';

/** Neither root nor whoever runs the tests. */
const OTHER = 54_321;

test('a fleet above the working folder is taken only from a user that is trusted, and one that is named from anybody', (t) => {
  const root = tempDir(t);
  const cwd = join(root, 'below');
  mkdirSync(cwd);
  const files = [root, join(root, 'members.yaml'), join(root, '.env.local')];
  for (const file of files.slice(1)) writeFileSync(file, '');
  const isRoot = statSync(root).uid === 0;
  const me = isRoot ? 0 : OTHER;
  const at = (env: NodeJS.ProcessEnv): string | undefined => findFolder(env, cwd, me)?.root;
  for (const file of files) {
    // Only root can give a file away; another user is a stranger to its own files here.
    if (isRoot) chownSync(file, OTHER, OTHER);
    assert.throws(() => at({}), {
      code: 'CONFIG_INVALID',
      message: /belongs to another user .* FLEET_FOLDER=/,
    });
    assert.equal(at({ FLEET_FOLDER: root }), root);
    if (isRoot) assert.equal(at({ SUDO_UID: String(OTHER) }), root);
    if (isRoot) chownSync(file, 0, 0);
  }
  assert.equal(findFolder({}, cwd, statSync(root).uid)?.root, root);
});
