import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import {
  CHALLENGE_PATH,
  FleetError,
  JoinChallenge,
  joinProof,
  parseJson,
  systemCode,
} from '@hermes-fleet/protocol';

const MAX_BODY_BYTES = 4_096;

/**
 * Listens where the gateway will, while the orchestrator asks there for a proof (docs/peering.md#joining). Closing it ends its
 * connections. Throws BIND_FAILED.
 */
export async function answerChallenge({
  bind,
  orchestrator,
  token,
  tls,
}: {
  readonly bind: { readonly host: string; readonly port: number };
  readonly orchestrator: string;
  /** The token that the orchestrator will present. */
  readonly token: string;
  /** The certificate, where the gateway will serve https. */
  readonly tls?: Pick<ServerOptions, 'cert' | 'key'> | undefined;
}): Promise<AsyncDisposable> {
  const limits = { requestTimeout: 5_000, headersTimeout: 5_000 };
  const respond = (request: IncomingMessage, reply: ServerResponse): void => {
    answer(request, reply, { orchestrator, token }).catch(() => reply.destroy());
  };
  const server = tls
    ? createTlsServer({ ...tls, ...limits, handshakeTimeout: 5_000 }, respond)
    : createServer(limits, respond);
  server.maxConnections = 64;
  try {
    server.listen(bind.port, bind.host);
    await once(server, 'listening');
  } catch (cause) {
    const isTaken = systemCode(cause) === 'EADDRINUSE';
    const reason = isTaken ? 'another process listens there; choose another with --bind' : String(cause);
    throw new FleetError('BIND_FAILED', `cannot listen on ${bind.host}:${bind.port}: ${reason}`, { cause });
  }
  return {
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(
  request: IncomingMessage,
  reply: ServerResponse,
  { orchestrator, token }: { readonly orchestrator: string; readonly token: string },
): Promise<void> {
  const { pathname } = new URL(request.url ?? '/', 'http://worker');
  const challenge =
    request.method === 'POST' && pathname.endsWith(CHALLENGE_PATH) ? await read(request) : undefined;
  const isOurs = challenge?.orchestrator === orchestrator;
  const body = isOurs
    ? { proof: joinProof(token, challenge) }
    : { error: { code: 'NOT_FOUND', message: 'a worker is joining a fleet here' } };
  reply.writeHead(isOurs ? 200 : 404, { 'content-type': 'application/json', connection: 'close' });
  reply.end(JSON.stringify(body));
}

async function read(request: IncomingMessage): Promise<JoinChallenge | undefined> {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk;
    if (text.length > MAX_BODY_BYTES) return undefined;
  }
  return JoinChallenge.safeParse(parseJson(text)).data;
}
