import type { IncomingHttpHeaders } from 'node:http';
import {
  type AgentModel,
  DEFAULT_PATIENCE,
  providerFailure,
  providerFetch,
  redirectFailure,
  redirectIn,
  SilenceError,
  silenceFailure,
  watchSilence,
} from '@hermes-fleet/loop';
import { FleetError } from '@hermes-fleet/protocol';
import { type Clock, systemClock } from '@hermes-fleet/protocol/ports';
import { requestHeaders } from './proxy-http.ts';

export interface UpstreamOptions {
  /** The address of the provider's API, without `/v1`. */
  readonly upstream: string;
  /** The provider's key; it stays in this process. */
  readonly apiKey: string;
  readonly model: AgentModel;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/**
 * The provider behind a metering proxy. Redirects are not followed, and a call ends when the provider sends no token for as
 * long as `model_calls` says (docs/agent.md#calls-that-fail).
 */
export function createUpstream({ upstream, apiKey, model, clock = systemClock }: UpstreamOptions) {
  const { patience = DEFAULT_PATIENCE, secrets = [apiKey] } = model;
  const send = providerFetch(patience);
  return {
    /** Begins a call, which runs until it is disposed of. */
    call(path: string, body: unknown, headers: IncomingHttpHeaders, signal: AbortSignal) {
      // Before the timer, which a body that cannot be written would leave behind.
      const text = JSON.stringify(body);
      const silence = watchSilence(clock, patience);
      const limited = AbortSignal.any([signal, silence.signal]);
      const answer = send(`${upstream}${path}`, {
        method: 'POST',
        headers: { ...requestHeaders(headers), 'x-api-key': apiKey },
        body: text,
        signal: limited,
      });
      return {
        /** Rejects with a RedirectError, with the reason of `signal`, or with the network's error. */
        answer,
        /** The caller's, and that of a provider that is silent for too long: then its reason is a SilenceError. */
        signal: limited,
        /** A token came. */
        heard: silence.heard,
        [Symbol.dispose]: () => silence[Symbol.dispose](),
      };
    },
    /** Why a call failed, without secrets. */
    failureOf(error: unknown): FleetError {
      if (error instanceof FleetError) return error;
      if (error instanceof SilenceError) return silenceFailure(error);
      const redirect = redirectIn(error);
      if (redirect !== undefined) return redirectFailure(redirect, secrets);
      return providerFailure(undefined, { retryable: true, cause: error });
    },
  };
}
