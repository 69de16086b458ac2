import { Worker } from 'node:worker_threads';
import type { Clock } from '@hermes-fleet/protocol';
import { z } from 'zod';

/** A page of a megabyte takes about a second; one that takes longer is built to. */
const TIMEOUT_MS = 10_000;
const LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 };

/**
 * A page as Markdown, its links absolute; undefined where that takes too long or too much memory. No script of it runs.
 * The conversion has a thread of its own, so that a page which is built to last holds nobody else up. Throws the reason
 * of `signal`.
 */
export async function toMarkdown(
  page: { readonly html: string; readonly url: string },
  {
    signal,
    clock,
    timeoutMs = TIMEOUT_MS,
  }: { readonly signal: AbortSignal; readonly clock: Clock; readonly timeoutMs?: number },
): Promise<string | undefined> {
  signal.throwIfAborted();
  const worker = new Worker(new URL('./markdown-worker.ts', import.meta.url), {
    workerData: page,
    resourceLimits: LIMITS,
    env: {},
    execArgv: [],
    stdout: true,
    stderr: true,
  });
  const ended = Promise.withResolvers<string | undefined>();
  const onAbort = (): void => ended.reject(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  using _deadline = clock.timer(() => ended.resolve(undefined), timeoutMs);
  worker.once('message', (message: unknown) => ended.resolve(z.string().parse(message)));
  // Out of memory or of stack: it is the page's doing, and the same again next time.
  worker.once('error', () => ended.resolve(undefined));
  worker.once('exit', () => ended.resolve(undefined));
  try {
    return await ended.promise;
  } finally {
    signal.removeEventListener('abort', onAbort);
    await worker.terminate();
  }
}
