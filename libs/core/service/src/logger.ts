import { FleetError } from '@hermes-fleet/protocol';
import { type DestinationStream, type Logger, levels, pino } from 'pino';
import { prettyFactory } from 'pino-pretty';
import { createLogOutput } from './log-output.ts';
import { redact } from './redact.ts';

export interface LoggerOptions {
  readonly name: string;
  /** A pino level or `silent`; default: `info`. Processes pass LOG_LEVEL. */
  readonly level?: string | undefined;
  /** Readable lines instead of JSON. Default: true if standard output is a terminal. */
  readonly pretty?: boolean | undefined;
  /** Gets each line at once. Default: standard output; see `createLogOutput`. */
  readonly stream?: DestinationStream | undefined;
}

/**
 * The logger of a process: one line of JSON per record, `level` as a word, `time` as ISO 8601, secrets redacted. The last
 * line before an exit is not lost. Throws CONFIG_INVALID for an unknown level.
 */
export function createLogger({ name, level = 'info', pretty, stream }: LoggerOptions): Logger {
  const known = [...Object.keys(levels.values), 'silent'];
  if (!known.includes(level)) {
    throw new FleetError(
      'CONFIG_INVALID',
      `log level "${level}" does not exist; use one of ${known.join(', ')}`,
    );
  }
  const isPretty = pretty ?? (stream === undefined && process.stdout.isTTY === true);
  return pino(
    {
      base: { name },
      level,
      timestamp: createIsoTime(),
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: pino.stdSerializers.err },
      hooks: { streamWrite: redact },
    },
    isPretty ? createPrettyOutput(stream) : (stream ?? createLogOutput()),
  );
}

/** Pino's isoTime, which formats each millisecond once: under load, many lines share one. */
function createIsoTime(): () => string {
  let at = Number.NaN;
  let text = '';
  return () => {
    const now = Date.now();
    if (now !== at) {
      at = now;
      text = `,"time":"${new Date(now).toISOString()}"`;
    }
    return text;
  };
}

/** Writes each line at once: a terminal has somebody who waits for it. */
function createPrettyOutput(stream: DestinationStream | undefined): DestinationStream {
  const output = stream ?? pino.destination({ dest: 1, sync: true });
  const format = prettyFactory({ colorize: stream === undefined, ignore: 'name' });
  return { write: (line) => output.write(format(line)) };
}
