import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { folder } from '@hermes-fleet/installation';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { packCommit, packSources } from './pack.ts';
import { writeRelease } from './release.ts';

const ROOT = folder();

test('two releases of the same files in different folders have the same bytes', (t) => {
  // On the file system of the installed packages, which are linked.
  mkdirSync(join(ROOT, '.cache'), { recursive: true });
  const dir = tempDir(t, { parent: join(ROOT, '.cache') });
  const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: ROOT,
    encoding: 'utf8',
  })
    .split('\0')
    .filter(Boolean);
  const sums = ['one', 'another/deeper'].map((name) => {
    const sources = join(dir, name, 'sources');
    for (const path of files) {
      mkdirSync(dirname(join(sources, path)), { recursive: true });
      cpSync(join(ROOT, path), join(sources, path));
    }
    const packed = packSources(ROOT, sources, join(dir, name, 'package'), 'a'.repeat(40));
    const release = join(dir, name, 'release');
    writeRelease(ROOT, packed, release, '## 1.0.0\n');
    execFileSync('sha256sum', ['--check', '--quiet', 'SHA256SUMS'], { cwd: release });
    return readFileSync(join(release, 'SHA256SUMS'), 'utf8');
  });
  assert.equal(sums[0], sums[1]);
  assert.equal(sums[0]?.split('\n').length, 6);
});

test('a checkout that differs from its commit is not packed, and the files are named', (t) => {
  const root = tempDir(t);
  execFileSync('git', ['init', '--quiet'], { cwd: root });
  writeFileSync(join(root, 'new.txt'), '');
  assert.throws(() => packCommit(root, join(root, '.cache')), /commit or stash them\n\?\? new\.txt$/);
});
