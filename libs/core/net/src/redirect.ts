import type { IncomingMessage } from 'node:http';

const MAX_ADDRESS = 200;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Where an answer redirects to, as it says; undefined for any other answer. */
export const redirectOf = ({ statusCode, headers }: IncomingMessage): string | undefined =>
  REDIRECTS.has(statusCode ?? 0) ? headers.location : undefined;

/** A redirect of an address of the operator. Nothing was sent to the other address. */
export class RedirectError extends Error {
  override readonly name = 'RedirectError';
  readonly status: number;

  /** The message names both addresses, without users, queries and fragments, which may be secrets. */
  constructor(status: number, from: URL, location: string) {
    const to = URL.parse(location, from.href);
    const target = to === null ? 'what is no address' : shown(to);
    super(`${shown(from)} redirects to ${target} (HTTP ${status}), and redirects are not followed`);
    this.status = status;
  }
}

function shown({ protocol, host, pathname }: URL): string {
  const address = `${protocol}//${host}${pathname}`;
  return address.length > MAX_ADDRESS ? `${address.slice(0, MAX_ADDRESS)}…` : address;
}
