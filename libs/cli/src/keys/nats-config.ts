import {
  ANNOUNCE_STREAM,
  ANNOUNCE_SUBJECTS,
  AUDIT_STREAM,
  AUDIT_SUBJECTS,
  type BusPermissions,
  busPermissions,
  inboxPrefix,
  type NatsTls,
  readerPermissions,
  renderClusterConfig,
  renderNatsConfig,
  STREAM,
  STREAM_SUBJECTS,
} from '@hermes-fleet/events';
import { CONSOLE, OPERATOR, SETUP, TRADER } from './layout.ts';

export interface NatsSettings {
  /** A path on the server's machine or in its container. */
  readonly storeDir: string;
  readonly host: string;
  readonly port: number;
  /** HTTP monitoring on loopback, which has no authentication: only where no command reaches it. Default: none. */
  readonly monitorPort?: number;
  /** fsync before every acknowledgement; needs nats-server 2.10. */
  readonly syncAlways: boolean;
  readonly tls?: NatsTls | undefined;
  /** `host` or `host:port` of the routes of every server of a cluster. */
  readonly cluster?: readonly string[];
}

const STREAMS = [STREAM, ANNOUNCE_STREAM, AUDIT_STREAM];

/** May create and update streams, read audit heads and purge them; reads no other event and publishes none. */
const setupPermissions = (): BusPermissions => ({
  publish: [
    '$JS.API.INFO',
    ...STREAMS.flatMap((stream) =>
      ['INFO', 'CREATE', 'UPDATE'].map((verb) => `$JS.API.STREAM.${verb}.${stream}`),
    ),
    ...AUDIT_SUBJECTS.map((subject) => `$JS.API.DIRECT.GET.${AUDIT_STREAM}.${subject}`),
    `$JS.API.STREAM.PURGE.${AUDIT_STREAM}`,
  ],
  subscribe: [`${inboxPrefix(SETUP)}.>`],
});

/** May read every event through its own consumers; publishes none. */
const operatorPermissions = (): BusPermissions => ({
  publish: ['$JS.API.INFO', ...STREAMS.flatMap(operatorSubjects), '$JS.FC.>'],
  subscribe: [`${inboxPrefix(OPERATOR)}.>`],
});

const operatorSubjects = (stream: string): string[] => [
  `$JS.API.STREAM.INFO.${stream}`,
  `$JS.API.STREAM.MSG.GET.${stream}`,
  `$JS.API.DIRECT.GET.${stream}.>`,
  ...['CREATE', 'DURABLE.CREATE', 'INFO', 'DELETE', 'MSG.NEXT'].map(
    (verb) => `$JS.API.CONSUMER.${verb}.${stream}.>`,
  ),
  `$JS.API.CONSUMER.CREATE.${stream}`,
  `$JS.ACK.${stream}.>`,
];

/** What the console reads, each through a consumer of its own. */
const CONSOLE_READS = [...STREAM_SUBJECTS, ...ANNOUNCE_SUBJECTS, ...AUDIT_SUBJECTS];

const permissionsOf = (user: string): BusPermissions => {
  if (user === SETUP) return setupPermissions();
  if (user === CONSOLE) return readerPermissions(CONSOLE, CONSOLE_READS);
  return user === OPERATOR ? operatorPermissions() : busPermissions(user, { control: user === TRADER });
};

/** Renders nats.conf; every user has the least permissions that it needs (docs/events.md). */
export function renderBusConfig(
  { monitorPort, ...settings }: NatsSettings,
  users: readonly { readonly user: string; readonly password: string }[],
): string {
  const known = users.map(({ user, password }) => ({ user, password, permissions: permissionsOf(user) }));
  const config = renderNatsConfig({ ...settings, users: known });
  return monitorPort === undefined ? config : `${config}http: "127.0.0.1:${monitorPort}"\n`;
}

/** Renders nats-cluster.conf, which adds to nats.conf what makes a server part of a cluster. Throws CONFIG_INVALID. */
export const renderBusClusterConfig = (
  { host }: NatsSettings,
  servers: readonly string[],
  password: string,
): string => renderClusterConfig({ include: 'nats.conf', host, servers, password });
