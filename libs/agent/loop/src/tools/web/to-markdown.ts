import { Worker } from 'node:worker_threads';
import { program } from '@hermes-fleet/installation';
import { type Clock, raceSignal } from '@hermes-fleet/protocol/ports';
import { z } from 'zod';

/** A page of 1 MB takes about a second; only a hostile page takes much longer. */
const TIMEOUT_MS = 10_000;
const LIMITS = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 };

/**
 * Converts a page to Markdown in a thread of its own, so that a hostile page blocks nothing, and no script runs. Undefined
 * when it takes too long or too much memory. Rejects with the signal's reason.
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
  const worker = new Worker(program('markdown-worker'), {
    workerData: page,
    resourceLimits: LIMITS,
    env: {},
    execArgv: [],
    stdout: true,
    stderr: true,
  });
  const ended = Promise.withResolvers<string | undefined>();

  using _deadline = clock.timer(() => ended.resolve(undefined), timeoutMs);
  worker.once('message', (message: unknown) => ended.resolve(z.string().parse(message)));
  // Out of memory or stack: the page is the cause, and a retry would fail again.
  worker.once('error', () => ended.resolve(undefined));
  worker.once('exit', () => ended.resolve(undefined));
  try {
    return await raceSignal(ended.promise, signal);
  } finally {
    await worker.terminate();
  }
}
