import type { RunContext, ToolCall } from '@hermes-fleet/protocol/ports';

type Ask = RunContext['ask'];

interface Question {
  readonly text: string;
  readonly key: string;
  readonly signal: AbortSignal | undefined;
  readonly answer: PromiseWithResolvers<string>;
}

type Settled<T> = { readonly value: T } | { readonly thrown: unknown };

/**
 * Releases the run's slot while `work` runs, so that profiles which wait for each other do not block each other. Questions
 * of the work are asked on the call's behalf until they are withdrawn or the work ends. Settles as the work does, after
 * the run has a slot again.
 */
export async function waitWithoutSlot<T>(
  call: Pick<ToolCall, 'park' | 'ask' | 'key'>,
  work: (ask: Ask) => Promise<T>,
): Promise<T> {
  let asked = Promise.withResolvers<Question>();
  const ask: Ask = (text, { key, signal }) => {
    const answer = Promise.withResolvers<string>();
    // The asker may have ended and never handle a rejection.
    answer.promise.catch(() => undefined);
    asked.resolve({ text, key, signal, answer });
    return answer.promise;
  };
  const ended = new AbortController();
  const settled = work(ask)
    .then(
      (value): Settled<T> => ({ value }),
      (thrown: unknown): Settled<T> => ({ thrown }),
    )
    .finally(() => ended.abort());
  for (;;) {
    const next = await call.park(() => Promise.race([settled, asked.promise]));
    if ('value' in next) return next.value;
    if ('thrown' in next) throw next.thrown;
    asked = Promise.withResolvers();
    // Withdraws the question when nobody waits for the answer. `ask` releases the slot by itself.
    const signal = AbortSignal.any([ended.signal, ...(next.signal ? [next.signal] : [])]);
    await call
      .ask(next.text, { key: `${call.key}/${next.key}`, signal })
      .then(next.answer.resolve, next.answer.reject);
  }
}
