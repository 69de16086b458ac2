import type { FastifyBaseLogger } from 'fastify';

type Method = 'trace' | 'debug' | 'info' | 'warn' | 'error' | 'fatal';

/**
 * The log of one request. It collects the fields that each line of the request has; a logger with them is made only when
 * something beside the request's own line is logged, which is rare.
 */
export class RequestLog implements FastifyBaseLogger {
  readonly #base: FastifyBaseLogger;
  readonly #fields: Record<string, unknown>;
  #logger: FastifyBaseLogger | undefined;

  constructor(base: FastifyBaseLogger, fields: Record<string, unknown>) {
    this.#base = base;
    this.#fields = fields;
  }

  /** Adds a field to all later lines. */
  add(name: string, value: unknown): void {
    this.#fields[name] = value;
    this.#logger = undefined;
  }

  /** Writes a line that has the request's fields, and then these, without making a logger for it. */
  line(level: Method, fields: object, message: string): void {
    this.#base[level]({ ...this.#fields, ...fields }, message);
  }

  get level(): string {
    return this.#base.level;
  }

  set level(level: string) {
    this.#child().level = level;
  }

  trace(...args: unknown[]): void {
    this.#write('trace', args);
  }

  debug(...args: unknown[]): void {
    this.#write('debug', args);
  }

  info(...args: unknown[]): void {
    this.#write('info', args);
  }

  warn(...args: unknown[]): void {
    this.#write('warn', args);
  }

  error(...args: unknown[]): void {
    this.#write('error', args);
  }

  fatal(...args: unknown[]): void {
    this.#write('fatal', args);
  }

  silent(): void {}

  child(...args: Parameters<FastifyBaseLogger['child']>): FastifyBaseLogger {
    return this.#child().child(...args);
  }

  #write(level: Method, args: unknown[]): void {
    const logger = this.#child();
    Reflect.apply(logger[level], logger, args);
  }

  #child(): FastifyBaseLogger {
    this.#logger ??= this.#base.child(this.#fields);
    return this.#logger;
  }
}
