import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ChangedDocument } from '../../src/http/changes.ts';
import type { StatusDocument } from '../../src/http/status.ts';
import type { TaskRow } from '../../src/http/task-row.ts';
import { CONTENT_SECURITY_POLICY, readStaticFiles, type StaticFile } from '../../src/web/static-files.ts';
import { contentDocument, taskDocument, taskRows } from './tasks-fixture.ts';
import { viewDocuments } from './views-fixture.ts';

/** What a test changes while the page is open. */
export interface StubState {
  tasks: TaskRow[];
  status: StatusDocument;
  signedIn: boolean;
  caller: string | null;
  grafanaUrl: string | null;
  /** Answers the books of the trader with this failure: a status, a code and a message. */
  booksFailWith: readonly [number, string, string] | null;
  /** Answers every `/api/` request but the stream with this status. */
  failWith: number | null;
  /** Documents of the other views by path, such as `/api/fleet`. */
  documents: Record<string, unknown>;
}

export interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly csrf: string | undefined;
}

export interface StubConsole {
  readonly url: string;
  readonly state: StubState;
  /** The POST and DELETE requests, in order. */
  readonly sent: readonly SentRequest[];
  /** The GET requests of the API, in order. */
  readonly read: readonly string[];
  /** Pushes news, as the console does. */
  changed(change: Partial<ChangedDocument>): void;
  /** Pushes the status of `state`. */
  pushStatus(): void;
  /** Ends every stream and refuses connections until `start`. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

export const CSRF = 'stub-csrf-token';
export const TOKEN = 'stub-token';

/**
 * The API of the console over fixtures that a test changes (services/console/src/http), with the files and the
 * policy that the console serves. `rewrite` changes a file, for tests of its integrity.
 */
export async function startStubConsole(
  rewrite: (file: StaticFile) => Buffer = (file) => file.body,
  port = 0,
): Promise<StubConsole> {
  const now = Date.now();
  const files = new Map(readStaticFiles().map((file) => [file.path, { ...file, body: rewrite(file) }]));
  const state: StubState = {
    tasks: taskRows(now),
    status: statusAt(now),
    signedIn: true,
    caller: null,
    grafanaUrl: null,
    booksFailWith: null,
    failWith: null,
    documents: viewDocuments(now),
  };
  const sent: SentRequest[] = [];
  const read: string[] = [];
  const streams = new Set<ServerResponse>();
  let server: Server | undefined;
  let address = { port };

  const push = (event: string, data: unknown): void => {
    for (const stream of streams) stream.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '/', 'http://stub');
    const file = files.get(url.pathname);
    if (file) {
      response.setHeader('content-security-policy', CONTENT_SECURITY_POLICY);
      response.setHeader('x-content-type-options', 'nosniff');
      response.setHeader('content-type', file.type).end(file.body);
      return;
    }
    if (url.pathname === '/api/stream' && state.signedIn) {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
      streams.add(response);
      response.on('close', () => streams.delete(response));
      response.write(`event: status\ndata: ${JSON.stringify(state.status)}\n\n`);
      return;
    }
    const method = request.method ?? 'GET';
    const body = await bodyOf(request);
    if (method === 'GET') read.push(`${url.pathname}${url.search}`);
    else sent.push({ method, path: url.pathname, body, csrf: request.headers['x-csrf-token']?.toString() });
    const [status, document] = answer(state, method, url, body);
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(document === null ? '' : JSON.stringify(document));
  };
  const start = async (): Promise<void> => {
    const opened = createServer((request, response) => void serve(request, response));
    await new Promise<void>((resolve) => opened.listen(address.port, '127.0.0.1', resolve));
    address = opened.address() as AddressInfo;
    server = opened;
  };
  await start();
  return {
    url: `http://127.0.0.1:${address.port}`,
    state,
    sent,
    read,
    changed: ({ views = ['tasks'], tasks = [] }) => push('changed', { views, tasks }),
    pushStatus: () => push('status', state.status),
    async stop() {
      const closed = new Promise((resolve) => server?.close(resolve));
      server?.closeAllConnections();
      await closed;
    },
    start,
  };
}

export const statusAt = (now: number): StatusDocument => ({
  bus: { connected: true, reason: null },
  last_event_at: new Date(now).toISOString(),
  last_announce_at: new Date(now).toISOString(),
  stale_after_s: 40,
  reaches_back_to: new Date(now - 6 * 86_400_000).toISOString(),
  rebuilt_at: null,
  behind: 0,
  skipped: 0,
  missed_at: null,
});

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const text = Buffer.concat(chunks).toString('utf8');
  return text === '' ? null : JSON.parse(text);
}

const failure = (code: string, message: string): unknown => ({ error: { code, message, fields: [] } });

function answer(state: StubState, method: string, url: URL, body: unknown): [number, unknown] {
  const { pathname } = url;
  if (!state.signedIn) return [401, failure('UNAUTHENTICATED', 'there is no session')];
  if (state.failWith !== null)
    return [state.failWith, failure('STORE_UNAVAILABLE', 'the read model cannot be read')];
  if (pathname === '/api/session') {
    if (method === 'DELETE') state.signedIn = false;
    return [200, session(state)];
  }
  if (pathname === '/api/token') return token(state, method, body);
  const task = /^\/api\/tasks\/([^/]+)\/([^/]+)(?:\/(content|cancel|answer))?$/.exec(pathname);
  if (task) return ofTask(state, task[2] ?? '', task[3] ?? '');
  if (pathname === '/api/tasks') return [200, list(state, url.searchParams)];
  if (pathname === '/api/route' || pathname === '/api/send') {
    if (state.caller === null) return [403, failure('TOKEN_NEEDED', 'this needs a token')];
    return [pathname === '/api/send' ? 202 : 200, state.documents[pathname]];
  }
  if (pathname === '/api/trader/books') {
    if (state.caller === null) return [403, failure('TOKEN_NEEDED', 'this needs a token')];
    if (state.booksFailWith)
      return [state.booksFailWith[0], failure(state.booksFailWith[1], state.booksFailWith[2])];
  }
  const document = state.documents[pathname];
  return document === undefined ? [404, failure('NOT_FOUND', `no ${pathname}`)] : [200, document];
}

function token(state: StubState, method: string, body: unknown): [number, unknown] {
  if (method === 'DELETE') state.caller = null;
  else if ((body as { token?: unknown } | null)?.token === TOKEN) state.caller = 'operator';
  else return [401, failure('UNAUTHENTICATED', 'no profile knows this token')];
  return [200, session(state)];
}

const session = ({ caller, grafanaUrl }: StubState): unknown => ({
  csrf_token: CSRF,
  caller,
  scopes: caller === null ? [] : ['dispatch', 'read'],
  profiles: ['switch', 'neo', 'morpheus', 'trinity'],
  version: '0.1.0',
  grafana_url: grafanaUrl,
  trace_url: 'http://127.0.0.1:16686/trace/{trace_id}',
});

function ofTask(state: StubState, id: string, what: string): [number, unknown] {
  const row = state.tasks.find((task) => task.id === id);
  if (!row) return [404, failure('TASK_NOT_FOUND', `task ${id} is not known`)];
  if (what === '') return [200, taskDocument(row)];
  if (state.caller === null) return [403, failure('TOKEN_NEEDED', 'this needs a token')];
  return what === 'content' ? [200, contentDocument(row)] : [200, {}];
}

function list({ tasks }: StubState, params: URLSearchParams): unknown {
  const states = params.get('state')?.split(',');
  const found = tasks.filter((task) => task.task_id.startsWith(params.get('q') ?? ''));
  const matching = found.filter(({ state }) => !states || states.includes(state));
  const from = Number(params.get('cursor') ?? 0);
  const to = from + Number(params.get('limit') ?? 50);
  return {
    tasks: matching.slice(from, to),
    next_cursor: to < matching.length ? String(to) : null,
    total: matching.length,
    states: Object.fromEntries(
      Map.groupBy(found, ({ state }) => state)
        .entries()
        .map(([state, of]) => [state, of.length]),
    ),
    total_is_exact: true,
  };
}
