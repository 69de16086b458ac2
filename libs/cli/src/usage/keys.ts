import { usage } from '../command-line/command.ts';
import { ENTRY_POINT_OPTIONS } from '../command-line/shared-options.ts';

const DIR = {
  dir: {
    type: 'string',
    value: 'folder',
    help: 'the folder of the keys; FLEET_KEYS_DIR, or .fleet/keys, by default',
  },
} as const;

const KEYS_OPTIONS = {
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

const tokenUsage = (name: string) =>
  usage({ name, summary: "print the operator's token", options: DIR, examples: [name] });

export const operatorTokenUsage = tokenUsage('token');
export const keysTokenUsage = tokenUsage('keys token');

export const keysInitUsage = usage({
  name: 'keys init',
  summary: 'create missing keys of the fleet',
  options: KEYS_OPTIONS,
  examples: ['keys init'],
});

export const keysRotateUsage = usage({
  name: 'keys rotate',
  summary: 'replace all keys; restart the services afterwards',
  options: KEYS_OPTIONS,
  examples: ['keys rotate'],
});

export const keysKubernetesUsage = usage({
  name: 'keys kubernetes',
  summary: 'print the keys as manifests of Kubernetes, for kubectl apply --server-side --filename -',
  textOnly: true,
  options: {
    ...DIR,
    namespace: { type: 'string', value: 'name', help: 'the namespace of the fleet; hermes-fleet by default' },
  },
  examples: ['keys kubernetes --dir keys'],
});

export const natsSetupUsage = usage({
  name: 'nats setup',
  summary: 'create or update the event streams',
  textOnly: true,
  options: {
    server: {
      type: 'string',
      value: 'urls',
      help: 'the servers, as a list; NATS_HOST and NATS_PORT by default',
    },
    replicas: {
      type: 'string',
      value: 'number',
      help: 'the copies of each stream, 1 to 5; as many as the cluster can have by default',
    },
  },
  examples: ['nats setup --server nats://127.0.0.1:4222'],
});

export const natsForgetHeadUsage = usage({
  name: 'nats forget-head',
  summary:
    "print the audit head that NATS holds for a service, and remove it, after the audit's file was restored on purpose",
  args: '<service>',
  options: {
    ...ENTRY_POINT_OPTIONS,
    server: { type: 'string', value: 'url', help: 'the server, with --as-is' },
  },
  examples: ['nats forget-head trader'],
});

export const natsRefillUsage = usage({
  name: 'nats refill',
  summary: 'publish again what the event stream lacks, from the ledgers of the services',
  options: {
    ...ENTRY_POINT_OPTIONS,
    profile: { type: 'string', value: 'name', help: 'only this profile, or trader; all by default' },
    'dry-run': { type: 'boolean', help: 'publish nothing, and print what is missing' },
  },
  examples: ['nats refill --dry-run', 'nats refill --profile neo'],
});
