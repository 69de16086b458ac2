export { networkScene } from './allowed-network.ts';
export {
  type AnthropicReply,
  type AnthropicServer,
  anthropicServer,
  type MessagesRequest,
  resultsOf,
  textOf,
  textsOf,
} from './anthropic-server.ts';
export {
  type Call,
  type ConformanceCase,
  type ExecutorUnderTest,
  type Fixture,
  type FixtureOptions,
  hasEnded,
  lastCheckpoint,
  type ModelRequest,
  needsScript,
  processesWith,
  runTask,
  type Script,
  startRun,
  type Turn,
  testExecutor,
} from './conformance.ts';
export { ENDING_CASES } from './conformance-endings.ts';
export { GUARD_CASES } from './conformance-guards.ts';
export { INPUT_CASES } from './conformance-input.ts';
export { PRODUCT_CASES } from './conformance-products.ts';
export { RESUME_CASES } from './conformance-resume.ts';
export { TRUST_CASES } from './conformance-trust.ts';
export { block, makeAgent, makeContext, makeTask, memoryTokens } from './harness.ts';
export { LONG_TASK_STEPS, longTaskStep } from './long-task.ts';
export { type RestartableServer, restartableServer } from './restartable-server.ts';
export { type ChatRequest, type Reply, say, scriptedServer, use } from './scripted-server.ts';
export { newestStep, summaryIn, windowModel } from './window-model.ts';
