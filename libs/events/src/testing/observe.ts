import { type Log, systemClock } from '@hermes-fleet/protocol';
import { connect } from 'nats';
import { consume } from '../consume.ts';

export interface LogEntry {
  readonly level: keyof Log;
  readonly message: string;
  readonly fields: object;
}

export interface RecordingLog extends Log {
  readonly entries: LogEntry[];
  /** The first entry, past or future, whose message matches. */
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

/** The ids in the stream as it now is, oldest first, exactly as stored: nothing is taken for a duplicate. */
export async function storedIds(
  url: string,
  filter = 'fleet.>',
  user?: string,
  pass?: string,
): Promise<string[]> {
  const credentials = user === undefined ? {} : { user, pass: pass ?? '' };
  const nc = await connect({ servers: url, ...credentials });
  const { state } = await (await nc.jetstreamManager()).streams.info('FLEET');
  await nc.close();
  const ids: string[] = [];
  if (state.messages === 0) return ids;
  const done = new AbortController();
  const log = recordingLog();
  const last = state.last_seq;
  await consume({
    connection: { servers: [url], name: 'test/reader', ...credentials },
    filter: 'fleet.>',
    fromStart: true,
    signal: done.signal,
    log,
    clock: systemClock,
    onEvent: (event, meta) => {
      if (matches(filter, meta.subject)) ids.push(event.id);
      if (meta.seq >= last) done.abort();
    },
  });
  return ids;
}

const matches = (filter: string, subject: string): boolean =>
  filter.endsWith('>') ? subject.startsWith(filter.slice(0, -1)) : filter === subject;
