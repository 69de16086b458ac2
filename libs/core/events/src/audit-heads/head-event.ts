import { CloudEvent, type JsonObject, parseJson } from '@hermes-fleet/protocol';

export const HEAD_TYPE = 'dev.hermes-fleet.audit.head.v1';

/** The newest record of an audit's hash chain (docs/events.md). */
export interface Head {
  /** The id of the file that holds the chain. */
  readonly store: string;
  readonly seq: number;
  /** SHA-256, hex. */
  readonly hash: string;
}

/** Wraps a head in a CloudEvent, with what its owner tells beside it; the id stays the same when it is sent again. */
export function headEvent(
  service: string,
  { store, seq, hash }: Head,
  at: number,
  beside: JsonObject = {},
): CloudEvent {
  return {
    specversion: '1.0',
    id: `${service}:${store}:head:${seq}`,
    source: `/services/${service}`,
    type: HEAD_TYPE,
    subject: service,
    time: new Date(at).toISOString(),
    datacontenttype: 'application/json',
    data: { ...beside, store, seq, hash },
  };
}

/** Reads the head from a NATS message; undefined for any other message. */
export function readHeadEvent(text: string): Head | undefined {
  const event = CloudEvent.safeParse(parseJson(text)).data;
  if (event?.type !== HEAD_TYPE) return undefined;
  const { store, seq, hash } = event.data;
  if (typeof store !== 'string' || typeof hash !== 'string' || !/^[0-9a-f]{64}$/.test(hash)) return undefined;
  return typeof seq === 'number' && Number.isSafeInteger(seq) && seq > 0 ? { store, seq, hash } : undefined;
}
