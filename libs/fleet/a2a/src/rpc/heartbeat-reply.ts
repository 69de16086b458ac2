import type { JsonObject } from '@hermes-fleet/protocol';
import type { Deadlines } from '@hermes-fleet/protocol/ports';
import { sendHead } from '@hermes-fleet/service';
import type { FastifyReply } from 'fastify';

/** The time until the first heartbeat of a reply, and between two of them. */
export const HEARTBEAT_MS = 30_000;

const JSON_TYPE = 'application/json; charset=utf-8';

export interface RpcReply {
  readonly status: number;
  readonly body: JsonObject;
}

/**
 * Answers with the result of `work`, however long it takes. After 30 s it sends the headers with status 200, then a space
 * every 30 s, so that client timeouts do not end the wait: JSON may begin with white space (RFC 8259, section 2). A later
 * error has status 200 too. `heartbeats` are deadlines of HEARTBEAT_MS, which all replies share.
 */
export async function replyWithHeartbeat(
  reply: FastifyReply,
  work: Promise<RpcReply>,
  heartbeats: Deadlines,
): Promise<void> {
  const { raw } = reply;
  let begun = false;
  const beat = (): void => {
    if (raw.destroyed) return;
    if (!begun) sendHead(reply, 200, { 'content-type': JSON_TYPE });
    begun = true;
    raw.write(' ');
    stop = heartbeats.start(beat);
  };
  let stop = heartbeats.start(beat);
  try {
    const { status, body } = await work;
    if (begun) raw.end(JSON.stringify(body));
    else sendReply(reply, status, body);
  } finally {
    stop();
  }
}

/** Sends a JSON-RPC reply. */
export function sendReply(reply: FastifyReply, status: number, body: JsonObject): void {
  reply.code(status).type(JSON_TYPE).send(JSON.stringify(body));
}
