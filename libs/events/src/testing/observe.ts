import { type Log, systemClock } from '@hermes-fleet/protocol';
import { type ConnectionOptions, connect, NatsError } from 'nats';
import { consume } from '../consume/consume.ts';
import { streamOf } from '../streams/subjects.ts';

export interface LogEntry {
  readonly level: keyof Log;
  readonly message: string;
  readonly fields: object;
}

export interface RecordingLog extends Log {
  readonly entries: LogEntry[];
  /** Resolves with the first entry, past or future, whose message matches. */
  saw(pattern: RegExp): Promise<LogEntry>;
}

export function recordingLog(): RecordingLog {
  const entries: LogEntry[] = [];
  const waiting = new Set<(entry: LogEntry) => void>();
  const record =
    (level: keyof Log) =>
    (fields: object, message: string): void => {
      const entry = { level, message, fields };
      entries.push(entry);
      for (const check of waiting) check(entry);
    };
  return {
    entries,
    debug: record('debug'),
    info: record('info'),
    warn: record('warn'),
    error: record('error'),
    saw: (pattern) => {
      const past = entries.find((entry) => pattern.test(entry.message));
      if (past) return Promise.resolve(past);
      return new Promise((resolve) => {
        const check = (entry: LogEntry): void => {
          if (!pattern.test(entry.message)) return;
          waiting.delete(check);
          resolve(entry);
        };
        waiting.add(check);
      });
    },
  };
}

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
    log: recordingLog(),
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
