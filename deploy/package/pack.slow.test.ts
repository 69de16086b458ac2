import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { folder } from '@hermes-fleet/installation';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { packCommit, packSources, sha256 } from './pack.ts';

const ROOT = folder();

test('two builds of the same files in different folders give the same bytes', (t) => {
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
    return sha256(packSources(ROOT, sources, join(dir, name, 'package'), 'a'.repeat(40)).file);
  });
  assert.equal(sums[0], sums[1]);
});

test('a checkout that differs from its commit is not packed, and the files are named', (t) => {
  const root = tempDir(t);
  execFileSync('git', ['init', '--quiet'], { cwd: root });
  writeFileSync(join(root, 'new.txt'), '');
  assert.throws(() => packCommit(root, join(root, '.cache')), /commit or stash them\n\?\? new\.txt$/);
});
