import { FleetError } from '@hermes-fleet/protocol';
import type { BusPermissions } from './permissions.ts';

export interface NatsUser {
  readonly user: string;
  /** A bcrypt hash (`$2a$…`, `$2b$…`), or the plain password for temporary servers. */
  readonly password: string;
  /** Absent: no restrictions. */
  readonly permissions?: BusPermissions;
}

/** The TLS files of a server, as paths on its machine. */
export interface NatsTls {
  readonly certFile: string;
  readonly keyFile: string;
  /** The issuers of client certificates: with it, every client must show one. */
  readonly caFile?: string | undefined;
}

export interface NatsConfigOptions {
  readonly storeDir: string;
  /** -1 lets the server choose a free port. */
  readonly port: number;
  readonly host: string;
  /** HTTP monitoring on the same host. */
  readonly monitorPort?: number;
  /**
   * fsync before every acknowledgement, so that events survive a crash of the machine. Servers before 2.10 refuse to
   * start with it: see `supportsSyncInterval`.
   */
  readonly syncAlways: boolean;
  /** Empty: no authentication, for tests on loopback only. */
  readonly users: readonly NatsUser[];
  /** TLS for clients; absent: plain connections. */
  readonly tls?: NatsTls | undefined;
}

/** Holds the limits of all streams. */
const MAX_STORE_BYTES = 8 * 1024 ** 3;
const MAX_MEMORY_BYTES = 64 * 1024 ** 2;

/** A string of a nats-server configuration, which is UTF-8. Throws CONFIG_INVALID for text with control characters. */
export function quote(text: string, label: string): string {
  if (!/\p{Cc}/u.test(text) && text.isWellFormed()) return `"${text.replace(/["\\]/g, '\\$&')}"`;
  throw new FleetError(
    'CONFIG_INVALID',
    `${label} for the NATS configuration must be text without control characters`,
  );
}

function renderUser(entry: NatsUser): string {
  const allow = (subjects: readonly string[]): string =>
    `{ allow: [${subjects.map((subject) => quote(subject, 'a subject')).join(', ')}] }`;
  const permissions = entry.permissions
    ? `, permissions: { publish: ${allow(entry.permissions.publish)}, subscribe: ${allow(entry.permissions.subscribe)} }`
    : '';
  const user = quote(entry.user, 'a user name');
  return `    { user: ${user}, password: ${quote(entry.password, `the password of ${entry.user}`)}${permissions} }`;
}

function renderTls({ certFile, keyFile, caFile }: NatsTls): string[] {
  return [
    'tls {',
    `  cert_file: ${quote(certFile, 'the certificate')}`,
    `  key_file: ${quote(keyFile, 'the key')}`,
    ...(caFile === undefined ? [] : [`  ca_file: ${quote(caFile, 'the CA')}`, '  verify: true']),
    '}',
  ];
}

/** Renders a nats-server configuration with JetStream on disk. Throws CONFIG_INVALID for text with control characters. */
export function renderNatsConfig(options: NatsConfigOptions): string {
  const host = quote(options.host, 'the host');
  const lines = [
    `host: ${host}`,
    `port: ${options.port}`,
    'jetstream {',
    `  store_dir: ${quote(options.storeDir, 'the store directory')}`,
    `  max_file_store: ${MAX_STORE_BYTES}`,
    `  max_memory_store: ${MAX_MEMORY_BYTES}`,
    ...(options.syncAlways ? ['  sync_interval: always'] : []),
    '}',
    ...(options.tls === undefined ? [] : renderTls(options.tls)),
    ...(options.monitorPort === undefined
      ? []
      : [`http: ${quote(`${options.host}:${options.monitorPort}`, 'the host')}`]),
    ...(options.users.length === 0
      ? []
      : ['authorization {', '  users = [', ...options.users.map(renderUser), '  ]', '}']),
  ];
  return `${lines.join('\n')}\n`;
}
