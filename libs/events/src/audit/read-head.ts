import { FleetError } from '@hermes-fleet/protocol';
import { type BusConnection, openConnection, reasonOf } from '../connection/connection.ts';
import { directGet } from '../streams/direct-get.ts';
import { auditSubject } from '../streams/subjects.ts';
import { type Head, readHeadEvent } from './head-event.ts';

/**
 * The head of a service's audit that the bus holds, read once as that service; undefined while there is none. Throws
 * PEER_UNREACHABLE when the bus cannot say within `timeoutMs`, or holds what is no head.
 */
export async function readHead(o: {
  readonly connection: BusConnection;
  readonly service: string;
  readonly timeoutMs: number;
}): Promise<Head | undefined> {
  const subject = auditSubject(o.service);
  const unreadable = (reason: string, cause?: unknown): FleetError =>
    new FleetError('PEER_UNREACHABLE', `the head on ${subject} cannot be read: ${reason}`, { cause });
  try {
    const nc = await openConnection(o.connection, AbortSignal.timeout(o.timeoutMs));
    try {
      const message = await directGet(nc, subject);
      if (message === undefined) return undefined;
      const head = readHeadEvent(Buffer.from(message.data).toString('utf8'));
      if (head === undefined) throw unreadable('the bus holds there what is no head of an audit');
      return head;
    } finally {
      await nc.close();
    }
  } catch (error) {
    throw error instanceof FleetError ? error : unreadable(reasonOf(error), error);
  }
}
