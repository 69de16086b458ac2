import type { JsonObject } from '../wire/json.ts';
import { publishedSchema } from '../wire/published-schema.ts';
import { GetStrategyParams, ListStrategiesParams, StrategyDetailWire, StrategyListWire } from './reads.ts';
import { ControlDecisionWire } from './request.ts';
import { ControlResponseWire } from './response.ts';

const CONTRACT_VERSION = '0.1';

const MESSAGES = {
  'control-decision': ControlDecisionWire,
  'control-response': ControlResponseWire,
  'list-strategies': ListStrategiesParams,
  'strategy-list': StrategyListWire,
  'get-strategy': GetStrategyParams,
  'strategy-detail': StrategyDetailWire,
} as const;

export type ControlMessage = keyof typeof MESSAGES;

/**
 * The JSON Schemas (2020-12) of the trader's requests and responses, generated from the schemas that validate them.
 * They do not check which fields belong to which action.
 */
export function controlSchemas(): Record<ControlMessage, JsonObject> {
  return {
    'control-decision': schemaOf('control-decision'),
    'control-response': schemaOf('control-response'),
    'list-strategies': schemaOf('list-strategies'),
    'strategy-list': schemaOf('strategy-list'),
    'get-strategy': schemaOf('get-strategy'),
    'strategy-detail': schemaOf('strategy-detail'),
  };
}

const schemaOf = (name: ControlMessage): JsonObject =>
  publishedSchema(MESSAGES[name], `urn:hermes-fleet:control:${CONTRACT_VERSION}:${name}`);
