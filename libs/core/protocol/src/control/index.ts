export { type ControlMessage, controlSchemas } from './json-schema.ts';
export {
  encodeStrategyDetail,
  encodeStrategyList,
  GetStrategyParams,
  ListStrategiesParams,
  type StrategyDetail,
  StrategyDetailWire,
  StrategyListWire,
  StrategyStatus,
} from './reads.ts';
export {
  ControlAction,
  type ControlDecision,
  ControlDecisionWire,
  type ControlReading,
  controlFingerprint,
  RiskMode,
  readControlDecision,
  type SometimesUsed,
} from './request.ts';
export {
  ControlCode,
  type ControlResponse,
  ControlResponseWire,
  ControlStatus,
  type ControlValidation,
  ControlWarning,
  encodeControlResponse,
} from './response.ts';
