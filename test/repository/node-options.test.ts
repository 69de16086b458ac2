import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { memberEnv, planFleet } from '@hermes-fleet/cli';
import { doc, section } from '../support/docs.ts';
import { ROOT } from '../support/fleet.ts';

test('services in containers and as plain processes have the same NODE_OPTIONS, which performance.md names', () => {
  const plan = planFleet({ root: ROOT });
  const dockerfile = readFileSync(join(ROOT, 'deploy/docker/Dockerfile'), 'utf8');
  const inContainers = /NODE_OPTIONS=(\S+)/.exec(dockerfile)?.[1];
  assert.ok(inContainers);
  for (const member of plan.members)
    assert.equal(memberEnv(plan, member)['NODE_OPTIONS'], inContainers, member.name);
  assert.ok(section(doc('docs/performance.md'), 'Young generation').includes(`NODE_OPTIONS=${inContainers}`));
});
