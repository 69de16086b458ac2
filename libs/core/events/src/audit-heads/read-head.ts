import { FleetError } from '@hermes-fleet/protocol';
import { type BusConnection, openConnection, reasonOf } from '../connection/connection.ts';
import { directGet } from '../streams/direct-get.ts';
import { auditSubject } from '../streams/subjects.ts';
import { type Head, readHeadEvent } from './head-event.ts';

/**
 * Reads a service's audit head from the bus, as that service; undefined when there is none. Throws PEER_UNREACHABLE when
 * the bus does not answer within `timeoutMs` or the stored message is not a head.
 */
export async function readHead(options: {
  readonly connection: BusConnection;
  readonly service: string;
  readonly timeoutMs: number;
}): Promise<Head | undefined> {
  const subject = auditSubject(options.service);
  const unreadable = (reason: string, cause?: unknown): FleetError =>
    new FleetError('PEER_UNREACHABLE', `the head on ${subject} cannot be read: ${reason}`, { cause });
  try {
    const nc = await openConnection(options.connection, AbortSignal.timeout(options.timeoutMs));
    try {
      const message = await directGet(nc, subject);
      if (message === undefined) return undefined;
      const head = readHeadEvent(Buffer.from(message.data).toString('utf8'));
      if (head === undefined) throw unreadable('the message there is not an audit head');
      return head;
    } finally {
      await nc.close();
    }
  } catch (error) {
    throw error instanceof FleetError ? error : unreadable(reasonOf(error), error);
  }
}
