import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { recordingLog } from '@hermes-fleet/protocol/testing';
import { committedFiles, openTestContexts, setUpBy } from '../../testing/index.ts';

test('what a task adds to a folder of the set-up is work, and what the set-up left is not', {
  timeout: 120_000,
}, async (t) => {
  const { path } = committedFiles(t, { 'src/a.ts': '1\n', '.gitignore': '/ignored\n' });
  const setUp = setUpBy([
    'mkdir -p reports src/gen empty; echo 1 > src/gen/api.ts',
    'mkdir -p lib/node_modules cache; echo 1 > lib/node_modules/id; echo 1 > cache/id',
    "echo 'Signature: 8a477f597d28d172789f06886806bc55' > cache/CACHEDIR.TAG",
    'for name in added local hidden; do echo 1 > "$name"; done',
    'git add added; echo /local >> .git/info/exclude; echo /hidden >> .gitignore',
  ]);
  const contexts = await openTestContexts(t, { path, setUp });
  const work = `cat src/gen/api.ts lib/node_modules/id cache/id added local hidden; ls -d reports empty
    git status --porcelain --untracked-files=all
    echo r > reports/result.md; echo h > src/gen/handwritten.ts; echo 2 > src/gen/api.ts; echo n > empty/new
    echo n > lib/node_modules/new; echo n > cache/new`;
  const { stdout, stderr, changed, left } = await contexts.task('one', work);
  assert.deepEqual([stdout, stderr], [`${'1\n'.repeat(6)}empty\nreports\n`, '']);
  assert.deepEqual(changed, ['empty/new', 'reports/result.md', 'src/gen/handwritten.ts']);
  assert.equal(left, undefined);
});

test('a set-up that fetched a submodule is logged, because contexts do not get the files', {
  timeout: 120_000,
}, async (t) => {
  const { path } = committedFiles(t, { 'a.ts': '1\n' });
  const id = execFileSync('git', ['-C', path, 'rev-parse', 'HEAD'], { encoding: 'utf8' }).trim();
  execFileSync('git', ['-C', path, 'update-index', '--add', '--cacheinfo', `160000,${id},sub`]);
  const identity = ['-c', 'user.name=u', '-c', 'user.email=u@localhost'];
  execFileSync('git', ['-C', path, ...identity, 'commit', '-q', '-m', 'A submodule']);
  const log = recordingLog();
  const setUp = setUpBy(['mkdir -p sub; echo 1 > sub/file; echo 1 > other']);
  const contexts = await openTestContexts(t, { path, setUp, log });
  const { stdout } = await contexts.task('one', 'cat other; ls sub');
  assert.equal(stdout, '1\n');
  const entry = log.entries.find(({ message }) => /files of submodules/.test(message));
  assert.deepEqual({ ...entry?.fields, commit: 0 }, { commit: 0, submodules: ['sub'] });
});
