import { FleetError } from '@hermes-fleet/protocol';
import { type DestinationStream, type Logger, levels, pino } from 'pino';
import { prettyFactory } from 'pino-pretty';

const REDACTED = '[redacted]';
const SECRET_NAME = '[\\w-]*(?:authorization|token|secret|password|api[_-]?key|cookie|credentials)';
const SECRET_FIELD = new RegExp(`("${SECRET_NAME}"\\s*:\\s*)"(?:[^"\\\\]|\\\\.)*"`, 'gi');
/** The same in JSON inside a string. */
const QUOTED_SECRET_FIELD = new RegExp(`(\\\\"${SECRET_NAME}\\\\"\\s*:\\s*)\\\\"[^"\\\\]*\\\\"`, 'gi');
const BEARER = /\b(Bearer\s+)[\w.~+/=-]{4,}/gi;
const URL_PASSWORD = /(\w:\/\/[^\s:/@"]*:)[^\s/@"]+@/g;

/**
 * Removes the secrets from a log line: the string value of every field with the name of a secret, at any depth, and
 * bearer tokens and URL passwords in any text.
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
  /** A pino level or `silent`; default: `info`. Processes pass LOG_LEVEL. */
  readonly level?: string | undefined;
  /** Readable lines instead of JSON. Default: true if standard output is a terminal. */
  readonly pretty?: boolean | undefined;
  /** Default: standard output. */
  readonly stream?: DestinationStream | undefined;
}

/**
 * The logger of a process: one line of JSON per record, `level` as a word, `time` as ISO 8601, secrets redacted. Writes
 * synchronously: the last line before an exit is not lost. Throws CONFIG_INVALID for an unknown level.
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
  const destination = stream ?? pino.destination({ dest: 1, sync: true });
  return pino(
    {
      base: { name },
      level,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: pino.stdSerializers.err },
      hooks: { streamWrite: redact },
    },
    isPretty ? prettyTo(destination, stream === undefined) : destination,
  );
}

function prettyTo(destination: DestinationStream, colorize: boolean): DestinationStream {
  const format = prettyFactory({ colorize, ignore: 'name' });
  return { write: (line) => destination.write(format(line)) };
}
