import { join } from 'node:path';
import { FleetError } from '@hermes-fleet/protocol';
import { type Command, command, type Values } from '../command-line/command.ts';
import { noArguments, repositoryRoot, UsageError, wholeNumber } from '../command-line/options.ts';
import { initKeys, type KeysOptions, type KeysSummary } from '../keys/init.ts';
import { keySecrets } from '../keys/kubernetes.ts';
import { DEFAULT_SERVICES, keyPaths } from '../keys/layout.ts';
import { readOperatorToken } from '../keys/operator-token.ts';
import { parseReplicas } from '../keys/replicas.ts';
import { type Owner, readSecret } from '../keys/secret-file.ts';

const DIR = {
  dir: {
    type: 'string',
    value: 'folder',
    help: 'the folder of the keys; FLEET_KEYS_DIR, or .fleet/keys, by default',
  },
} as const;

const OPTIONS = {
  ...DIR,
  services: { type: 'string', value: 'names', help: 'the services that get keys, as a list' },
  replicas: {
    type: 'string',
    multiple: true,
    value: 'service=n',
    help: 'NATS users for the replicas <service>-1 to <service>-n; repeat it for each service',
  },
  owner: { type: 'string', value: 'uid:gid', help: 'the owner of the files' },
  'nats-store-dir': { type: 'string', value: 'folder', help: 'where NATS stores its streams' },
  'nats-host': { type: 'string', value: 'host', help: 'the address on which NATS listens' },
  'nats-port': { type: 'string', value: 'port', help: 'the port of NATS' },
  'nats-monitor-port': { type: 'string', value: 'port', help: 'the port of its monitoring' },
  'nats-cert': {
    type: 'string',
    value: 'file',
    help: 'the certificate of NATS, where NATS runs: its port speaks TLS',
  },
  'nats-key': { type: 'string', value: 'file', help: 'the key of that certificate' },
  'nats-client-ca': {
    type: 'string',
    value: 'file',
    help: 'the issuers of client certificates: NATS then requires one of each client',
  },
  'nats-cluster': {
    type: 'string',
    value: 'hosts',
    help: 'the servers of a NATS cluster, as a list; kept until another one is given',
  },
  'nats-sync': { type: 'string', value: 'always|interval', help: 'when NATS writes to the disk' },
} as const;

const keysCommand = (name: string, summary: string, renew: boolean): Command =>
  command({
    name,
    summary,
    options: OPTIONS,
    examples: [name],
    run: ({ values, positionals, env, stdout, print }) => {
      noArguments(name, positionals);
      const { natsConfig, natsClusterConfig } = keyPaths(folderOf(values, env));
      const configs = () => [readSecret(natsConfig), readSecret(natsClusterConfig)];
      const before = configs();
      const summary = writeKeys(values, env, renew);
      if (print) print(summary);
      else {
        const { created, repaired, kept } = summary;
        stdout.write(`keys: ${created} created, ${repaired} repaired, ${kept} unchanged\n`);
        if (!renew && configs().some((now, at) => before[at] !== undefined && now !== before[at]))
          stdout.write(
            'restart NATS: it does not know its new users and passwords, or the servers of its cluster, until then\n',
          );
        if (renew) stdout.write('restart NATS and every service: they use the old keys until then\n');
      }
      return 0;
    },
  });

const tokenCommand = (name: string): Command =>
  command({
    name,
    summary: "print the operator's token",
    options: DIR,
    examples: [name],
    run: ({ values, positionals, env, stdout, print }) => {
      noArguments(name, positionals);
      const dir = folderOf(values, env);
      const token = readOperatorToken(dir);
      if (token === undefined)
        throw new FleetError(
          'CONFIG_INVALID',
          `no keys in ${dir}: make up (or fleet keys init) creates them`,
        );
      if (print) print({ token });
      else stdout.write(`${token}\n`);
      return 0;
    },
  });

/** `fleet keys kubernetes`: one document a Secret, for `kubectl apply --server-side --filename -`. JSON is YAML. */
const kubernetesCommand = command({
  name: 'keys kubernetes',
  summary: 'print the keys as manifests of Kubernetes, for kubectl apply --server-side --filename -',
  textOnly: true,
  options: {
    ...DIR,
    namespace: { type: 'string', value: 'name', help: 'the namespace of the fleet; hermes-fleet by default' },
  },
  examples: ['keys kubernetes --dir keys'],
  run: async ({ values, positionals, env, stdout }) => {
    noArguments('keys kubernetes', positionals);
    const secrets = keySecrets(folderOf(values, env), DEFAULT_SERVICES, values.namespace ?? 'hermes-fleet');
    for (const secret of secrets) stdout.write(`---\n${JSON.stringify(secret)}\n`);
    return 0;
  },
});

/** `fleet keys init|rotate|token|kubernetes`, and `fleet token`. */
export const keysCommands: readonly Command[] = [
  tokenCommand('token'),
  keysCommand('keys init', 'create missing keys of the fleet', false),
  keysCommand('keys rotate', 'replace all keys; restart the services afterwards', true),
  tokenCommand('keys token'),
  kubernetesCommand,
];

/** `--dir`, else FLEET_KEYS_DIR, else `.fleet/keys`. */
const folderOf = (values: Values<typeof DIR>, env: NodeJS.ProcessEnv): string =>
  values.dir ?? env.FLEET_KEYS_DIR ?? join(repositoryRoot(), '.fleet/keys');

function writeKeys(values: Values<typeof OPTIONS>, env: NodeJS.ProcessEnv, renew: boolean): KeysSummary {
  const owner = parseOwner(values.owner);
  const sync = values['nats-sync'] ?? 'always';
  if (sync !== 'always' && sync !== 'interval')
    throw new UsageError('--nats-sync must be always or interval');
  const cluster = values['nats-cluster']?.split(',').map((host) => host.trim());
  const services = values.services?.split(',').map((name) => name.trim()) ?? DEFAULT_SERVICES;
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

function natsTls(values: Values<typeof OPTIONS>): KeysOptions['nats']['tls'] {
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
