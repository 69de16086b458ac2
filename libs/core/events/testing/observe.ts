import { silentLog, systemClock } from '@hermes-fleet/protocol/ports';
import { type ConnectionOptions, connect, NatsError } from 'nats';
import { consume } from '../src/consume/consume.ts';
import { streamOf } from '../src/streams/subjects.ts';

/** The ids in a stream, oldest first, including duplicates. */
export async function storedIds(
  url: string,
  filter = 'fleet.task.>',
  user?: string,
  pass?: string,
): Promise<string[]> {
  const credentials = user === undefined ? {} : { user, pass: pass ?? '' };
  const last = await lastSequence({ servers: url, ...credentials }, filter);
  const ids: string[] = [];
  if (last === undefined) return ids;
  const done = new AbortController();
  await consume({
    connection: { servers: [url], name: 'test/reader', ...credentials },
    filter,
    fromStart: true,
    signal: done.signal,
    log: silentLog,
    clock: systemClock,
    onEvent: (event, meta) => {
      ids.push(event.id);
      if (meta.seq >= last) done.abort();
    },
  });
  return ids;
}

/** The sequence of the newest message that matches the filter; undefined when there is none. */
async function lastSequence(connection: ConnectionOptions, filter: string): Promise<number | undefined> {
  const nc = await connect(connection);
  try {
    const jsm = await nc.jetstreamManager();
    return (await jsm.streams.getMessage(streamOf(filter), { last_by_subj: filter })).seq;
  } catch (error) {
    if (error instanceof NatsError && error.code === '404') return undefined;
    throw error;
  } finally {
    await nc.close();
  }
}
