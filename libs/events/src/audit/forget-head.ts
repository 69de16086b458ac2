import { FleetError } from '@hermes-fleet/protocol';
import { NatsError } from 'nats';
import { type BusConnection, openConnection, reasonOf } from '../connection/connection.ts';
import { directGet } from '../streams/direct-get.ts';
import { AUDIT_STREAM, auditSubject, isSubjectName } from '../streams/subjects.ts';
import { type Head, readHeadEvent } from './head-event.ts';

/** What the bus held as the head of an audit. */
export interface FoundHead {
  /** Undefined for what is no head. */
  readonly head: Head | undefined;
  /** When the server stored it, RFC 3339. */
  readonly storedAt: string;
  readonly bytes: number;
}

/** `replaced`: another head came in between, and is still there. */
export type ForgetOutcome = 'forgotten' | 'none' | 'replaced';

/**
 * Removes the head of a service's audit from the bus, as the set-up user: for an audit whose file was put back on
 * purpose, which the head would call broken for ever. `onFound` is told what is removed before it is. Removes what it
 * found and nothing newer. Throws INVALID_PARAMS for a name that no subject can hold, CONFIG_INVALID without
 * the right to it, PEER_UNREACHABLE when the bus does not answer (docs/trader.md, Audit).
 */
export async function forgetHead(o: {
  readonly connection: BusConnection;
  readonly service: string;
  readonly timeoutMs: number;
  readonly onFound: (found: FoundHead) => void | Promise<void>;
}): Promise<ForgetOutcome> {
  if (!isSubjectName(o.service))
    throw new FleetError('INVALID_PARAMS', `${JSON.stringify(o.service)} is not the name of a service`);
  const subject = auditSubject(o.service);
  try {
    const nc = await openConnection(o.connection, AbortSignal.timeout(o.timeoutMs));
    try {
      const message = await directGet(nc, subject);
      if (message === undefined) return 'none';
      const { data, headers } = message;
      const seq = Number(headers?.last('Nats-Sequence'));
      await o.onFound({
        head: readHeadEvent(Buffer.from(data).toString('utf8')),
        storedAt: headers?.last('Nats-Time-Stamp') ?? '',
        bytes: data.length,
      });
      const jsm = await nc.jetstreamManager({ checkAPI: false, timeout: o.timeoutMs });
      const { purged } = await jsm.streams.purge(AUDIT_STREAM, { filter: subject, seq: seq + 1 });
      return purged > 0 ? 'forgotten' : 'replaced';
    } finally {
      await nc.close();
    }
  } catch (error) {
    if (error instanceof FleetError) throw error;
    const said = `the head on ${subject} cannot be forgotten: ${reasonOf(error)}`;
    if (error instanceof NatsError && error.code === 'PERMISSIONS_VIOLATION')
      throw new FleetError(
        'CONFIG_INVALID',
        `${said}. Do it as the set-up user; if it is, write the keys again and restart NATS, which may know the permissions of an older version`,
        { cause: error },
      );
    throw new FleetError('PEER_UNREACHABLE', said, { cause: error });
  }
}
