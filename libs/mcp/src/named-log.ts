import type { Log } from '@hermes-fleet/protocol';

/** A log whose every line names the server. */
export function namedLog(log: Log, server: string): Log {
  return {
    debug: (fields, message) => log.debug({ server, ...fields }, message),
    info: (fields, message) => log.info({ server, ...fields }, message),
    warn: (fields, message) => log.warn({ server, ...fields }, message),
    error: (fields, message) => log.error({ server, ...fields }, message),
  };
}
