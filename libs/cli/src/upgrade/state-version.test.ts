import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { failure } from '../../testing/fleet-folder.ts';
import { checkVersion, recordedVersion, recordVersion, versionFile } from './state-version.ts';

test('the version of a state is beside its keys, or with those of the operator where these are all there is', (t) => {
  const dir = tempDir(t);
  assert.equal(versionFile(join(dir, 'keys')), join(dir, 'version'));
  assert.equal(versionFile(join(dir, 'none/yet/keys')), join(dir, 'none/yet/version'));
  assert.equal(versionFile(join(dir, 'elsewhere')), join(dir, 'elsewhere/operator/version'));
  // No file can be made there, not even by root, as in the read-only image of a container.
  assert.equal(versionFile('/proc/self/keys'), '/proc/self/keys/operator/version');
});

test('a state of an older version, or without one, is taken over; one of a newer version is refused', (t) => {
  const file = join(tempDir(t), 'fleet/version');
  assert.equal(recordedVersion(file), undefined);
  checkVersion(file, '0.2.0');
  recordVersion(file, '0.2.0');
  checkVersion(file, '0.3.0-rc.1');
  recordVersion(file, '0.3.0-rc.1');
  assert.equal(readFileSync(file, 'utf8'), '0.3.0-rc.1\n');
  checkVersion(file, '0.3.0');
  assert.throws(
    () => checkVersion(file, '0.2.9'),
    failure(
      'CONFIG_INVALID',
      /fleet was written by 0\.3\.0-rc\.1, this is 0\.2\.9: install 0\.3\.0-rc\.1 or a later one/,
    ),
  );
  writeFileSync(file, 'latest');
  assert.throws(
    () => checkVersion(file, '0.3.0'),
    failure('CONFIG_INVALID', /version holds no version: write the one/),
  );
});
