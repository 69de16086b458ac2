import { connect, type StreamConfig } from 'nats';
import { announceEvent } from '../src/announces/announce-event.ts';
import type { StreamSetup } from '../src/streams/set-up-streams.ts';
import { STREAM } from '../src/streams/subjects.ts';
import { startNatsServer } from './nats-server.ts';

type After = { after(fn: () => Promise<void>): void };

export const HOUR_NS = 60 * 60 * 1e9;

export async function bus(t: After) {
  const server = await startNatsServer(t);
  const connection = { servers: [server.url], name: 'set-up' };
  const admin = await connect({ servers: server.url });
  t.after(() => admin.close());
  const jsm = await admin.jetstreamManager();
  const config = async (stream = STREAM): Promise<StreamConfig> => (await jsm.streams.info(stream)).config;
  const count = async (stream: string): Promise<number> => (await jsm.streams.info(stream)).state.messages;
  /** Publishes announces with these sequence numbers, acknowledged by the stream that stores them. */
  const announce = async (profile: string, from: number, to: number): Promise<void> => {
    for (let seq = from; seq <= to; seq += 1) {
      const event = announceEvent(profile, { announce: { seq }, instanceId: '1', seq, at: 0 });
      await admin
        .jetstream()
        .publish(`fleet.announce.${profile}`, JSON.stringify(event), { msgID: event.id });
    }
  };
  /** Publishes task events with these sequence numbers. */
  const publishEvents = async (profile: string, from: number, to: number): Promise<void> => {
    for (let seq = from; seq <= to; seq += 1) {
      const event = announceEvent(profile, { announce: {}, instanceId: 'task', seq, at: 0 });
      await admin.jetstream().publish(`fleet.task.${profile}.done`, JSON.stringify(event), {
        msgID: event.id,
        expect: { streamName: STREAM },
      });
    }
  };
  /** Publishes a message and returns the stream that stored it. */
  const publish = async (subject: string, text = '{}'): Promise<string> =>
    (await admin.jetstream().publish(subject, text)).stream;
  return { server, connection, jsm, config, count, announce, publishEvents, publish };
}

export const ids = (profile: string, instance: string, from: number, to: number): string[] =>
  Array.from({ length: to - from + 1 }, (_, at) => `${profile}:${instance}:${from + at}`);

export const outcomes = (made: StreamSetup): string[] => Object.values(made.outcomes);
