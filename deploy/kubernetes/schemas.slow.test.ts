import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { renderRules } from './make-rules.ts';
import { id, type Manifest, OVERLAYS, renderOverlay, withoutKubectl } from './testing/render.ts';
import { schemaProblems, typeProblems, VERSIONS } from './testing/schemas.ts';

const problemsOf = async (models: string, manifests: readonly Manifest[]): Promise<string[]> => [
  ...(await schemaProblems(models, manifests)),
  ...(await typeProblems(models, manifests)),
];

/** A copy of the manifests in which one has a changed text. */
function changed(manifests: readonly Manifest[], name: string, from: string, to: string): Manifest[] {
  const found = manifests.find((each) => id(each) === name);
  assert.ok(found, name);
  const text = JSON.stringify(found);
  assert.ok(text.includes(from), `${name} has no ${from}`);
  return [JSON.parse(text.replace(from, to))];
}

/** Mistakes that must be found: fields that do not exist, wrong types, missing fields and values that no version has. */
const MISTAKES: readonly (readonly [manifest: string, from: string, to: string, problem: RegExp])[] = [
  ['StatefulSet neo', '"serviceName"', '"serviceNames"', /serviceNames/],
  ['StatefulSet neo', '"readOnlyRootFilesystem"', '"readOnlyRootFileSystem"', /readOnlyRootFileSystem/],
  ['StatefulSet neo', '"replicas":1', '"replicas":"1"', /replicas|string/],
  ['StatefulSet neo', '"ReadWriteOnce"', '"ReadWriteTwice"', /ReadWriteTwice|allowed values/],
  ['Service neo', '"port":9220', '"port":"http"', /port|string/],
  ['NetworkPolicy default-deny', '"podSelector":{},', '"podSelectors":{},', /podSelectors/],
  ['PodDisruptionBudget nats', '"maxUnavailable"', '"maxUnavailables"', /maxUnavailables/],
  ['Job nats-setup', '"template"', '"templates"', /template/],
  ['PodMonitor members', '"podMetricsEndpoints"', '"endpoints"', /podMetricsEndpoints|endpoints/],
  ['PrometheusRule alerts', '"groups"', '"rules"', /rules/],
  ['ScaledObject neo-pool', '"scaleTargetRef"', '"scaleTarget"', /scaleTarget/],
];

for (const [version, models] of Object.entries(VERSIONS))
  describe(`Kubernetes ${version}`, { skip: withoutKubectl() }, () => {
    for (const overlay of OVERLAYS)
      it(`the overlay ${overlay} is valid by the published schemas`, async () => {
        const manifests = renderOverlay(overlay);
        assert.ok(manifests.length > 30);
        assert.deepEqual(await problemsOf(models, manifests), []);
      });

    it('mistakes are found', async () => {
      const manifests = renderOverlay('large');
      await Promise.all(
        MISTAKES.map(async ([name, from, to, problem]) => {
          const problems = await problemsOf(models, changed(manifests, name, from, to));
          assert.match(problems.join('\n'), problem, `${name}: ${to}`);
        }),
      );
    });
  });

it('the rules of the Prometheus operator are those of deploy/prometheus', () => {
  const file = join(import.meta.dirname, 'components/monitoring/prometheus-rules.yaml');
  assert.equal(readFileSync(file, 'utf8'), renderRules(), 'run: node deploy/kubernetes/make-rules.ts');
});
