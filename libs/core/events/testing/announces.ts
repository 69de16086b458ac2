import type { TestContext } from 'node:test';
import type { JsonObject } from '@hermes-fleet/protocol';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { type recordingLog, silentLog } from '@hermes-fleet/protocol/testing';
import { connect, type NatsConnection } from 'nats';
import { type AnnounceBus, startAnnounceBus } from '../src/announces/announce-bus.ts';
import type { Announced } from '../src/announces/announce-event.ts';
import { busPermissions, inboxPrefix } from '../src/streams/permissions.ts';
import { type NatsServer, startNatsServer } from './nats-server.ts';

export const announced = (seq: number, more: JsonObject = {}): Announced => ({
  announce: { type: 'SESSION_ANNOUNCE', seq, ...more },
  instanceId: '019e7fb2-6a00-7000-8000-000000000001',
  seq,
  at: Date.parse('2026-05-31T20:00:00Z'),
});

/** The received announces, and a promise of the first that matches. */
export function recordAnnounces() {
  const received: { from: string; announce: JsonObject }[] = [];
  const waiting = new Set<() => void>();
  return {
    received,
    onAnnounce: (announce: JsonObject, from: string) => {
      received.push({ from, announce });
      for (const check of waiting) check();
    },
    until: (fits: () => boolean) =>
      new Promise<void>((resolve) => {
        const check = (): void => {
          if (!fits()) return;
          waiting.delete(check);
          resolve();
        };
        waiting.add(check);
        check();
      }),
  };
}

export async function startServer(
  t: TestContext,
  names = ['switch', 'neo', 'morpheus'],
): Promise<NatsServer> {
  return startNatsServer(t, {
    users: [
      { user: 'setup', password: 'setup-password' },
      ...names.map((name) => ({ user: name, password: `${name}-pw`, permissions: busPermissions(name) })),
    ],
  });
}

interface BusOptions {
  readonly url: string;
  readonly user?: string;
  readonly log?: ReturnType<typeof recordingLog>;
  readonly onAnnounce?: (announce: JsonObject, from: string) => Promise<void> | void;
}

export function openBus(t: TestContext, profile: string, options: BusOptions): AnnounceBus {
  const user = options.user ?? profile;
  const bus = startAnnounceBus({
    connection: {
      servers: [options.url],
      name: `${profile}/announces`,
      user,
      pass: `${user}-pw`,
      inboxPrefix: inboxPrefix(user),
    },
    profile,
    clock: systemClock,
    log: options.log ?? silentLog,
    random: () => 0,
    ...(options.onAnnounce ? { onAnnounce: options.onAnnounce } : {}),
  });
  t.after(() => bus.close());
  return bus;
}

/** Resolves when the bus receives everything that is published from now on. */
export async function untilConnected(bus: AnnounceBus): Promise<void> {
  while (!bus.state().connected) await systemClock.sleep(5);
}

export async function connectAs(t: TestContext, url: string, user: string): Promise<NatsConnection> {
  const nc = await connect({ servers: url, user, pass: `${user}-pw`, inboxPrefix: inboxPrefix(user) });
  t.after(() => nc.close());
  return nc;
}
