import { redirectIn } from '../provider/provider-failure.ts';
import { SilenceError } from './silence.ts';

/** How an attempt ended: with an answer, an HTTP status, no answer, or one that broke off. */
export type ModelCallEnd =
  | { readonly kind: 'answered' }
  | { readonly kind: 'refused'; readonly status: number }
  | { readonly kind: 'unreachable' }
  | { readonly kind: 'broken' };

export interface ModelCalls {
  /** A call runs until it is disposed of, with all its attempts. */
  begin(): Disposable;
  /** Reports an attempt. One that was aborted is not reported. */
  ended(end: ModelCallEnd): void;
}

/** How a call that got no answer ended. */
export const unansweredEnd = (thrown: unknown): ModelCallEnd => {
  if (thrown instanceof SilenceError) return { kind: 'broken' };
  const redirect = redirectIn(thrown);
  return redirect ? { kind: 'refused', status: redirect.status } : { kind: 'unreachable' };
};

/** `fetch` that reports each attempt as soon as the provider's status is known, before anybody tries again. */
export function observedFetch(next: typeof fetch, calls: ModelCalls): typeof fetch {
  return async (input, init) => {
    let response: Response;
    try {
      response = await next(input, init);
    } catch (error) {
      if (!init?.signal?.aborted) calls.ended(unansweredEnd(error));
      throw error;
    }
    calls.ended(response.ok ? { kind: 'answered' } : { kind: 'refused', status: response.status });
    return response;
  };
}
