import { FleetError } from '@hermes-fleet/protocol';
import { NatsError } from 'nats';
import { type BusConnection, openConnection, reasonOf } from '../connection/connection.ts';
import { directGet } from '../streams/direct-get.ts';
import { AUDIT_STREAM, auditSubject, isSubjectName } from '../streams/subjects.ts';
import { type Head, readHeadEvent } from './head-event.ts';

/** The message that the bus held as an audit head. */
export interface FoundHead {
  /** Undefined when the message is not an audit head. */
  readonly head: Head | undefined;
  /** When the server stored it, RFC 3339. */
  readonly storedAt: string;
  readonly bytes: number;
}

/** `replaced`: a newer head arrived in the meantime and is kept. */
export type ForgetOutcome = 'forgotten' | 'none' | 'replaced';

/**
 * Removes a service's audit head from the bus, as the set-up user: after an intentional restore of the audit file, the
 * old head would mark the audit as broken forever (docs/trader.md#audit). Calls `onFound` before it removes the head, and
 * never removes a newer one. Throws INVALID_PARAMS for a name that cannot be part of a subject, CONFIG_INVALID without
 * permission, and PEER_UNREACHABLE when the bus does not answer.
 */
export async function forgetHead(options: {
  readonly connection: BusConnection;
  readonly service: string;
  readonly timeoutMs: number;
  readonly onFound: (found: FoundHead) => void | Promise<void>;
}): Promise<ForgetOutcome> {
  if (!isSubjectName(options.service))
    throw new FleetError('INVALID_PARAMS', `${JSON.stringify(options.service)} is not the name of a service`);
  const subject = auditSubject(options.service);
  try {
    await using nc = await openConnection(options.connection, AbortSignal.timeout(options.timeoutMs));
    const stored = await directGet(nc, subject);
    if (stored === undefined) return 'none';
    const { data, headers } = stored;
    const seq = Number(headers?.last('Nats-Sequence'));
    await options.onFound({
      head: readHeadEvent(Buffer.from(data).toString('utf8')),
      storedAt: headers?.last('Nats-Time-Stamp') ?? '',
      bytes: data.length,
    });
    const jsm = await nc.jetstreamManager({ checkAPI: false, timeout: options.timeoutMs });
    const { purged } = await jsm.streams.purge(AUDIT_STREAM, { filter: subject, seq: seq + 1 });
    return purged > 0 ? 'forgotten' : 'replaced';
  } catch (error) {
    if (error instanceof FleetError) throw error;
    const message = `the head on ${subject} cannot be forgotten: ${reasonOf(error)}`;
    if (error instanceof NatsError && error.code === 'PERMISSIONS_VIOLATION')
      throw new FleetError(
        'CONFIG_INVALID',
        `${message}. Do it as the set-up user; if it is, write the keys again and restart NATS, which may know the permissions of an older version`,
        { cause: error },
      );
    throw new FleetError('PEER_UNREACHABLE', message, { cause: error });
  }
}

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
    await using nc = await openConnection(options.connection, AbortSignal.timeout(options.timeoutMs));
    const message = await directGet(nc, subject);
    if (message === undefined) return undefined;
    const head = readHeadEvent(Buffer.from(message.data).toString('utf8'));
    if (head === undefined) throw unreadable('the message there is not an audit head');
    return head;
  } catch (error) {
    throw error instanceof FleetError ? error : unreadable(reasonOf(error), error);
  }
}
