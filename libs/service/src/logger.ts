import { FleetError } from '@hermes-fleet/protocol';
import { type DestinationStream, type Logger, levels, pino } from 'pino';
import { prettyFactory } from 'pino-pretty';

const REDACTED = '[redacted]';
const SECRET_NAME = '[\\w-]*(?:authorization|token|secret|password|api[_-]?key|cookie|credentials)';
const SECRET_FIELD = new RegExp(`("${SECRET_NAME}"\\s*:\\s*)"(?:[^"\\\\]|\\\\.)*"`, 'gi');
/** The same inside a text that is JSON itself. */
const QUOTED_SECRET_FIELD = new RegExp(`(\\\\"${SECRET_NAME}\\\\"\\s*:\\s*)\\\\"[^"\\\\]*\\\\"`, 'gi');
const BEARER = /\b(Bearer\s+)[\w.~+/=-]{4,}/gi;
const URL_PASSWORD = /(\w:\/\/[^\s:/@"]*:)[^\s/@"]+@/g;

/**
 * Takes the secrets out of one log line: the string value of every field whose name says that it is one, at any
 * depth, and bearer tokens and URL passwords inside any text.
 */
export function redact(line: string): string {
  return line
    .replace(SECRET_FIELD, `$1"${REDACTED}"`)
    .replace(QUOTED_SECRET_FIELD, `$1\\"${REDACTED}\\"`)
    .replace(BEARER, `$1${REDACTED}`)
    .replace(URL_PASSWORD, `$1${REDACTED}@`);
}

export interface LoggerOptions {
  readonly name: string;
  /** A pino level or `silent`; `info` when absent. Processes pass LOG_LEVEL. */
  readonly level?: string | undefined;
  /** Readable lines instead of JSON; by default when standard output is a terminal. */
  readonly pretty?: boolean | undefined;
  /** Standard output when absent. */
  readonly stream?: DestinationStream | undefined;
}

/**
 * The logger of a process: one line of JSON per record, `level` as a word, `time` as ISO 8601, secrets redacted
 * (design 5, Logs). Written synchronously, so that the last line before an exit is not lost.
 * Throws CONFIG_INVALID for a level that does not exist.
 */
export function createLogger(o: LoggerOptions): Logger {
  const level = o.level ?? 'info';
  const known = [...Object.keys(levels.values), 'silent'];
  if (!known.includes(level)) {
    throw new FleetError(
      'CONFIG_INVALID',
      `log level "${level}" does not exist; use one of ${known.join(', ')}`,
    );
  }
  const readable = o.pretty ?? (o.stream === undefined && process.stdout.isTTY === true);
  const destination = o.stream ?? pino.destination({ dest: 1, sync: true });
  return pino(
    {
      base: { name: o.name },
      level,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: pino.stdSerializers.err },
      hooks: { streamWrite: redact },
    },
    readable ? prettyTo(destination, o.stream === undefined) : destination,
  );
}

function prettyTo(destination: DestinationStream, colorize: boolean): DestinationStream {
  const format = prettyFactory({ colorize, ignore: 'name' });
  return { write: (line) => destination.write(format(line)) };
}
