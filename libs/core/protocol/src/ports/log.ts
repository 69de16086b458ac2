/** The part of pino's logger that packages use. */
export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

/** Discards every entry. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };
