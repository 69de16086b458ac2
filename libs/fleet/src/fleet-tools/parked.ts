import type { RunContext, ToolCall } from '@hermes-fleet/protocol';

type Ask = RunContext['ask'];

interface Question {
  readonly text: string;
  readonly key: string;
  readonly signal: AbortSignal | undefined;
  readonly answer: PromiseWithResolvers<string>;
}

type Settled<T> = { readonly value: T } | { readonly thrown: unknown };

/**
 * Has a call wait for work without its slot, so that profiles which wait for each other leave each other room. What the
 * work asks is asked in the call's name, until the work takes it back or ends. Rejects as the work does, with the run in its slot again.
 */
export async function parked<T>(
  call: Pick<ToolCall, 'park' | 'ask' | 'key'>,
  work: (ask: Ask) => Promise<T>,
): Promise<T> {
  let asked = Promise.withResolvers<Question>();
  const ask: Ask = (text, { key, signal }) => {
    const answer = Promise.withResolvers<string>();
    // Whoever asked may have ended, and not hear of it.
    answer.promise.catch(() => undefined);
    asked.resolve({ text, key, signal, answer });
    return answer.promise;
  };
  const over = new AbortController();
  const settled = work(ask)
    .then(
      (value): Settled<T> => ({ value }),
      (thrown: unknown): Settled<T> => ({ thrown }),
    )
    .finally(() => over.abort());
  for (;;) {
    const next = await call.park(() => Promise.race([settled, asked.promise]));
    if ('value' in next) return next.value;
    if ('thrown' in next) throw next.thrown;
    asked = Promise.withResolvers();
    // What nobody waits for any more is taken back. Asking parks by itself.
    const signal = AbortSignal.any([over.signal, ...(next.signal ? [next.signal] : [])]);
    await call
      .ask(next.text, { key: `${call.key}/${next.key}`, signal })
      .then(next.answer.resolve, next.answer.reject);
  }
}
