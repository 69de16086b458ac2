const SIGNALS: readonly NodeJS.Signals[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Runs work that cleans up after itself when its signal aborts, as at Ctrl-C or another of `signals`. Then `onStopped` is called, and
 * the process ends by the signal that it got, as a shell expects it.
 */
export async function untilStopped<T>(
  work: (signal: AbortSignal) => Promise<T>,
  onStopped: () => void,
  signals = SIGNALS,
): Promise<T> {
  const stop = new AbortController();
  let by: NodeJS.Signals | undefined;
  const onSignal = (signal: NodeJS.Signals): void => {
    by = signal;
    stop.abort(new Error(`stopped by ${signal}`));
  };
  for (const signal of signals) process.on(signal, onSignal);
  try {
    return await work(stop.signal);
  } catch (error) {
    if (by === undefined) throw error;
    for (const signal of signals) process.off(signal, onSignal);
    onStopped();
    process.kill(process.pid, by);
    throw error;
  } finally {
    for (const signal of signals) process.off(signal, onSignal);
  }
}
