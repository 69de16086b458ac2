import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { fleet } from '../testing/profile-stub.ts';

test('keys init says that NATS must be restarted when its users have changed, and only then', async (t) => {
  const dir = join(tempDir(t), 'keys');
  const init = async (): Promise<string> => (await fleet(['keys', 'init', '--dir', dir])).stdout;
  assert.match(await init(), /^keys: \d+ created, 0 repaired, 0 unchanged\n$/);
  assert.match(await init(), /^keys: 0 created, 0 repaired, \d+ unchanged\n$/);
  rmSync(join(dir, 'console'), { recursive: true });
  assert.match(await init(), /^keys: 3 created, 1 repaired, \d+ unchanged\nrestart NATS: .+ new users .+\n$/);
});
