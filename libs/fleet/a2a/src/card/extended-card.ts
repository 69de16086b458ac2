import type { AgentCard } from '@a2a-js/sdk';
import { FleetError, type JsonObject } from '@hermes-fleet/protocol';
import type { Caller } from '@hermes-fleet/protocol/ports';

/** The extension of an extended card whose params say what the caller may do here (docs/a2a.md#the-extended-card). */
export const CALLER_EXTENSION = 'urn:hermes-fleet:caller:1';

/**
 * The extended card of a caller (A2A 1.0, section 3.1.11): the public card, and the caller's name, scopes and view as
 * params of an extension. Throws UNSUPPORTED_OPERATION for a card that declares no extended one.
 */
export function extendedCard(
  card: AgentCard,
  caller: Caller,
  viewOf: (caller: Caller) => JsonObject = () => ({}),
): AgentCard {
  const { capabilities } = card;
  if (!capabilities?.extendedAgentCard) {
    throw new FleetError(
      'UNSUPPORTED_OPERATION',
      'this agent asks for no token, so it has no extended card; its card has everything',
    );
  }
  const { name, scopes } = caller;
  const extension = {
    uri: CALLER_EXTENSION,
    description: 'What the caller that reads this card may do here',
    required: false,
    params: { caller: name, scopes: [...scopes].sort(), ...viewOf(caller) },
  };
  return { ...card, capabilities: { ...capabilities, extensions: [...capabilities.extensions, extension] } };
}
