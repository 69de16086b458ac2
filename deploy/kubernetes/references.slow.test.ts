import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { initKeys, keySecrets } from '@hermes-fleet/cli';
import { allowedEndpoint, FleetConfigSchema, resolveTokens } from '@hermes-fleet/fleet-config';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { createSecretEnv, loadYamlConfig } from '@hermes-fleet/service';
import { ConsoleConfigSchema } from '../../services/console/src/config/schema.ts';
import { readEnvironment } from '../../services/profile/src/environment.ts';
import { SHIPPED_SERVICES } from '../../test/support/shipped.ts';
import { environmentOf, find, mayConnect, type Pod, podsOf, resolve, selects } from './testing/cluster.ts';
import { type Manifest, OVERLAYS, renderOverlay, withoutKubectl } from './testing/render.ts';

const NATS = { storeDir: '/data', host: '0.0.0.0', port: 4222, monitorPort: 8222, syncAlways: true };
const CLUSTER = ['nats-0.nats', 'nats-1.nats', 'nats-2.nats'];
const REPLICAS = new Map(['neo', 'morpheus', 'trinity'].map((name) => [name, 1]));
/** The time that a member has to start, because it may have a large ledger to migrate (docs/machines.md). */
const MIGRATION_S = 600;
/** A Secret that the user makes, or not. */
const OPTIONAL = 'model-keys';

function makeKeys(t: TestContext): string {
  const dir = join(tempDir(t), 'keys');
  initKeys({ dir, services: SHIPPED_SERVICES, replicas: REPLICAS, nats: { ...NATS, cluster: CLUSTER } });
  return dir;
}

/** The files of a pod's volumes, by their paths in its first container, and its environment. */
function insideOf(t: TestContext, pod: Pod, all: readonly Manifest[], keysDir: string) {
  const root = tempDir(t);
  const secrets = keySecrets(keysDir, SHIPPED_SERVICES, 'hermes-fleet');
  for (const { name, mountPath } of pod.spec.containers[0].volumeMounts) {
    // biome-ignore lint/suspicious/noExplicitAny: a volume of the rendered manifests
    const volume = (pod.spec.volumes ?? []).find((each: any) => each.name === name);
    const folder = join(root, mountPath);
    mkdirSync(folder, { recursive: true });
    const { configMap, secret } = volume ?? {};
    const files = configMap
      ? (find(all, 'ConfigMap', configMap.name).data as Record<string, string>)
      : Object.fromEntries(
          Object.entries(
            secrets.find(({ metadata }) => metadata.name === secret?.secretName)?.data ?? {},
          ).map(([file, text]) => [file, Buffer.from(text, 'base64').toString()]),
        );
    for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  }
  const env = {
    ...environmentOf(pod, all),
    HERMES_KEYS_DIR: join(root, 'run/keys'),
    HERMES_HOME: join(root, 'etc/hermes'),
  };
  return { root, env };
}

const component = (pod: Pod): string | undefined => pod.labels['app.kubernetes.io/component'];

for (const overlay of OVERLAYS)
  describe(`the overlay ${overlay}`, { skip: withoutKubectl() }, () => {
    const render = (): Manifest[] => renderOverlay(overlay);

    it('has every ConfigMap, Secret, port and selector that it names', (t) => {
      const all = render();
      const made = new Set(
        keySecrets(makeKeys(t), SHIPPED_SERVICES, 'hermes-fleet').map(({ metadata }) => metadata.name),
      );
      for (const pod of podsOf(all)) {
        for (const { configMap, secret } of pod.spec.volumes) {
          if (configMap) find(all, 'ConfigMap', configMap.name);
          if (secret) assert.ok(made.has(secret.secretName), `${pod.workload}: ${secret.secretName}`);
        }
        for (const { configMapRef, secretRef } of pod.spec.containers[0].envFrom ?? []) {
          if (configMapRef) find(all, 'ConfigMap', configMapRef.name);
          if (secretRef) assert.deepEqual([secretRef.name, secretRef.optional], [OPTIONAL, true]);
        }
        const volumes = [...pod.spec.volumes, ...(pod.manifest.spec.volumeClaimTemplates ?? [])].map(
          (each) => each.name ?? each.metadata.name,
        );
        for (const { volumeMounts } of [...(pod.spec.initContainers ?? []), ...pod.spec.containers])
          for (const { name } of volumeMounts) assert.ok(volumes.includes(name), `${pod.workload}: ${name}`);
        if (pod.manifest.kind !== 'StatefulSet') continue;
        assert.ok(selects(pod.manifest.spec.selector, pod.labels), pod.workload);
        const others = podsOf(all).filter(
          (other) => other.workload !== pod.workload && selects(pod.manifest.spec.selector, other.labels),
        );
        assert.deepEqual(
          others.map(({ workload }) => workload),
          [],
          `${pod.workload} selects others' pods`,
        );
        const service = find(all, 'Service', pod.manifest.spec.serviceName);
        assert.equal(service.spec.clusterIP, 'None');
        assert.equal(service.spec.publishNotReadyAddresses, true);
        assert.ok(selects({ matchLabels: service.spec.selector }, pod.labels), service.metadata.name);
        for (const { port } of service.spec.ports) resolve(all, service.metadata.name, port);
        for (const container of pod.spec.containers)
          for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
            if (container[probe]?.httpGet) assert.equal(container[probe].httpGet.port, 'http');
      }
      for (const manifest of all) {
        const { kind, metadata, spec } = manifest;
        // kubectl keeps what it applies in an annotation, which has this limit.
        assert.ok(JSON.stringify(manifest).length < 262_144, `${kind} ${metadata.name} is too large`);
        // Only the large overlay has pools.
        if (metadata.name === 'replicas' && overlay === 'small') continue;
        if (kind === 'PodDisruptionBudget' || kind === 'PodMonitor')
          assert.ok(
            podsOf(all).some(({ labels }) => selects(spec.selector, labels)),
            metadata.name,
          );
        if (kind === 'ScaledObject') find(all, 'StatefulSet', spec.scaleTargetRef.name);
        if (kind !== 'Namespace')
          assert.equal(metadata.namespace, 'hermes-fleet', `${kind} ${metadata.name}`);
      }
    });

    it('has a valid configuration in every pod, and a way to everybody that it names', async (t) => {
      const all = render();
      const keysDir = makeKeys(t);
      const [orchestrator] = podsOf(all).filter(({ name }) => name === 'switch-0');
      assert.ok(orchestrator);
      const offer = insideOf(t, orchestrator, all, keysDir);
      const patterns = loadYamlConfig({
        file: join(offer.root, 'etc/hermes/profiles/switch/fleet.yaml'),
        schema: FleetConfigSchema,
        env: createSecretEnv(offer.env),
      }).value.fleet.join?.endpoints;
      const reaches = (from: Pod, url: string): void => {
        const { hostname, port } = new URL(url);
        const destination = resolve(all, hostname, Number(port));
        for (const to of destination.pods)
          assert.ok(mayConnect(all, from, to, destination.port), `${from.name} may not connect to ${url}`);
      };
      for (const pod of podsOf(all)) {
        const kind = component(pod);
        if (kind !== 'profile' && kind !== 'trader') continue;
        const { root, env } = insideOf(t, pod, all, keysDir);
        const folder = kind === 'trader' ? 'trader' : `profiles/${pod.spec.containers[0].args.at(-1)}`;
        const named =
          kind === 'trader' ? 'trader' : readEnvironment(pod.spec.containers[0].args.slice(2), env).name;
        const secrets = createSecretEnv({ ...env, HERMES_NAME: named });
        const file = join(root, 'etc/hermes', folder, 'fleet.yaml');
        const { fleet } = loadYamlConfig({ file, schema: FleetConfigSchema, env: secrets }).value;
        const tokens = resolveTokens({ fleet }, secrets);
        assert.deepEqual(tokens.problems, [], pod.name);
        assert.deepEqual([tokens.bus.user, fleet.nats?.inbox_prefix], [named, `_INBOX_${named}`]);
        for (const { url } of Object.values(fleet.agents)) reaches(pod, url);
        for (const server of fleet.nats?.servers ?? []) reaches(pod, server);
        const own = new URL(fleet.server?.public_url ?? '');
        const here = resolve(all, own.hostname, Number(own.port));
        assert.deepEqual(
          [here.pods.map(({ name }) => name), here.port],
          [[pod.name], fleet.server?.bind_port],
        );
        if (pod.manifest.spec.ordinals === undefined) continue;
        // A replica may be taken away for good: it must have the time to finish its tasks.
        assert.ok(fleet.shutdown.drain_s >= 3600, pod.name);
        const stopS = fleet.shutdown.drain_s + fleet.shutdown.grace_s;
        assert.ok(pod.spec.terminationGracePeriodSeconds > stopS, pod.name);
        assert.match(named, /^(neo|morpheus|trinity)-1$/);
        assert.ok(allowedEndpoint(`${own.origin}/jsonrpc`, patterns ?? []), `${own.origin} may not join`);
        reaches(orchestrator, own.origin);
      }
    });

    it('lets the console see everybody, NATS servers each other and the set-up NATS, and nobody else', (t) => {
      const all = render();
      const pods = podsOf(all);
      const pod = (name: string): Pod => pods.find((each) => each.name === name) ?? assert.fail(name);
      const console = pod('console-0');
      const { root, env } = insideOf(t, console, all, makeKeys(t));
      const { value } = loadYamlConfig({
        file: join(root, 'etc/hermes/console/console.yaml'),
        schema: ConsoleConfigSchema,
        env: createSecretEnv(env),
      });
      const reaches = (from: Pod, url: string): boolean => {
        const { hostname, port } = new URL(url);
        const destination = resolve(all, hostname, Number(port));
        return destination.pods.every((to) => mayConnect(all, from, to, destination.port));
      };
      for (const { url } of Object.values(value.console.profiles)) assert.ok(reaches(console, url), url);
      for (const url of value.console.nats.servers) assert.ok(reaches(console, url), url);
      assert.ok(reaches(pod('nats-setup'), `nats://${environmentOf(pod('nats-setup'), all).NATS_HOST}:4222`));
      for (const host of CLUSTER)
        assert.ok(reaches(pod('nats-0'), `nats://${host.replace(/-\d/, '-0')}:6222`));
      const refused: readonly (readonly [from: string, url: string])[] = [
        ['neo-0', 'http://trader:9223'],
        ['neo-0', 'http://console:9224'],
        ['neo-0', 'nats://nats:6222'],
        ['trader-0', 'http://neo:9220'],
        ['nats-0', 'http://switch:9219'],
        ['nats-setup', 'http://switch:9219'],
        ['console-0', 'nats://nats:6222'],
      ];
      for (const [from, url] of refused) assert.equal(reaches(pod(from), url), false, `${from} to ${url}`);
    });

    it('confines every container as Compose does', () => {
      for (const pod of podsOf(render())) {
        const { spec } = pod;
        assert.equal(spec.automountServiceAccountToken, false, pod.workload);
        // Service links would set NEO_PORT and the like.
        assert.equal(spec.enableServiceLinks, false, pod.workload);
        assert.equal(spec.securityContext.seccompProfile.type, 'RuntimeDefault', pod.workload);
        assert.equal(spec.hostNetwork ?? spec.hostPID ?? spec.hostIPC, undefined, pod.workload);
        for (const container of [...(spec.initContainers ?? []), ...spec.containers]) {
          const context = { ...spec.securityContext, ...container.securityContext };
          const where = `${pod.workload} ${container.name}`;
          assert.equal(context.readOnlyRootFilesystem, true, where);
          assert.equal(context.allowPrivilegeEscalation, false, where);
          assert.deepEqual(context.capabilities.drop, ['ALL'], where);
          const { add } = context.capabilities;
          const rights = { gateway: ['SETUID', 'SETGID', 'KILL'], folders: ['CHOWN'] }[
            container.name as string
          ];
          assert.deepEqual(add, rights, where);
          if (rights === undefined)
            assert.deepEqual([context.runAsUser, context.runAsNonRoot], [1000, true], where);
          assert.ok(container.resources.limits.memory, where);
          for (const { name, readOnly } of container.volumeMounts)
            if (name === 'keys') assert.equal(readOnly, true, where);
        }
        for (const { secret } of spec.volumes) if (secret) assert.equal(secret.defaultMode, 0o400);
      }
    });

    it('leaves the number of replicas of a pool to whoever scales it, and spreads each pool by itself', () => {
      for (const { workload, manifest, spec, labels } of podsOf(render())) {
        if (manifest.spec.ordinals === undefined) continue;
        assert.equal(manifest.spec.replicas, undefined, workload);
        const [spread] = spec.topologySpreadConstraints;
        assert.ok(selects(spread.labelSelector, labels), workload);
        assert.deepEqual(spread.matchLabelKeys, ['app.kubernetes.io/name'], workload);
      }
    });

    it('restarts what is not alive, and what is not ready stays reachable', () => {
      for (const pod of podsOf(render())) {
        if (pod.manifest.kind !== 'StatefulSet' || component(pod) === 'nats') continue;
        const [container] = pod.spec.containers;
        const paths = ['startupProbe', 'livenessProbe', 'readinessProbe'].map(
          (name) => container[name].httpGet.path,
        );
        assert.deepEqual(paths, ['/health', '/health', '/ready'], pod.workload);
        const { periodSeconds, failureThreshold } = container.startupProbe;
        assert.ok(periodSeconds * failureThreshold >= MIGRATION_S, pod.workload);
      }
    });
  });

it('render.sh takes the folder that it is called in', { skip: withoutKubectl() }, () => {
  const run = (overlay: string, cwd: string) =>
    spawnSync(join(import.meta.dirname, 'render.sh'), [overlay], { cwd, encoding: 'utf8' });
  const here = run('.', join(import.meta.dirname, 'overlays/small'));
  assert.equal(here.status, 0, here.stderr);
  assert.equal(here.stdout, run('small', import.meta.dirname).stdout);
});
