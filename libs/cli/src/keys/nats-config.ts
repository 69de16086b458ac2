import {
  type BusPermissions,
  busPermissions,
  inboxPrefix,
  renderNatsConfig,
  STREAM,
} from '@hermes-fleet/events';
import { OPERATOR, SETUP } from './layout.ts';

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

/** Creates and updates the stream; reads and writes no event. */
const setupPermissions = (): BusPermissions => ({
  publish: [
    '$JS.API.INFO',
    ...['INFO', 'CREATE', 'UPDATE'].map((verb) => `$JS.API.STREAM.${verb}.${STREAM}`),
  ],
  subscribe: [`${inboxPrefix(SETUP)}.>`],
});

/** Reads every event through consumers of its own; publishes none. */
const readerPermissions = (): BusPermissions => ({
  publish: [
    '$JS.API.INFO',
    `$JS.API.STREAM.INFO.${STREAM}`,
    `$JS.API.STREAM.MSG.GET.${STREAM}`,
    `$JS.API.DIRECT.GET.${STREAM}.>`,
    ...['CREATE', 'DURABLE.CREATE', 'INFO', 'DELETE', 'MSG.NEXT'].map(
      (verb) => `$JS.API.CONSUMER.${verb}.${STREAM}.>`,
    ),
    `$JS.API.CONSUMER.CREATE.${STREAM}`,
    `$JS.ACK.${STREAM}.>`,
    '$JS.FC.>',
  ],
  subscribe: [`${inboxPrefix(OPERATOR)}.>`],
});

const permissionsOf = (user: string): BusPermissions => {
  if (user === SETUP) return setupPermissions();
  return user === OPERATOR ? readerPermissions() : busPermissions(user);
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
