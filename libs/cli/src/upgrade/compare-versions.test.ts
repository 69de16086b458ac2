import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareVersions } from './compare-versions.ts';

test('versions are ordered by Semantic Versioning, pre-releases before their release and build metadata without order', () => {
  const ascending = [
    '0.2.0',
    '0.10.0-alpha',
    '0.10.0-alpha.1',
    '0.10.0-alpha.beta',
    '0.10.0-beta',
    '0.10.0-beta.2',
    '0.10.0-beta.11',
    '0.10.0-rc.1',
    '0.10.0',
    '1.0.0-x-y.7',
    '1.0.0',
    '99999999999999999999.0.0',
    '99999999999999999999.0.1',
  ];
  for (const [at, a] of ascending.entries())
    for (const [other, b] of ascending.entries())
      assert.equal(Math.sign(compareVersions(a, b)), Math.sign(at - other), `${a} and ${b}`);
  assert.equal(compareVersions('1.0.0+a', '1.0.0+b'), 0);
});
