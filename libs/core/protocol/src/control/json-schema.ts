import { publishedSchemas } from '../wire/published-schema.ts';
import { GetStrategyParams, ListStrategiesParams, StrategyDetailWire, StrategyListWire } from './reads.ts';
import { ControlDecisionWire } from './request.ts';
import { ControlResponseWire } from './response.ts';

const CONTRACT_VERSION = '0.1';

/** The JSON Schemas of the trader's requests and responses. They do not check which fields belong to which action. */
export const controlSchemas = () =>
  publishedSchemas(`urn:hermes-fleet:control:${CONTRACT_VERSION}`, {
    'control-decision': ControlDecisionWire,
    'control-response': ControlResponseWire,
    'list-strategies': ListStrategiesParams,
    'strategy-list': StrategyListWire,
    'get-strategy': GetStrategyParams,
    'strategy-detail': StrategyDetailWire,
  });
export type ControlMessage = keyof ReturnType<typeof controlSchemas>;
