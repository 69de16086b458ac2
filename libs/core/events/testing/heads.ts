import { createHash } from 'node:crypto';
import { systemClock } from '@hermes-fleet/protocol/ports';
import { type RecordingLog, recordingLog, silentLog } from '@hermes-fleet/protocol/testing';
import { connect, type NatsConnection } from 'nats';
import { type Head, readHeadEvent } from '../src/audit-heads/head-event.ts';
import {
  type HeadPublisher,
  type HeadPublisherOptions,
  startHeadPublisher,
} from '../src/audit-heads/head-publisher.ts';
import { busPermissions, inboxPrefix } from '../src/streams/permissions.ts';
import { setUpStreams } from '../src/streams/set-up-streams.ts';
import { AUDIT_STREAM } from '../src/streams/subjects.ts';
import { type NatsServer, startNatsServer } from './nats-server.ts';

type After = { after(fn: () => Promise<void>): void };

export const SUBJECT = 'fleet.audit.trader';
export const SETUP = { user: 'setup', pass: 'setup-pw' };
export const NEVER_MS = 3_600_000;

export const headOf = (seq: number, store = 'one'): Head => ({
  store,
  seq,
  hash: createHash('sha256').update(`${store} ${seq}`).digest('hex'),
});

export const login = (url: string, user: string) => ({
  servers: [url],
  name: `${user}/test`,
  user,
  pass: `${user}-pw`,
  ...(user === SETUP.user ? {} : { inboxPrefix: inboxPrefix(user) }),
});

export async function audited(t: After, options: { readonly streams?: false } = {}) {
  const user = (name: string, control: boolean) => ({
    user: name,
    password: `${name}-pw`,
    permissions: busPermissions(name, { control }),
  });
  const server = await startNatsServer(t, {
    users: [{ user: SETUP.user, password: SETUP.pass }, user('trader', true), user('neo', false)],
  });
  if (options.streams !== false) await setUp(server);
  return server;
}

export const setUp = (server: NatsServer) =>
  setUpStreams({ connection: login(server.url, SETUP.user), log: silentLog });

export async function connectAs(t: After, server: NatsServer, user: string): Promise<NatsConnection> {
  const { servers, ...more } = login(server.url, user);
  const nc = await connect({ servers: [...servers], ...more });
  t.after(() => nc.close());
  return nc;
}

/** The stored head, and the number of heads ever stored. */
export async function stored(
  server: NatsServer,
): Promise<{ head: Head | undefined; text: string; count: number }> {
  const nc = await connect({ servers: server.url, ...SETUP });
  try {
    const { streams } = await nc.jetstreamManager();
    const { state } = await streams.info(AUDIT_STREAM);
    const text =
      state.messages === 0
        ? ''
        : await streams
            .getMessage(AUDIT_STREAM, { last_by_subj: SUBJECT })
            .then((message) => message.string());
    return { head: readHeadEvent(text), text, count: state.last_seq };
  } finally {
    await nc.close();
  }
}

/** A growing audit and the publisher of its head. */
export function follow(
  t: After,
  url: string,
  options: Partial<HeadPublisherOptions> & { readonly at?: number } = {},
) {
  const log: RecordingLog = recordingLog();
  const { at = 1, ...more } = options;
  const audit = { head: headOf(at), asked: [] as (Head | undefined)[] };
  const publisher: HeadPublisher = startHeadPublisher({
    connection: login(url, 'trader'),
    service: 'trader',
    head: () => audit.head,
    check: async (found) => {
      audit.asked.push(found);
      if (found === undefined || found.hash === headOf(found.seq, audit.head.store).hash) return undefined;
      return `record ${found.seq} is another`;
    },
    clock: systemClock,
    log,
    random: () => 0,
    ...more,
  });
  t.after(() => publisher.close());
  const grow = (seq: number): void => {
    audit.head = headOf(seq);
    publisher.headChanged();
  };
  return { audit, publisher, log, grow };
}
