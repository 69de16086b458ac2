import { keyPaths, readSecret } from '@hermes-fleet/cli';
import type { SessionDocument } from '../../services/console/src/http/session.ts';
import type { StatusDocument } from '../../services/console/src/http/status.ts';
import { type Fleet, until } from './fleet.ts';

/** A browser that a link has signed in. */
export interface SignedIn {
  readonly cookie: string;
  /** The document at a path below `/api`. */
  json<T = Record<string, unknown>>(path: string): Promise<T>;
  /** Asks for a path below `/api`, as a page of the console does. */
  ask(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Response>;
}

/** Opens a link to the console as a browser does. */
export async function openLink(link: string): Promise<{ status: number; browser: SignedIn | undefined }> {
  const response = await fetch(link, { redirect: 'manual' });
  await response.text();
  const cookie = response.headers.get('set-cookie')?.split(';')[0];
  if (cookie === undefined) return { status: response.status, browser: undefined };
  const json = async <T>(path: string): Promise<T> => {
    const answer = await fetch(new URL(path, link), { headers: { cookie } });
    if (!answer.ok) throw new Error(`${path} answers ${answer.status} ${await answer.text()}`);
    return (await answer.json()) as T;
  };
  const ask: SignedIn['ask'] = async (method, path, body) => {
    if (method === 'GET') return await fetch(new URL(path, link), { headers: { cookie } });
    const { csrf_token: csrf } = await json<SessionDocument>('/api/session');
    const headers = { cookie, origin: new URL(link).origin, 'x-csrf-token': csrf };
    return await fetch(new URL(path, link), {
      method,
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(body ?? {}),
    });
  };
  return { status: response.status, browser: { cookie, json, ask } };
}

/** Signs in to the console of a fleet of plain processes. */
export async function signIn(fleet: Fleet): Promise<SignedIn> {
  const secret = readSecret(keyPaths(fleet.plan.keysDir).variable('console', 'CONSOLE_LOGIN'));
  const { url } = fleet.plan.console;
  const made = await fetch(`${url}/api/codes`, {
    method: 'POST',
    headers: { authorization: `Bearer ${secret}` },
  });
  const { path } = (await made.json()) as { path: string };
  const { browser } = await openLink(`${url}${path}`);
  if (browser === undefined) throw new Error(`the console at ${url} opens no session`);
  return browser;
}

/** Waits until the console has projected all that the bus has. */
export const untilCaughtUp = (browser: SignedIn): Promise<void> =>
  until(
    async () => (await browser.json<StatusDocument>('/api/status')).behind === 0,
    'the console to have read the bus',
  );
