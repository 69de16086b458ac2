import type { LoggerOptions } from './logger.ts';
import type { ShutdownOptions } from './shutdown.ts';

/** What a service uses of the process that it runs in; default: this process. Several services can share one. */
export interface Host extends Pick<ShutdownOptions, 'exit' | 'signals'> {
  /** Gets the lines of the log. */
  readonly output?: LoggerOptions['stream'];
}
