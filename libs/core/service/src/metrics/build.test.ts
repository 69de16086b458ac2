import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import { registerBuild } from './build.ts';

test('the build is shown with its version and revision, and a revision that is no name as unknown', async () => {
  for (const [revision, shown] of [
    ['1a2b3c4-changed', '1a2b3c4-changed'],
    [undefined, 'unknown'],
    ['', 'unknown'],
    ['a"} 1\nforged 1', 'unknown'],
  ]) {
    const registry = new Registry();
    registerBuild(registry, { version: '1.2.3', revision });
    assert.match(
      await registry.metrics(),
      new RegExp(`^fleet_build_info\\{version="1.2.3",revision="${shown}"\\} 1$`, 'm'),
    );
  }
});
