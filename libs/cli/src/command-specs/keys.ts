import { flag, text, texts, usage } from '../command-line/command.ts';
import { ENTRY_POINT_OPTIONS } from '../command-line/shared-options.ts';

const DIR = {
  dir: text('folder', 'the folder of the keys; FLEET_KEYS_DIR, or .fleet/keys, by default'),
};

const KEYS_OPTIONS = {
  ...DIR,
  services: text(
    'names',
    'the services that get keys, as a list; the members of the fleet by default, or those that have keys',
  ),
  replicas: texts(
    'service=n',
    'NATS users for the replicas <service>-1 to <service>-n; repeat it for each service',
  ),
  owner: text('uid:gid', 'the owner of the files'),
  'nats-store-dir': text('folder', 'where NATS stores its streams'),
  'nats-host': text('host', 'the address on which NATS listens'),
  'nats-port': text('port', 'the port of NATS'),
  'nats-monitor-port': text('port', 'the port of its monitoring'),
  'nats-cert': text('file', 'the certificate of NATS, where NATS runs: its port speaks TLS'),
  'nats-key': text('file', 'the key of that certificate'),
  'nats-client-ca': text('file', 'the issuers of client certificates: NATS then requires one of each client'),
  'nats-cluster': text('hosts', 'the servers of a NATS cluster, as a list; kept until another one is given'),
  'nats-sync': text('always|interval', 'when NATS writes to the disk'),
};

const tokenUsage = (name: string) => usage(name, "print the operator's token", { options: DIR });

export const operatorTokenUsage = tokenUsage('token');
export const keysTokenUsage = tokenUsage('keys token');

export const keysInitUsage = usage('keys init', 'create missing keys of the fleet', {
  options: KEYS_OPTIONS,
});

export const keysRotateUsage = usage('keys rotate', 'replace all keys; restart the services afterwards', {
  options: KEYS_OPTIONS,
});

export const keysKubernetesUsage = usage(
  'keys kubernetes',
  'print the keys as manifests of Kubernetes, for kubectl apply --server-side --filename -',
  {
    textOnly: true,
    options: {
      ...DIR,
      namespace: text('name', 'the namespace of the fleet; hermes-fleet by default'),
    },
    examples: ['keys kubernetes --dir keys'],
  },
);

export const natsSetupUsage = usage('nats setup', 'create or update the event streams', {
  textOnly: true,
  options: {
    server: text('urls', 'the servers, as a list; NATS_HOST and NATS_PORT by default'),
    replicas: text('number', 'the copies of each stream, 1 to 5; as many as the cluster can have by default'),
  },
  examples: ['nats setup --server nats://127.0.0.1:4222'],
});

export const natsForgetHeadUsage = usage(
  'nats forget-head',
  "print the audit head that NATS holds for a service, and remove it, after the audit's file was restored on purpose",
  {
    args: '<service>',
    options: {
      ...ENTRY_POINT_OPTIONS,
      server: text('url', 'the server, with --as-is'),
    },
    examples: ['nats forget-head trader'],
  },
);

export const natsRefillUsage = usage(
  'nats refill',
  'publish again what the event stream lacks, from the ledgers of the services',
  {
    options: {
      ...ENTRY_POINT_OPTIONS,
      profile: text('name', 'only this profile, or trader; all by default'),
      'dry-run': flag('publish nothing, and print what is missing'),
    },
    examples: ['nats refill --dry-run', 'nats refill --profile neo'],
  },
);
