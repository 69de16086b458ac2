import type { Log } from '@hermes-fleet/protocol';

export interface ShutdownStep {
  readonly name: string;
  /** `signal` aborts when the time is up. */
  readonly run: (signal: AbortSignal) => Promise<void>;
}

export interface ShutdownOptions {
  readonly log: Log;
  /** How long all steps together may take. */
  readonly graceMs: number;
  readonly steps: readonly ShutdownStep[];
  readonly exit?: (code: number) => void;
  /** Where the signals come from: this process, or a test's emitter. */
  readonly signals?: {
    on(signal: NodeJS.Signals, listener: () => void): unknown;
    off(signal: NodeJS.Signals, listener: () => void): unknown;
  };
}

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/**
 * Stops the process in order: the first SIGTERM or SIGINT runs the steps one after the other (a failed step does not
 * keep the next from running) and exits 0, or 1 when a step failed or the time ran out; a second signal exits 130 at
 * once. Disposing it takes the handlers away (design 1, Start-up and shutdown).
 */
export function onShutdown(o: ShutdownOptions): Disposable {
  const exit = o.exit ?? ((code: number) => process.exit(code));
  const source = o.signals ?? process;
  let stopping = false;
  const listeners = SIGNALS.map((signal) => ({
    signal,
    listener: (): void => {
      if (stopping) {
        o.log.warn({ signal }, 'second signal: exiting at once');
        exit(130);
        return;
      }
      stopping = true;
      o.log.info({ signal, grace_ms: o.graceMs }, 'stopping');
      runSteps(o).then(exit);
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
  const ranOut = Promise.withResolvers<'ran out'>();
  const timer = setTimeout(() => {
    deadline.abort(new Error(`shutdown took longer than ${graceMs} ms`));
    ranOut.resolve('ran out');
  }, graceMs);
  let code: 0 | 1 = 0;
  for (const [at, step] of steps.entries()) {
    const started = performance.now();
    const outcome = await Promise.race([attempt(step, deadline.signal), ranOut.promise]);
    const line = { step: step.name, duration_ms: Math.round(performance.now() - started) };
    if (outcome === 'ran out') {
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

async function attempt(step: ShutdownStep, signal: AbortSignal): Promise<'done' | { failed: unknown }> {
  try {
    await step.run(signal);
    return 'done';
  } catch (failed) {
    return { failed };
  }
}
