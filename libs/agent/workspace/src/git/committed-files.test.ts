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
    'b/AGENTS.md',
    'AGENTS.md',
    'xAGENTS.md',
    'AGENTSXmd',
    'AGENTS.md.txt',
    'b/é/CLAUDE.md',
    'b/CLAUDE.md',
    'c/AGENTS.md',
    'n\n/AGENTS.md',
  ]) {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), 'aé');
  }
  const latin1 = 'mkdir "$(printf "a\\351")" && echo x > "$(printf "a\\351")/AGENTS.md"';
  execFileSync('sh', ['-c', latin1], { cwd: dir });
  execFileSync('git', ['init', '-q', dir]);
  await git.run(place, ['add', '.']);
  await git.run(place, ['commit', '-qm', 'Files']);
  writeFileSync(join(dir, 'AGENTS.md'), 'changed');
  const log = recordingLog();
  const files = createCommittedFiles(git, place, 'HEAD', log);
  assert.deepEqual(await files.named(['AGENTS.md', 'CLAUDE.md']), [
    'AGENTS.md',
    'b/AGENTS.md',
    'b/CLAUDE.md',
    'c/AGENTS.md',
    'b/é/CLAUDE.md',
  ]);
  assert.deepEqual(await files.named(['CLAUDE.md']), ['b/CLAUDE.md', 'b/é/CLAUDE.md']);
  assert.deepEqual(await files.read('AGENTS.md', 3), { text: 'aé', bytes: 3 });
  assert.deepEqual(await files.read('AGENTS.md', 2), { text: 'a', bytes: 3 });
  for (const path of ['b', 'none', '../AGENTS.md', 'n\n/AGENTS.md', 'AGENTS.md\nHEAD:b/AGENTS.md'])
    assert.equal(await files.read(path, 9), undefined, path);
  assert.deepEqual(log.entries, []);
  const none = createCommittedFiles(git, place, 'f'.repeat(40), log);
  assert.deepEqual([await none.named(['AGENTS.md']), await none.read('AGENTS.md', 9)], [[], undefined]);
  assert.deepEqual(
    log.entries.map(({ message }) => message),
    ['the files of a commit cannot be listed'],
  );
});

test('the submodules of a commit are found, and the patterns whose files are pointers of Git LFS', async (t) => {
  const dir = tempDir(t);
  const wrap = (command: string, args: readonly string[]) => ({ command, args });
  const git = createGit({ profile: 'neo', clock: systemClock, log: silentLog });
  const place = { cwd: dir, gitDir: join(dir, '.git'), workTree: dir, wrap };
  const files = createCommittedFiles(git, place, 'HEAD', silentLog);
  execFileSync('git', ['init', '-q', dir]);
  mkdirSync(join(dir, 'a/AGENTS.md'), { recursive: true });
  writeFileSync(join(dir, '.gitattributes'), ATTRIBUTES);
  writeFileSync(join(dir, 'a/.gitattributes'), '*.iso filter=lfs\n');
  for (const path of ['lib/x', 'a/AGENTS.md']) {
    execFileSync('git', ['init', '-q', join(dir, path)]);
    await git.run({ ...place, cwd: join(dir, path), gitDir: undefined, workTree: undefined }, [
      ...['commit', '-q', '--allow-empty', '-m', 'Module'],
    ]);
  }
  await git.run(place, ['add', '.']);
  await git.run(place, ['commit', '-qm', 'Files']);
  assert.deepEqual(await files.notFollowed(), {
    submodules: ['a/AGENTS.md', 'lib/x'],
    pointers: ['*.bin', 'a b.psd', '*.sp', 'a/*.iso'],
  });
  assert.deepEqual(await files.named(['AGENTS.md']), []);
});

const ATTRIBUTES = `*.bin filter=lfs diff=lfs merge=lfs -text
"a b.psd" filter=lfs -text
[attr]large filter=lfs
# *.x filter=lfs
*.txt text
*.no filter=lfsx
  *.sp\tfilter=lfs`;
