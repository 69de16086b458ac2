import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import { CONSOLE, keyPaths, SETUP } from './layout.ts';

/**
 * A Secret of Kubernetes for each reader of a keys folder, `keys-<reader>`, with the content of each file in base64, as the manifests of deploy/kubernetes mount them. The operator's
 * keys stay where they are: no pod needs them. Throws CONFIG_INVALID for a folder without the keys of a reader or of a NATS cluster.
 */
export function keySecrets(dir: string, services: readonly string[], namespace: string) {
  const paths = keyPaths(dir);
  if (!existsSync(paths.natsClusterConfig))
    throw new FleetError(
      'CONFIG_INVALID',
      `${dir} has no keys of a NATS cluster: make them with fleet keys init --nats-cluster nats-0.nats,nats-1.nats,nats-2.nats`,
    );
  const readers = [...services, CONSOLE, SETUP].map((reader) => ({ reader, folder: paths.folder(reader) }));
  const without = readers.filter(({ folder }) => !existsSync(folder)).map(({ reader }) => reader);
  if (without.length > 0)
    throw new FleetError(
      'CONFIG_INVALID',
      `${dir} has no keys of ${without.join(', ')}: make them with fleet keys init`,
    );
  const nats = { reader: 'nats', folder: paths.natsFolder };
  return [...readers, nats].map(({ reader, folder }) => ({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: {
      name: `keys-${reader}`,
      namespace,
      labels: { 'app.kubernetes.io/part-of': 'hermes-fleet' },
    },
    type: 'Opaque',
    data: Object.fromEntries(
      readdirSync(folder)
        .filter((file) => reader !== 'nats' || file.endsWith('.conf'))
        .sort()
        .map((file) => [file, readFileSync(join(folder, file)).toString('base64')]),
    ),
  }));
}
