import {
  ANNOUNCE_STREAM,
  AUDIT_STREAM,
  AUDIT_SUBJECTS,
  type BusPermissions,
  busPermissions,
  inboxPrefix,
  renderNatsConfig,
  STREAM,
} from '@hermes-fleet/events';
import { OPERATOR, SETUP, TRADER } from './layout.ts';

/** How this fleet's NATS server runs. */
export interface NatsSettings {
  /** As the server sees it. */
  readonly storeDir: string;
  readonly host: string;
  readonly port: number;
  /** HTTP monitoring, on loopback only: it knows no users. */
  readonly monitorPort: number;
  /** fsync before every acknowledgement; nats-server 2.10 and newer. */
  readonly syncAlways: boolean;
}

const STREAMS = [STREAM, ANNOUNCE_STREAM, AUDIT_STREAM];

/** Creates and updates the streams, and has the head of an audit forgotten; reads no other event and writes none. */
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

/** Reads every event and announce through consumers of its own; publishes none. */
const readerPermissions = (): BusPermissions => ({
  publish: ['$JS.API.INFO', ...STREAMS.flatMap(readerSubjects), '$JS.FC.>'],
  subscribe: [`${inboxPrefix(OPERATOR)}.>`],
});

const readerSubjects = (stream: string): string[] => [
  `$JS.API.STREAM.INFO.${stream}`,
  `$JS.API.STREAM.MSG.GET.${stream}`,
  `$JS.API.DIRECT.GET.${stream}.>`,
  ...['CREATE', 'DURABLE.CREATE', 'INFO', 'DELETE', 'MSG.NEXT'].map(
    (verb) => `$JS.API.CONSUMER.${verb}.${stream}.>`,
  ),
  `$JS.API.CONSUMER.CREATE.${stream}`,
  `$JS.ACK.${stream}.>`,
];

const permissionsOf = (user: string): BusPermissions => {
  if (user === SETUP) return setupPermissions();
  return user === OPERATOR ? readerPermissions() : busPermissions(user, { control: user === TRADER });
};

/** nats.conf for these users, each with the least that it needs (design 5, Containers). */
export function renderBusConfig(
  settings: NatsSettings,
  users: readonly { readonly user: string; readonly password: string }[],
): string {
  const config = renderNatsConfig({
    storeDir: settings.storeDir,
    host: settings.host,
    port: settings.port,
    syncAlways: settings.syncAlways,
    users: users.map(({ user, password }) => ({
      user,
      password,
      permissions: permissionsOf(user),
    })),
  });
  return `${config}http: "127.0.0.1:${settings.monitorPort}"\n`;
}
