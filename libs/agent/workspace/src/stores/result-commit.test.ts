import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { createGit } from '../git/git.ts';
import { commitFilesOf } from './result-commit.ts';

test('a commit that fails for another reason than its signature is not called one that cannot be signed', async (t) => {
  const folder = tempDir(t);
  const key = join(folder, 'key');
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', key]);
  const gitDir = join(folder, 'store.git');
  execFileSync('git', ['init', '-q', '--bare', gitDir]);
  const errors: string[] = [];
  const log = { ...silentLog, error: (_details: unknown, text = '') => void errors.push(text) };
  const git = createGit({ profile: 'neo', clock: systemClock, log });
  const wrap = (command: string, args: readonly string[]) => ({ command, args });
  const place = { cwd: folder, gitDir, workTree: undefined, wrap };
  const nothing = '0'.repeat(40);
  const parts = { files: nothing, parent: nothing, message: 'Task', folder };
  const made = commitFilesOf(git, place, parts, { signingKeyFile: key, log });
  await assert.rejects(made, { code: 'INTERNAL' });
  assert.deepEqual(errors, ['git cannot make a commit of a result']);
});
