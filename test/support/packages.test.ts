import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { packageFolders, packageOf } from './packages.ts';

test('a package is a folder of libs or services, or of a group in libs, that has a package.json', (t) => {
  const root = tempDir(t);
  const folders = ['libs/core/store', 'libs/cli', 'services/profile', 'libs/cli/node_modules/x', 'deploy'];
  for (const folder of folders) {
    mkdirSync(join(root, folder), { recursive: true });
    writeFileSync(join(root, folder, 'package.json'), '{}');
  }
  assert.deepEqual(packageFolders(root), ['libs/cli', 'libs/core/store', 'services/profile']);
});

test('a file belongs to the package above its src, testing or fixtures', () => {
  const cases: readonly [string, string | undefined][] = [
    ['libs/core/store/src/testing/x.ts', 'libs/core/store'],
    ['libs/core/store/testing/src/x.ts', 'libs/core/store'],
    ['libs/core/protocol/fixtures/2.0/x.json', 'libs/core/protocol'],
    ['libs/cli/src/commands/x.ts', 'libs/cli'],
    ['services/profile/package.json', 'services/profile'],
    ['test/support/src/x.ts', undefined],
    ['libs/core/README.md', undefined],
  ];
  for (const [file, folder] of cases) assert.equal(packageOf(file), folder, file);
});
