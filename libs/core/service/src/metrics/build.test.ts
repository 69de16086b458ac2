import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordBuild } from './build.ts';
import { createMetrics } from './metrics.ts';

test('the build is shown with its version and revision, and a revision that is no name as unknown', async () => {
  for (const [revision, shown] of [
    ['1a2b3c4-changed', '1a2b3c4-changed'],
    [undefined, 'unknown'],
    ['', 'unknown'],
    ['a"} 1\nforged 1', 'unknown'],
  ]) {
    const metrics = createMetrics({ profile: 'neo', peers: [], callers: [], defaultMetrics: false });
    recordBuild(metrics, { version: '1.2.3', revision });
    assert.match(
      await metrics.registry.metrics(),
      new RegExp(`^fleet_build_info\\{version="1.2.3",revision="${shown}"\\} 1$`, 'm'),
    );
  }
});
