import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { initKeys, keyPaths } from '@hermes-fleet/cli';
import { natsProcess } from '@hermes-fleet/events/testing';
import { freePort } from '@hermes-fleet/gateway/testing';
import { tempDir } from '@hermes-fleet/protocol/testing';
import { parseAllDocuments } from 'yaml';
import { until } from '../../test/support/fleet.ts';

type Probe = 'startupProbe' | 'livenessProbe' | 'readinessProbe';
/** `http: "127.0.0.1:8222"` in the keys of a cluster. */
const MONITOR = 'http://127.0.0.1:8222';

/** The path that each probe of the manifest requests from NATS. */
function askedPaths(): Record<Probe, string> {
  const text = readFileSync(join(import.meta.dirname, 'base/nats/nats.yaml'), 'utf8');
  const manifests = parseAllDocuments(text).map((document) => document.toJS());
  const [container] = manifests.find(({ kind }) => kind === 'StatefulSet').spec.template.spec.containers;
  const pathOf = (probe: Probe): string => {
    const url: string = container[probe].exec.command.at(-1);
    assert.ok(url.startsWith(MONITOR), url);
    return url.slice(MONITOR.length);
  };
  return {
    startupProbe: pathOf('startupProbe'),
    livenessProbe: pathOf('livenessProbe'),
    readinessProbe: pathOf('readinessProbe'),
  };
}

/** Starts one of three servers, with the keys of a cluster; returns the address of its monitoring. */
async function startLoneServer(t: TestContext): Promise<string> {
  const dir = tempDir(t);
  const network = `127.${randomInt(1, 255)}.${randomInt(0, 256)}`;
  const monitorPort = await freePort();
  const keys = join(dir, 'keys');
  initKeys({
    dir: keys,
    services: ['switch'],
    nats: {
      storeDir: join(dir, 'store'),
      host: `${network}.1`,
      port: 4222,
      monitorPort,
      syncAlways: false,
      cluster: [1, 2, 3].map((host) => `${network}.${host}`),
    },
  });
  const server = natsProcess({
    configFile: keyPaths(keys).natsClusterConfig,
    env: { NATS_SERVER_NAME: 'nats-0' },
  });
  t.after(() => server.end('SIGKILL'));
  await server.start();
  return `http://127.0.0.1:${monitorPort}`;
}

it('a NATS server whose cluster has no quorum is alive, so that it is not restarted, and not ready', async (t) => {
  const monitor = await startLoneServer(t);
  const { startupProbe, livenessProbe, readinessProbe } = askedPaths();
  const statusOf = async (path: string): Promise<number> => (await fetch(`${monitor}${path}`)).status;
  await until(async () => (await statusOf('/varz')) === 200, 'its monitoring to answer', 10_000);
  assert.deepEqual(
    [await statusOf(startupProbe), await statusOf(livenessProbe), await statusOf(readinessProbe)],
    [200, 200, 503],
  );
});
