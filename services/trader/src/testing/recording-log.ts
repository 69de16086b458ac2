import type { Log } from '@hermes-fleet/protocol';

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
      for (const look of [...waiting]) look(entry);
    };
  return {
    entries,
    ...{ debug: record('debug'), info: record('info'), warn: record('warn'), error: record('error') },
    saw: (pattern) =>
      new Promise((resolve) => {
        const look = (entry: LogEntry): void => {
          if (!pattern.test(entry.message)) return;
          waiting.delete(look);
          resolve(entry);
        };
        waiting.add(look);
        const past = entries.find(({ message }) => pattern.test(message));
        if (past) look(past);
      }),
  };
}
