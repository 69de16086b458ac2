import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse } from 'yaml';
import { doc } from '../support/docs.ts';
import { ROOT } from '../support/fleet.ts';
import { memberFiles } from '../support/generated-docs.ts';
import { SHIPPED_SERVICES } from '../support/shipped.ts';

test('the shipped files are what follows from deploy/members.yaml', () => {
  for (const { file, text, expected } of memberFiles())
    assert.equal(text, expected, `${file} differs from deploy/members.yaml; run: make docs`);
});

test('Swarm and Kubernetes have the members of deploy/members.yaml', () => {
  const isMember = (name: string) => SHIPPED_SERVICES.includes(name);
  const sorted = SHIPPED_SERVICES.toSorted();
  const { services }: { services: object } = parse(doc('deploy/swarm/stack.yml'));
  assert.deepEqual(
    Object.keys(services).filter(isMember).toSorted(),
    sorted,
    'add a service with its volumes, secrets and addresses to deploy/swarm/stack.yml, as neo has them, and its name to deploy/swarm/up.sh',
  );
  const { resources }: { resources: string[] } = parse(doc('deploy/kubernetes/base/kustomization.yaml'));
  assert.deepEqual(
    resources.filter(isMember).toSorted(),
    sorted,
    'add a folder to deploy/kubernetes/base as neo has one, and its files to kustomization.yaml and its address to fleet.env there',
  );
  assert.ok(resources.every((name) => existsSync(join(ROOT, 'deploy/kubernetes/base', name))));
  const settings = doc('deploy/kubernetes/base/fleet.env');
  for (const name of SHIPPED_SERVICES)
    assert.match(settings, new RegExp(`^${name.toUpperCase()}_HOST=${name}$`, 'm'));
});
