import {
  FleetError,
  fieldErrors,
  HANDSHAKE_EXTENSION,
  isJsonObject,
  type JsonObject,
  networkFault,
} from '@hermes-fleet/protocol';
import type { Params, Route, RpcMethod } from '@hermes-fleet/protocol/api';
import type { Clock } from '@hermes-fleet/protocol/ports';
import type { z } from 'zod';
import type { ClientTls } from '../agents.ts';
import { createClient } from '../client.ts';
import type { TlsFetch } from '../configured-fetch.ts';
import { readBounded } from '../read-bounded.ts';
import { connectionFault, connectionRefusal, type TlsKeys } from '../tls/faults.ts';
import { type Read, readable } from './readable.ts';
import { MAX_FIELDS, MAX_TEXT, type Refusal, refusalOf } from './refusal.ts';
import type { Service } from './service.ts';

export interface ApiClientOptions {
  readonly clock: Pick<Clock, 'timer'>;
  readonly tls?: ClientTls;
  /** Where the certificates are configured, for messages. */
  readonly tlsKeys: TlsKeys;
  /** The error of a refusal. */
  readonly refused: (refusal: Refusal) => FleetError;
  /** The limit of a whole call, ms. Default: 15 s. */
  readonly timeoutMs?: number;
}

export interface CallOptions {
  /** Default: that of the client, in ms. */
  readonly timeoutMs?: number | undefined;
}

export interface DownloadOptions extends CallOptions {
  /** Ends the call, and what is still to be read. */
  readonly signal?: AbortSignal | undefined;
}

type ParamsOf<P extends string> =
  unknown extends Params<P> ? { readonly params?: undefined } : { readonly params: Params<P> };

type RouteCall<P extends string> = CallOptions &
  ParamsOf<P> & {
    readonly query?: Readonly<Record<string, string>> | undefined;
    readonly body?: JsonObject | undefined;
  };

/**
 * The client of the fleet's own API. An answer has at most 8 MiB and is judged by the schema of its route: fields and words
 * that the schema does not have stay in it. Redirects are not followed, because of the token. Throws PEER_UNREACHABLE that
 * names the address and the cause, the error that the options make of a refusal, and PEER_REFUSED that names the route and the field for an
 * answer that is none.
 */
export interface ApiClient {
  /** Calls a route. */
  call<P extends string, S extends z.ZodType>(
    service: Service,
    route: Route<P, S>,
    ...call: unknown extends Params<P> ? [RouteCall<P>?] : [RouteCall<P>]
  ): Promise<Read<S>>;
  /** Calls a method over JSON-RPC. Params as text are sent unchanged. A result counts whatever the HTTP status. */
  rpc<S extends z.ZodType>(
    service: Service,
    method: RpcMethod<S>,
    params: JsonObject | string,
    options?: CallOptions,
  ): Promise<Read<S>>;
  /** The text of a GET, with its headers. */
  text(
    service: Service,
    path: string,
    options?: CallOptions,
  ): Promise<{ readonly text: string; readonly headers: Headers }>;
  /** The answer of a GET, of any size, which the caller reads or cancels within the time of the call. */
  download(service: Service, path: string, options?: DownloadOptions): Promise<Response>;
  /** Posts a blob, as of a file, of any size; the answer is read as that of `call`. */
  upload<S extends z.ZodType>(
    service: Service,
    path: string,
    blob: Blob,
    answer: S,
    options?: DownloadOptions,
  ): Promise<Read<S>>;
}

interface Sent extends DownloadOptions {
  readonly method?: Route['method'];
  readonly body?: string | Blob | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

const CALL_MS = 15_000;
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

export function createApiClient(options: ApiClientOptions): ApiClient {
  const { clock, tls, tlsKeys, refused } = options;
  const send: TlsFetch = createClient('configured', { tls, redirects: 'returned' });

  const request = async (service: Service, path: string, { method = 'GET', ...sent }: Sent) => {
    const { timeoutMs = options.timeoutMs ?? CALL_MS, body, signal } = sent;
    const deadline = new AbortController();
    const expiry = clock.timer(() => deadline.abort(new DOMException('too late', 'TimeoutError')), timeoutMs);
    const unreachable = (cause: unknown): FleetError => {
      const fault = connectionFault(cause, tlsKeys);
      const why = fault
        ? `cannot be reached at ${service.url}: ${fault.what}: ${fault.remedy}`
        : `does not answer at ${service.url}: ${networkFault(cause, timeoutMs)}`;
      return new FleetError('PEER_UNREACHABLE', `${service.name} ${why}`, { cause });
    };
    try {
      const response = await send(`${service.url.replace(/\/+$/, '')}${path}`, {
        method,
        headers: {
          accept: 'application/json',
          ...(service.token !== undefined && { authorization: `Bearer ${service.token}` }),
          ...(typeof body === 'string' && { 'content-type': 'application/json' }),
          ...sent.headers,
        },
        ...(body !== undefined && { body }),
        signal: AbortSignal.any([deadline.signal, ...(signal ? [signal] : [])]),
      });
      return { response, expiry, unreachable };
    } catch (cause) {
      expiry[Symbol.dispose]();
      throw unreachable(cause);
    }
  };

  const whole = async (service: Service, path: string, sent: Sent) =>
    readWhole(service, path, await request(service, path, sent));

  const readWhole = async (
    service: Service,
    path: string,
    { response, expiry, unreachable }: Awaited<ReturnType<typeof request>>,
  ) => {
    using _ = expiry;
    const tooLarge = () =>
      new FleetError('PEER_REFUSED', `${service.name} answers with more than ${MAX_ANSWER_BYTES} bytes`);
    const text = await readBounded(response, MAX_ANSWER_BYTES, tooLarge).catch((cause: unknown) => {
      throw cause instanceof FleetError ? cause : unreachable(cause);
    });
    const refuse = (error: unknown): FleetError => {
      const refusal = refusalOf(service, path, response, error);
      const connection = connectionRefusal(refusal.code);
      return connection ? unreachable(connection) : refused(refusal);
    };
    return { response, text, refuse };
  };

  const answerOf = <S extends z.ZodType>(
    service: Service,
    { response, text, refuse }: Awaited<ReturnType<typeof whole>>,
    schema: S,
    what: string,
  ): Read<S> => {
    const answer = parsed(text);
    if (!response.ok || !isJsonObject(answer)) throw refuse(isJsonObject(answer) ? answer.error : undefined);
    return judged(answer, schema, service, what);
  };

  return {
    async call(service, route, ...[call]) {
      const { params = {}, query, body, timeoutMs } = (call ?? {}) as Partial<RouteCall<':id'>>;
      const path = pathOf(route.path, params, query);
      const sent = { method: route.method, body: body && JSON.stringify(body), timeoutMs };
      return answerOf(
        service,
        await whole(service, path, sent),
        route.answer,
        `${route.method} ${route.path}`,
      );
    },
    async upload(service, path, blob, answer, options = {}) {
      const read = await whole(service, path, { method: 'POST', body: blob, ...options });
      return answerOf(service, read, answer, `POST ${path.replace(/\?.*/, '')}`);
    },
    async rpc(service, { method, answer: schema }, params, { timeoutMs } = {}) {
      // Params as text: to parse and serialize them would hide duplicate keys and exact numbers from the service.
      const text = typeof params === 'string' ? params : JSON.stringify(params);
      const body = `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${text}}`;
      const headers = { 'a2a-version': '1.0', 'a2a-extensions': HANDSHAKE_EXTENSION };
      const read = await whole(service, '/jsonrpc', { method: 'POST', body, headers, timeoutMs });
      const answer = parsed(read.text);
      const { result, error } = isJsonObject(answer) ? answer : {};
      if (read.response.status === 401 || !isJsonObject(result)) throw read.refuse(error);
      return judged(result, schema, service, method);
    },
    async text(service, path, call = {}) {
      const { response, text, refuse } = await whole(service, path, call);
      if (response.status === 200) return { text, headers: response.headers };
      const answer = parsed(text);
      throw refuse(isJsonObject(answer) ? answer.error : undefined);
    },
    async download(service, path, call = {}) {
      const asked = await request(service, path, call);
      if (asked.response.status === 200) return asked.response;
      const { text, refuse } = await readWhole(service, path, asked);
      const answer = parsed(text);
      throw refuse(isJsonObject(answer) ? answer.error : undefined);
    },
  };
}

/**
 * The pages of a CSV export of the trader, of at most 1,000 rows; only the first has the header. `limit` is that of all rows;
 * without it, there is one page. Throws as the client, before it gives a page that it has not.
 */
export async function* csvPages(
  client: Pick<ApiClient, 'text'>,
  trader: Service,
  path: string,
  query: Readonly<Record<string, string>>,
  limit?: number,
): AsyncGenerator<string, void> {
  let after: string | null = null;
  for (let left = limit ?? PAGE; left > 0; left -= PAGE) {
    const page = {
      ...query,
      format: 'csv',
      ...(after !== null && { after }),
      ...(limit !== undefined && { limit: `${Math.min(PAGE, left)}` }),
    };
    const { text, headers } = await client.text(trader, pathOf(path, {}, page), {
      timeoutMs: EXPORT_PAGE_MS,
    });
    yield after === null ? text : text.slice(text.indexOf('\n') + 1);
    after = headers.get('fleet-next');
    if (after === null) return;
  }
}

const EXPORT_PAGE_MS = 30_000;
/** Entries of a page of the books. */
export const PAGE = 1_000;

function pathOf(path: string, params: object, query: Readonly<Record<string, string>> | undefined): string {
  const values: Readonly<Record<string, string>> = { ...params };
  const filled = path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(values[name] ?? ''));
  return query === undefined ? filled : `${filled}?${new URLSearchParams(query)}`;
}

function judged<S extends z.ZodType>(
  answer: JsonObject,
  schema: S,
  { name }: Service,
  what: string,
): Read<S> {
  const { error } = readable(schema).safeParse(answer);
  // The answer itself, with what the schema does not have.
  if (error === undefined) return answer as Read<S>;
  const fields = fieldErrors(error).slice(0, MAX_FIELDS);
  const [first] = fields;
  const message = `${name} answers ${what} with what cannot be read: ${first?.path}: ${first?.reason}`;
  throw new FleetError('PEER_REFUSED', message.slice(0, MAX_TEXT), { fields });
}

/** Undefined for what is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
