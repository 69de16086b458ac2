import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { recordingLog, silentLog, tempDir } from '@hermes-fleet/protocol/testing';
import { createCommittedFiles } from './committed-files.ts';
import { createGit } from './git.ts';

test('files of a commit are found by their whole name and read as they were', async (t) => {
  const dir = tempDir(t);
  const wrap = (command: string, args: readonly string[]) => ({ command, args });
  const git = createGit({ profile: 'neo', clock: systemClock, log: silentLog });
  const place = { cwd: dir, gitDir: join(dir, '.git'), workTree: dir, wrap };
  for (const path of [
    'b/a.md',
    'a.md',
    'xa.md',
    'aXmd',
    'a.md.txt',
    'b/c/é.md',
    'b/é.md',
    'c/a.md',
    'n\n/a.md',
  ]) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), 'aé');
  }
  const latin1 = 'mkdir "$(printf "a\\351")" && echo x > "$(printf "a\\351")/a.md"';
  execFileSync('sh', ['-c', latin1], { cwd: dir });
  execFileSync('git', ['init', '-q', dir]);
  await git.run(place, ['add', '.']);
  await git.run(place, ['commit', '-qm', 'Files']);
  writeFileSync(join(dir, 'a.md'), 'changed');
  const log = recordingLog();
  const files = createCommittedFiles(git, place, 'HEAD', log);
  assert.deepEqual(await files.named(['a.md', 'é.md']), ['a.md', 'b/a.md', 'b/é.md', 'c/a.md', 'b/c/é.md']);
  assert.deepEqual(await files.named(['none']), []);
  assert.deepEqual(await files.read('a.md', 3), { text: 'aé', bytes: 3 });
  assert.deepEqual(await files.read('a.md', 2), { text: 'a', bytes: 3 });
  for (const path of ['b', 'none', '../a.md', 'n\n/a.md', 'a.md\nHEAD:b/a.md'])
    assert.equal(await files.read(path, 9), undefined, path);
  assert.deepEqual(log.entries, []);
  const none = createCommittedFiles(git, place, 'f'.repeat(40), log);
  assert.deepEqual([await none.named(['a.md']), await none.read('a.md', 9)], [[], undefined]);
  assert.deepEqual(
    log.entries.map(({ message }) => message),
    ['the files of a commit cannot be listed'],
  );
});
