const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Runs work that cleans up after itself when its signal aborts, as at Ctrl-C. Then `onStopped` is called, and the process ends by the
 * signal that it got, as a shell expects it.
 */
export async function untilStopped<T>(
  work: (signal: AbortSignal) => Promise<T>,
  onStopped: () => void,
): Promise<T> {
  const stop = new AbortController();
  let by: NodeJS.Signals | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    by = signal;
    stop.abort(new Error(`stopped by ${signal}`));
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  try {
    return await work(stop.signal);
  } catch (error) {
    if (by === undefined) throw error;
    for (const signal of SIGNALS) process.off(signal, onSignal);
    onStopped();
    process.kill(process.pid, by);
    throw error;
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal);
  }
}
