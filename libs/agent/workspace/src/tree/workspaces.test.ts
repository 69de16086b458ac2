import assert from 'node:assert/strict';
import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { recordingLog } from '@hermes-fleet/protocol/testing';
import { makePlace, openTestContexts } from '../../testing/index.ts';

test('contexts start from the repository of a workspace that was used in place, and without it once it is broken', async (t) => {
  const place = makePlace(t);
  const log = recordingLog();
  const inPlace = await openTestContexts(t, { place, isolation: 'in_place' });
  assert.equal((await inPlace.task('one', 'echo 1 > done.txt')).exitCode, 0);
  const contexts = await openTestContexts(t, { place, log });
  assert.equal((await contexts.task('one', 'cat done.txt; echo 2 > more.txt')).stdout, '1\n');

  rmSync(join(place.workspaceRoot, 'repo/.git/objects'), { recursive: true });
  const again = await contexts.restart();
  assert.ok(readdirSync(place.workspaceRoot).some((name) => name.startsWith('repo.broken-')));
  assert.match(log.messages.join('\n'), /error: .*repo.* was moved aside/);
  assert.equal((await again.task('one', 'cat done.txt more.txt')).stdout, '1\n2\n');
  assert.equal((await again.task('two', 'ls')).stdout, '');
});
