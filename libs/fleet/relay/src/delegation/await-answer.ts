import type { PeerTask } from '@hermes-fleet/a2a';
import { backoffMs, FleetError } from '@hermes-fleet/protocol';
import type { DelegateOptions } from './delegate-options.ts';
import { QUERY_TIMEOUT_MS } from './peer-contact.ts';
import type { AnswerMessage } from './question-exchange.ts';

/** A question may wait for a day, so polls are rare. A stream per question would exhaust the peer's stream limit. */
const POLL_BACKOFF = { firstMs: 2_000, longestMs: 60_000 };

type Options = Pick<
  DelegateOptions,
  'client' | 'endpoint' | 'clock' | 'random' | 'signal' | 'traceparent' | 'questions' | 'log'
>;

/** The caller's answer (undefined when nobody can give one), or the task that no longer waits for it. */
export type AwaitedAnswer = { readonly answer: AnswerMessage | undefined } | { readonly moved: PeerTask };

/**
 * Asks the caller what the peer's task asks, and waits. The peer may stop waiting first: then the question is withdrawn
 * and the task returned as it is now. `stillAsks` tells whether a task still waits for this answer. A peer that is
 * unreachable during the wait is not an error.
 */
export async function awaitAnswer(
  options: Options,
  task: PeerTask,
  stillAsks: (now: PeerTask) => boolean,
): Promise<AwaitedAnswer> {
  const { questions, endpoint } = options;
  const polling = new AbortController();
  const asking = new AbortController();
  const answered = questions.ask(task, asking.signal).then((answer): AwaitedAnswer => ({ answer }));
  try {
    const signal = AbortSignal.any([options.signal, polling.signal]);
    const first = await Promise.race([answered, untilMovedOn({ ...options, signal }, task, stillAsks)]);
    if ('answer' in first) return first;
    const reason = new FleetError('CANCELED', `${endpoint.name} does not wait for the answer any more`);
    asking.abort(reason);
    await answered.then(
      // The answer came too late to be sent.
      (late) => ('answer' in late && late.answer ? questions.markDelivered() : undefined),
      (error: unknown) => {
        if (error !== reason) throw error;
      },
    );
    return first;
  } finally {
    polling.abort();
  }
}

/** Resolves when the peer's task no longer waits for this answer. Never rejects. */
async function untilMovedOn(
  { client, endpoint, clock, random, signal, traceparent, log }: Options,
  { id }: PeerTask,
  stillAsks: (now: PeerTask) => boolean,
): Promise<{ readonly moved: PeerTask }> {
  for (let polls = 1; ; polls += 1) {
    try {
      await clock.sleep(backoffMs(polls, { ...POLL_BACKOFF, random }), signal);
      const task = await client.getTask(endpoint, id, { timeoutMs: QUERY_TIMEOUT_MS, signal, traceparent });
      if (!stillAsks(task)) return { moved: task };
    } catch (error) {
      if (signal.aborted) return await new Promise<never>(() => undefined);
      log.debug({ peer: endpoint.name, err: error }, 'peer does not say whether its task still waits');
    }
  }
}
