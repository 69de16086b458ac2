import type { Log } from '../src/ports/log.ts';

export interface LogEntry {
  readonly level: keyof Log;
  readonly message: string;
  readonly fields: object;
}

export interface RecordingLog extends Log {
  readonly entries: LogEntry[];
  /** The entries as `level: message`. */
  readonly messages: string[];
  /** Resolves with the first entry, past or future, whose message matches. */
  saw(pattern: RegExp): Promise<LogEntry>;
}

/** A log that keeps its entries. */
export function recordingLog(): RecordingLog {
  const entries: LogEntry[] = [];
  const messages: string[] = [];
  const observers = new Set<(entry: LogEntry) => void>();
  const record =
    (level: keyof Log) =>
    (fields: object, message: string): void => {
      const entry = { level, message, fields };
      entries.push(entry);
      messages.push(`${level}: ${message}`);
      for (const observe of observers) observe(entry);
    };
  return {
    entries,
    messages,
    debug: record('debug'),
    info: record('info'),
    warn: record('warn'),
    error: record('error'),
    saw: (pattern) =>
      new Promise((resolve) => {
        const observe = (entry: LogEntry): void => {
          if (!pattern.test(entry.message)) return;
          observers.delete(observe);
          resolve(entry);
        };
        observers.add(observe);
        entries.forEach(observe);
      }),
  };
}
