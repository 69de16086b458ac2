import type { PeerTask } from '@hermes-fleet/a2a';
import { backoffMs } from '@hermes-fleet/protocol';
import type { DelegateOptions } from './delegate.ts';
import type { PeerAnswer } from './dialogue.ts';

const ASK_TIMEOUT_MS = 5_000;
/** Seldom: a question may wait for a day, and a stream for each would use up those that a peer has for us. */
const LOOKS = { firstMs: 2_000, longestMs: 60_000 };

type Options = Pick<
  DelegateOptions,
  'client' | 'endpoint' | 'clock' | 'random' | 'signal' | 'traceparent' | 'dialogue' | 'log'
>;

/** What came of a wait: an answer, nobody to give one, or the end of the task that asked. */
export type Waited = { readonly answer: PeerAnswer | undefined } | { readonly ended: PeerTask };

/**
 * The caller's answer to what a task at a peer asks. The peer may give up waiting before that, for reasons of its own: then
 * the task as it ended there. A peer that is away meanwhile is not missed.
 */
export async function awaitAnswer(o: Options, task: PeerTask): Promise<Waited> {
  const over = new AbortController();
  const answered = o.dialogue.ask(task).then((answer): Waited => ({ answer }));
  try {
    return await Promise.race([
      answered,
      endOf({ ...o, signal: AbortSignal.any([o.signal, over.signal]) }, task),
    ]);
  } finally {
    over.abort();
    // Of no use any more where the task has ended.
    answered.catch(() => undefined);
  }
}

/** Resolves when the task has ended at the peer, and never otherwise. */
async function endOf(
  { client, endpoint, clock, random, signal, traceparent, log }: Options,
  { id }: PeerTask,
) {
  for (let looks = 1; ; looks += 1) {
    try {
      await clock.sleep(backoffMs(looks, { ...LOOKS, random }), signal);
      const task = await client.getTask(endpoint, id, { timeoutMs: ASK_TIMEOUT_MS, signal, traceparent });
      if (task.terminal) return { ended: task };
    } catch (error) {
      if (signal.aborted) return await new Promise<never>(() => undefined);
      log.debug({ peer: endpoint.name, err: error }, 'peer does not say whether its task still waits');
    }
  }
}
