import { accessSync, constants } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { version } from '@hermes-fleet/installation';
import { systemCode } from '@hermes-fleet/protocol';
import { command, type Values } from '../command-line/command.ts';
import { UsageError, wholeNumber } from '../command-line/option-values.ts';
import { keysInitUsage, keysKubernetesUsage, keysRotateUsage } from '../command-specs/keys.ts';
import { currentFolder } from '../folder/fleet-folder.ts';
import { readMembers, servicesOf } from '../folder/members.ts';
import { initKeys, type KeysOptions, type KeysSummary } from '../keys/init.ts';
import { keySecrets } from '../keys/kubernetes.ts';
import { keyPaths, servicesWithKeys } from '../keys/layout.ts';
import { parseReplicas } from '../keys/replicas.ts';
import { type Owner, readSecret } from '../keys/secret-file.ts';
import { lockFolder } from '../local/folder-lock.ts';
import { checkVersion, recordVersion, versionFile } from '../upgrade/state-version.ts';
import { folderOf } from './token.ts';

const keysCommand = (usage: typeof keysInitUsage, renew: boolean) =>
  command(usage, ({ values, env, show }) => {
    const { natsConfig, natsClusterConfig } = keyPaths(folderOf(values, env));
    const configs = () => [readSecret(natsConfig), readSecret(natsClusterConfig)];
    const written = versionFile(folderOf(values, env));
    checkVersion(written, version());
    using _lock = lockOf(folderOf(values, env), `fleet ${usage.name}`);
    const before = configs();
    const summary = writeKeys(values, env, renew);
    recordVersion(written, version());
    const isChanged = configs().some((now, at) => before[at] !== undefined && now !== before[at]);
    show(summary, ({ created, repaired, kept }) => [
      `keys: ${created} created, ${repaired} repaired, ${kept} unchanged`,
      ...(!renew && isChanged
        ? [
            'restart NATS: it does not know its new users and passwords, or the servers of its cluster, until then',
          ]
        : []),
      ...(renew ? ['restart NATS and every service: they use the old keys until then'] : []),
    ]);
  });

/**
 * The lock of the fleet whose keys are in this folder, as `fleet up` makes missing ones too. Undefined for another name of a folder than
 * those have, and where this user cannot write beside it, and so can start no fleet.
 */
function lockOf(dir: string, name: string): Disposable | undefined {
  const fleet = dirname(resolve(dir));
  return basename(resolve(dir)) === 'keys' && !isDenied(fleet) ? lockFolder(fleet, name) : undefined;
}

function isDenied(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return false;
  } catch (error) {
    return systemCode(error) === 'EACCES';
  }
}

/** The services of the fleet in this folder. Throws UsageError. */
const listedServices = (): readonly string[] => servicesOf(readMembers(currentFolder().home));

/** `fleet keys kubernetes`: one document a Secret, for `kubectl apply --server-side --filename -`. JSON is YAML. */
const kubernetesCommand = command(keysKubernetesUsage, ({ values, env, stdout }) => {
  const secrets = keySecrets(folderOf(values, env), listedServices(), values.namespace ?? 'hermes-fleet');
  for (const secret of secrets) stdout.write(`---\n${JSON.stringify(secret)}\n`);
});

/** `fleet keys init|rotate|kubernetes`. */
export const commands = [
  keysCommand(keysInitUsage, false),
  keysCommand(keysRotateUsage, true),
  kubernetesCommand,
];

function writeKeys(
  values: Values<typeof keysInitUsage.options>,
  env: NodeJS.ProcessEnv,
  renew: boolean,
): KeysSummary {
  const owner = parseOwner(values.owner);
  const sync = values['nats-sync'] ?? 'always';
  if (sync !== 'always' && sync !== 'interval')
    throw new UsageError('--nats-sync must be always or interval');
  const cluster = values['nats-cluster']?.split(',').map((host) => host.trim());
  const given = values.services?.split(',').map((name) => name.trim());
  const services = given ?? (renew ? servicesWithKeys(folderOf(values, env)) : listedServices());
  return initKeys({
    dir: folderOf(values, env),
    services,
    replicas: parseReplicas(values.replicas ?? [], services),
    ...(owner === undefined ? {} : { owner }),
    nats: {
      storeDir: values['nats-store-dir'] ?? '/data',
      host: values['nats-host'] ?? '0.0.0.0',
      port: wholeNumber('nats-port', values['nats-port'], 4222),
      monitorPort: wholeNumber('nats-monitor-port', values['nats-monitor-port'], 8222),
      syncAlways: sync === 'always',
      tls: natsTls(values),
      ...(cluster === undefined ? {} : { cluster }),
    },
    renew,
  });
}

function natsTls(values: Values<typeof keysInitUsage.options>): KeysOptions['nats']['tls'] {
  const { 'nats-cert': certFile, 'nats-key': keyFile, 'nats-client-ca': caFile } = values;
  if (certFile !== undefined && keyFile !== undefined) return { certFile, keyFile, caFile };
  if (certFile === undefined && keyFile === undefined && caFile === undefined) return undefined;
  throw new UsageError('TLS of NATS needs --nats-cert and --nats-key');
}

function parseOwner(text: string | undefined): Owner | undefined {
  if (text === undefined) return undefined;
  const match = /^(\d+):(\d+)$/.exec(text);
  if (!match) throw new UsageError('--owner must be <uid>:<gid>, e.g. 1000:1000');
  return { uid: Number(match[1]), gid: Number(match[2]) };
}
