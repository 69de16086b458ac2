import { type ConfiguredOptions, configuredFetch } from './configured-fetch.ts';
import { type Fetched, guardedFetch, type UntrustedRequest, type UntrustedRules } from './guarded-fetch.ts';

export type UntrustedFetch = (address: string, request: UntrustedRequest) => Promise<Fetched>;

/**
 * Makes every HTTP client of the fleet, by who chose the addresses (docs/architecture.md#outgoing-requests).
 *
 * `configured`: the operator, local addresses too. It is a `fetch` that follows no redirect and ends when it gets no
 * connection, or no byte, in time. Rejects with a RedirectError, with the reason of the request's `signal`, and else with a TypeError: "fetch
 * failed", whose cause is the network's error, or what the request or the answer cannot be.
 *
 * `untrusted`: a model or a caller. It connects to checked addresses of the internet and to `allowInternal` only, checks
 * every redirect again, and bounds the time and the size of each request (`guardedFetch`).
 */
export function createClient(policy: 'configured', options?: ConfiguredOptions): typeof fetch;
export function createClient(policy: 'untrusted', rules: UntrustedRules): UntrustedFetch;
export function createClient(policy: 'configured' | 'untrusted', options: object = {}) {
  if (policy === 'configured') return configuredFetch(options);
  return (address: string, request: UntrustedRequest) =>
    guardedFetch(address, { ...(options as UntrustedRules), ...request });
}
