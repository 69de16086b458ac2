import type { PeerTask } from '@hermes-fleet/a2a';
import { backoffMs, FleetError } from '@hermes-fleet/protocol';
import type { DelegateOptions } from './delegate-options.ts';
import type { PeerAnswer } from './dialogue.ts';

const ASK_TIMEOUT_MS = 5_000;
/** Seldom: a question may wait for a day, and a stream for each would use up those that a peer has for us. */
const LOOKS = { firstMs: 2_000, longestMs: 60_000 };

type Options = Pick<
  DelegateOptions,
  'client' | 'endpoint' | 'clock' | 'random' | 'signal' | 'traceparent' | 'dialogue' | 'log'
>;

/** What came of a wait: an answer, nobody to give one, or the task that asked, where it does not ask that any more. */
export type Waited = { readonly answer: PeerAnswer | undefined } | { readonly moved: PeerTask };

/**
 * The caller's answer to what a task at a peer asks. The peer may give up waiting before that, for reasons of its own: then
 * the question is taken back, and the task is handed back as it is there. `stillAsks` says of a task whether it waits for
 * this answer. A peer that is away meanwhile is not missed.
 */
export async function awaitAnswer(
  o: Options,
  task: PeerTask,
  stillAsks: (now: PeerTask) => boolean,
): Promise<Waited> {
  const looking = new AbortController();
  const asking = new AbortController();
  const answered = o.dialogue.ask(task, asking.signal).then((answer): Waited => ({ answer }));
  try {
    const signal = AbortSignal.any([o.signal, looking.signal]);
    const first = await Promise.race([answered, movedOn({ ...o, signal }, task, stillAsks)]);
    if ('answer' in first) return first;
    const reason = new FleetError('CANCELED', `${o.endpoint.name} does not wait for the answer any more`);
    asking.abort(reason);
    await answered.then(
      // It came too late to be told.
      (late) => ('answer' in late && late.answer ? o.dialogue.delivered() : undefined),
      (error: unknown) => {
        if (error !== reason) throw error;
      },
    );
    return first;
  } finally {
    looking.abort();
  }
}

/** Resolves when the task at the peer does not wait for this answer any more, and never otherwise. */
async function movedOn(
  { client, endpoint, clock, random, signal, traceparent, log }: Options,
  { id }: PeerTask,
  stillAsks: (now: PeerTask) => boolean,
): Promise<{ readonly moved: PeerTask }> {
  for (let looks = 1; ; looks += 1) {
    try {
      await clock.sleep(backoffMs(looks, { ...LOOKS, random }), signal);
      const task = await client.getTask(endpoint, id, { timeoutMs: ASK_TIMEOUT_MS, signal, traceparent });
      if (!stillAsks(task)) return { moved: task };
    } catch (error) {
      if (signal.aborted) return await new Promise<never>(() => undefined);
      log.debug({ peer: endpoint.name, err: error }, 'peer does not say whether its task still waits');
    }
  }
}
