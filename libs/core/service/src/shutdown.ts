import type { Log } from '@hermes-fleet/protocol/ports';
import type { LoggerOptions } from './logger.ts';

export interface ShutdownStep {
  readonly name: string;
  /** `signal` aborts when the grace period ends. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

export interface ShutdownOptions {
  readonly log: Log;
  /** The maximum duration of all steps together. */
  readonly graceMs: number;
  readonly steps: readonly ShutdownStep[];
  readonly exit?: ((code: number) => void) | undefined;
  /** The source of the signals. Default: this process. */
  readonly signals?:
    | {
        on(signal: NodeJS.Signals, listener: () => void): unknown;
        off(signal: NodeJS.Signals, listener: () => void): unknown;
      }
    | undefined;
}

/** What a service uses of the process that it runs in; default: this process. Several services can share one. */
export interface Host extends Pick<ShutdownOptions, 'exit' | 'signals'> {
  /** Gets the lines of the log. */
  readonly output?: LoggerOptions['stream'];
}

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * Stops the process gracefully (docs/architecture.md). The first SIGTERM or SIGINT runs the steps one after the other,
 * even if one fails, and exits 0; it exits 1 if a step failed or the grace period ended. A second signal exits 130 at
 * once. Disposing the result removes the handlers.
 */
export function onShutdown(options: ShutdownOptions): Disposable {
  const { log, graceMs, exit = (code: number) => process.exit(code), signals: source = process } = options;
  let stopping = false;
  const listeners = SIGNALS.map((signal) => ({
    signal,
    listener: (): void => {
      if (stopping) {
        log.warn({ signal }, 'second signal: exiting at once');
        exit(130);
        return;
      }
      stopping = true;
      log.info({ signal, grace_ms: graceMs }, 'stopping');
      runSteps(options).then(exit);
    },
  }));
  for (const { signal, listener } of listeners) source.on(signal, listener);
  return {
    [Symbol.dispose]() {
      for (const { signal, listener } of listeners) source.off(signal, listener);
    },
  };
}

/** Runs the steps within the grace period; resolves with the exit code and never rejects. */
async function runSteps({ log, graceMs, steps }: ShutdownOptions): Promise<0 | 1> {
  const deadline = new AbortController();
  const timedOut = Promise.withResolvers<'timed out'>();
  const timer = setTimeout(() => {
    deadline.abort(new Error(`shutdown took longer than ${graceMs} ms`));
    timedOut.resolve('timed out');
  }, graceMs);
  let code: 0 | 1 = 0;
  for (const [at, step] of steps.entries()) {
    const started = performance.now();
    const outcome = await Promise.race([runStep(step, deadline.signal), timedOut.promise]);
    const line = { step: step.name, duration_ms: Math.round(performance.now() - started) };
    if (outcome === 'timed out') {
      const skipped = steps.slice(at + 1).map(({ name }) => name);
      log.error({ ...line, grace_ms: graceMs, skipped }, 'shutdown ran out of time');
      return 1;
    }
    if (outcome === 'done') log.info(line, 'shutdown step done');
    else {
      code = 1;
      log.error({ ...line, err: outcome.failed }, 'shutdown step failed');
    }
  }
  clearTimeout(timer);
  log.info({ exit_code: code }, 'stopped');
  return code;
}

async function runStep(step: ShutdownStep, signal: AbortSignal): Promise<'done' | { failed: unknown }> {
  try {
    await step.run(signal);
    return 'done';
  } catch (failed) {
    return { failed };
  }
}
