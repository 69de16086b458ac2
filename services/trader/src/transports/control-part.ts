import { FleetError, invalidParams, isJsonObject, type JsonValue, jsonMembers } from '@hermes-fleet/protocol';
import type { InboundMessage } from '@hermes-fleet/protocol/ports';

export const CONTROL_DECISION = 'CONTROL_DECISION';

type Part = InboundMessage['data'][number];

export const isControlDecision = (data: JsonValue): boolean =>
  isJsonObject(data) && data.type === CONTROL_DECISION;

/** The parts of a message whose type is CONTROL_DECISION. */
export const controlParts = ({ data }: InboundMessage): readonly Part[] =>
  data.filter((part) => isControlDecision(part.data));

/** The text of a decision's payload, empty if it has none. Throws INVALID_PARAMS for two payloads. */
export function payloadText(part: Part): string {
  const payloads = payloadsOf(part);
  if (payloads.length > 1) throw wrongPart('must have one payload; send a message for each');
  return payloads[0] ?? '';
}

/** The audited text of a part: its payload or, unless it has exactly one, the whole part. */
export function auditedText(part: Part): string {
  const [payload, ...more] = payloadsOf(part);
  return payload === undefined || more.length > 0 ? textOf(part) : payload;
}

function payloadsOf(part: Part): string[] {
  const members = jsonMembers(textOf(part)) ?? [];
  return members.filter(({ name }) => name === 'payload').map(({ text }) => text);
}

function textOf({ text }: Part): string {
  if (text !== undefined) return text;
  throw new FleetError('INTERNAL', 'a CONTROL_DECISION arrived without its source text');
}

export function wrongPart(reason: string): FleetError {
  return invalidParams('message.parts', `hold a ${CONTROL_DECISION}, which ${reason}`);
}
