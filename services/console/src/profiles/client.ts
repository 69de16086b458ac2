import { createClient, type TlsFetch } from '@hermes-fleet/net';
import { type TlsSource, tlsFault } from '@hermes-fleet/net/tls';
import {
  ERRORS,
  type ErrorCode,
  type FieldError,
  FleetError,
  HANDSHAKE_EXTENSION,
  isJsonObject,
  type JsonObject,
  parseJson,
} from '@hermes-fleet/protocol';
import type { Clock } from '@hermes-fleet/protocol/ports';

/** A profile that the console reaches. */
export interface ProfileAddress {
  readonly name: string;
  /** The base URL. */
  readonly url: string;
}

export interface ProfileClient {
  /** Calls a route of libs/fleet/gateway and returns the JSON object of the answer. */
  call(
    profile: ProfileAddress,
    token: string,
    path: string,
    body?: JsonObject,
    timeoutMs?: number,
  ): Promise<JsonObject>;
  /** Calls a method of A2A 1.0 over JSON-RPC and returns its result. */
  rpc(
    profile: ProfileAddress,
    token: string,
    method: string,
    params: JsonObject,
    timeoutMs?: number,
  ): Promise<JsonObject>;
  /** The text of a GET, read as a whole, with its headers. */
  text(
    profile: ProfileAddress,
    token: string,
    path: string,
  ): Promise<{ readonly text: string; readonly headers: Headers }>;
  /** The answer of a GET, whose body the caller reads or cancels. */
  download(profile: ProfileAddress, token: string, path: string): Promise<Response>;
}

type Init = Omit<Parameters<TlsFetch>[1], 'signal'>;

const TLS_KEYS = { ca: 'console.tls.ca_file', cert: 'console.tls.cert_file' };
const CALL_MS = 15_000;
const DOWNLOAD_MS = 120_000;
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
const MAX_MESSAGE = 500;
const MAX_FIELDS = 50;

/**
 * Calls profiles with a person's token. Redirects are not followed, because of the token. Throws PEER_UNREACHABLE,
 * TOKEN_NEEDED for a token that the profile does not accept, and the profile's own error otherwise. It is a client of its own
 * because libs/fleet/a2a, with the official SDK, needs a twelfth of the memory that the console may use.
 */
export function createProfileClient(clock: Clock, tls?: TlsSource): ProfileClient {
  const send = createClient('configured', { tls, redirects: 'returned' });
  const request = async (
    profile: ProfileAddress,
    path: string,
    init: Init,
    timeoutMs: number,
  ): Promise<{ response: Response; expiry: Disposable }> => {
    const deadline = new AbortController();
    const expiry = clock.timer(() => deadline.abort(), timeoutMs);
    try {
      const response = await send(`${profile.url.replace(/\/+$/, '')}${path}`, {
        ...init,
        signal: deadline.signal,
      });
      return { response, expiry };
    } catch (cause) {
      expiry[Symbol.dispose]();
      const how = deadline.signal.aborted ? `within ${timeoutMs / 1000} s` : `at ${profile.url}`;
      const fault = tlsFault(cause, TLS_KEYS);
      const why = fault
        ? `cannot be reached at ${profile.url}: ${fault.what}: ${fault.remedy}`
        : `does not answer ${how}`;
      throw new FleetError('PEER_UNREACHABLE', `${profile.name} ${why}`, { cause });
    }
  };

  const whole = async (
    profile: ProfileAddress,
    path: string,
    init: Init,
    timeoutMs: number,
  ): Promise<{ status: number; headers: Headers; text: string }> => {
    const { response, expiry } = await request(profile, path, init, timeoutMs);
    using _ = expiry;
    const { status, headers } = response;
    return { status, headers, text: await readBounded(profile, response) };
  };
  const json = async (
    ...call: Parameters<typeof whole>
  ): Promise<{ readonly status: number; readonly body: unknown }> => {
    const { status, text } = await whole(...call);
    return { status, body: parseJson(text) };
  };

  const headersOf = (token: string) => ({ accept: 'application/json', authorization: `Bearer ${token}` });
  const posted = (token: string, body: JsonObject, more: Record<string, string> = {}): Init => ({
    method: 'POST',
    headers: { ...headersOf(token), 'content-type': 'application/json', ...more },
    body: JSON.stringify(body),
  });

  return {
    async call(profile, token, path, body, timeoutMs = CALL_MS) {
      const init = body === undefined ? { headers: headersOf(token) } : posted(token, body);
      const { status, body: answer } = await json(profile, path, init, timeoutMs);
      if (status >= 200 && status < 300 && isJsonObject(answer)) return answer;
      throw refusal(profile, status, isJsonObject(answer) ? answer.error : undefined);
    },
    async rpc(profile, token, method, params, timeoutMs = CALL_MS) {
      const call = { jsonrpc: '2.0', id: 1, method, params };
      const version = { 'a2a-version': '1.0', 'a2a-extensions': HANDSHAKE_EXTENSION };
      const { status, body } = await json(profile, '/jsonrpc', posted(token, call, version), timeoutMs);
      const answer = isJsonObject(body) ? body : {};
      if (isJsonObject(answer.result)) return answer.result;
      throw refusal(profile, status, answer.error);
    },
    async text(profile, token, path) {
      const { status, headers, text } = await whole(profile, path, { headers: headersOf(token) }, CALL_MS);
      if (status === 200) return { text, headers };
      const answer = parseJson(text);
      throw refusal(profile, status, isJsonObject(answer) ? answer.error : undefined);
    },
    async download(profile, token, path) {
      const { response, expiry } = await request(profile, path, { headers: headersOf(token) }, DOWNLOAD_MS);
      if (response.status === 200) return response;
      expiry[Symbol.dispose]();
      await response.body?.cancel();
      throw refusal(profile, response.status, undefined);
    },
  };
}

async function readBounded(profile: ProfileAddress, response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response.body ?? []) {
      bytes += chunk.byteLength;
      if (bytes > MAX_ANSWER_BYTES) break;
      chunks.push(chunk);
    }
  } catch (cause) {
    throw new FleetError('PEER_UNREACHABLE', `${profile.name} did not finish its answer`, { cause });
  }
  if (bytes > MAX_ANSWER_BYTES)
    throw new FleetError('PEER_REFUSED', `${profile.name} answers with more than ${MAX_ANSWER_BYTES} bytes`);
  return Buffer.concat(chunks).toString('utf8');
}

/** The error of an answer: that of the profile, by its code, message and fields. */
function refusal({ name }: ProfileAddress, status: number, error: unknown): FleetError {
  if (status === 401) return new FleetError('TOKEN_NEEDED', `${name} does not accept this token`);
  const shown = isJsonObject(error) ? error : {};
  const message = typeof shown.message === 'string' ? shown.message.slice(0, MAX_MESSAGE) : `HTTP ${status}`;
  const code = codeOf(shown);
  return new FleetError(code ?? 'PEER_REFUSED', `${name}: ${message}`, { fields: fieldsOf(shown) });
}

/** The code of an error of the HTTP routes, or the reason of a JSON-RPC error. */
function codeOf({ code, data }: JsonObject): ErrorCode | undefined {
  const [info] = Array.isArray(data) ? data : [];
  const word = typeof code === 'string' ? code : isJsonObject(info) ? info.reason : undefined;
  const known = typeof word === 'string' && Object.hasOwn(ERRORS, word) ? (word as ErrorCode) : undefined;
  return known === 'UNAUTHENTICATED' ? 'TOKEN_NEEDED' : known;
}

function fieldsOf({ fields, data }: JsonObject): FieldError[] {
  const violations = (Array.isArray(data) ? data : []).flatMap((each) =>
    isJsonObject(each) && Array.isArray(each.fieldViolations) ? each.fieldViolations : [],
  );
  return [...(Array.isArray(fields) ? fields : []), ...violations].slice(0, MAX_FIELDS).flatMap((each) => {
    if (!isJsonObject(each)) return [];
    const text = (value: unknown): string => (typeof value === 'string' ? value.slice(0, MAX_MESSAGE) : '');
    return [{ path: text(each.path ?? each.field), reason: text(each.reason ?? each.description) }];
  });
}
