import type { Clock, JsonObject } from '@hermes-fleet/protocol';
import type { FastifyReply } from 'fastify';

const HEARTBEAT_MS = 30_000;

export interface RpcReply {
  readonly status: number;
  readonly body: JsonObject;
}

/**
 * Answers with the result of `work`, however long it takes. After 30 s it sends the headers with status 200, then a space
 * every 30 s, so that client timeouts do not end the wait: JSON may begin with white space (RFC 8259, section 2). A later
 * error has status 200 too.
 */
export async function replyWithHeartbeat(
  reply: FastifyReply,
  work: Promise<RpcReply>,
  clock: Clock,
): Promise<FastifyReply> {
  let begun = false;
  let timer: Disposable | undefined;
  const wait = (): void => {
    timer = clock.timer(() => {
      if (reply.raw.destroyed) return;
      if (!begun) begin(reply);
      begun = true;
      reply.raw.write(' ');
      wait();
    }, HEARTBEAT_MS);
  };
  wait();
  try {
    const { status, body } = await work;
    if (!begun) return reply.code(status).type('application/json; charset=utf-8').send(JSON.stringify(body));
    reply.raw.end(JSON.stringify(body));
    return reply;
  } finally {
    timer?.[Symbol.dispose]();
  }
}

function begin(reply: FastifyReply): void {
  reply.hijack();
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (value !== undefined) reply.raw.setHeader(name, value);
  }
  reply.raw.setHeader('content-type', 'application/json; charset=utf-8');
  reply.raw.writeHead(200);
}
